"""A client of GNU make's jobserver: a job needs a token, of which make has as many as it was told with `-j`.

The protocol is that of the GNU make manual ("Integrating with the Job Server"): a pipe or a named pipe holds a byte for
each token; whoever reads one may run a job and writes it back when the job is over. One token more comes with the
process itself and is never written.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Mapping
from functools import lru_cache

from parcubin.errors import ParcubinError

_ADDRESS = re.compile(r"(?:^|\s)--jobserver-(?:auth|fds)=((?:\\.|\S)+)")


class JobserverUnavailableError(ParcubinError):
    """MAKEFLAGS names a jobserver that this process cannot reach."""


class Jobserver:
    """The tokens of this process. Safe to use from several threads."""

    def __init__(self, reading: int, writing: int) -> None:
        """Takes over two descriptors.

        Args:
            reading: where tokens come from; it does not block.
            writing: where they go back to.
        """
        self._reading = reading
        self._writing = writing
        self._lock = threading.RLock()
        self._own_token_is_free = True
        self._tokens: list[bytes] = []

    def fileno(self) -> int:
        """The descriptor that becomes readable when there may be a token."""
        return self._reading

    def acquire(self) -> bool:
        """Takes a token if there is one now."""
        with self._lock:
            if self._own_token_is_free:
                self._own_token_is_free = False
                return True
            try:
                token = os.read(self._reading, 1)
            except BlockingIOError:
                return False
            if token:
                self._tokens.append(token)
            return bool(token)

    def release(self) -> None:
        """Gives a token back."""
        with self._lock:
            if self._tokens:
                os.write(self._writing, self._tokens.pop())
            else:
                self._own_token_is_free = True


def jobserver() -> Jobserver | None:
    """The jobserver of the make that this process runs under; one object for the whole process.

    Raises:
        JobserverUnavailableError: there is one, and it cannot be reached.
    """
    return _connected(os.getpid(), os.environ.get("MAKEFLAGS", ""))


@lru_cache(maxsize=1)
def _connected(_: int, flags: str) -> Jobserver | None:
    return connect({"MAKEFLAGS": flags})


def connect(environment: Mapping[str, str]) -> Jobserver | None:
    """Opens the jobserver that MAKEFLAGS names, in any of its forms: `fifo:PATH`, `R,W`, and the old `--jobserver-fds`.

    Raises:
        JobserverUnavailableError: there is one, and it cannot be reached.
    """
    flags = environment.get("MAKEFLAGS", "").partition(" -- ")[0]  # variables follow
    addresses = _ADDRESS.findall(flags)
    if not addresses:
        return None
    address = re.sub(r"\\(.)", r"\1", addresses[-1])
    try:
        if address.startswith("fifo:"):
            ends = (address.removeprefix("fifo:"),) * 2
        else:
            numbers = [int(number) for number in address.split(",")]
            if len(numbers) != 2 or not all(n >= 0 and stat.S_ISFIFO(os.fstat(n).st_mode) for n in numbers):
                raise ValueError
            # Opened again, because not to block is a property that make would share.
            ends = (f"/proc/self/fd/{numbers[0]}", f"/proc/self/fd/{numbers[1]}")
        reading = os.open(ends[0], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return Jobserver(reading, os.open(ends[1], os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError:
            os.close(reading)
            raise
    except (OSError, ValueError):
        raise JobserverUnavailableError(
            f"The jobserver that MAKEFLAGS names ({address}) cannot be reached, so one job runs at a time. Put a '+' "
            "in front of the recipe's command, or set the number of jobs."
        ) from None
