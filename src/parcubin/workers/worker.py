"""One worker process as its parent sees it."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

from parcubin.errors import CompilationTimeoutError, ParcubinError, ProcessCrashedError, WorkerError
from parcubin.workers.memory import WORN_BYTES, memory_in_use
from parcubin.workers.process import LENGTH_BYTES, Job, packed

_LOG_TAIL = 8192


@dataclass(frozen=True)
class TimeLimit:
    """When a job has to be over; None is no limit.

    Attributes:
        seconds: what it may take.
        deadline: of the whole compile, as `time.monotonic()` tells it.
        total: what the whole compile may take, for the message.
    """

    seconds: float | None = None
    deadline: float | None = None
    total: float | None = None

    def ends(self) -> float | None:
        """The end of a job that starts now."""
        own = None if self.seconds is None else time.monotonic() + self.seconds
        return min((end for end in (own, self.deadline) if end is not None), default=None)

    def error(self) -> CompilationTimeoutError:
        """The error for a job that has to end now."""
        if self.seconds is None or (self.deadline is not None and time.monotonic() >= self.deadline):
            assert self.total is not None
            message = f"The compile did not end within {self.total:g} s, its time limit."
            return CompilationTimeoutError(message, seconds=self.total, total=True)
        message = f"A job did not end within {self.seconds:g} s, its time limit."
        return CompilationTimeoutError(message, seconds=self.seconds, total=False)


@dataclass(frozen=True)
class Outcome:
    """What a job gave back.

    Attributes:
        value: its result.
        error: what it raised; None when it succeeded.
        memory: bytes that the worker and its compilers took at most.
    """

    value: Any
    error: ParcubinError | None
    memory: int


class Worker:
    """A worker process. It leads a process group, is started when it is needed, and again after it died.

    One thread uses it; another one may `kill` it.
    """

    def __init__(self, temporary: str, nice: int, *, llvmlite: bool) -> None:
        """Makes a worker that is not started yet.

        Args:
            temporary: a folder for its temporary files.
            nice: what is added to its niceness.
            llvmlite: whether it loads llvmlite before the first job.
        """
        self._arguments = [temporary, str(nice), *(["llvmlite"] if llvmlite else [])]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._killed = False
        self._stderr = -1

    @property
    def pid(self) -> int | None:
        """Of the process; None when there is none."""
        process = self._process
        return None if process is None else process.pid

    def start(self) -> None:
        """Starts the process if there is none, and does not wait until it is ready.

        Raises:
            WorkerError: it cannot be started.
        """
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        command = [sys.executable, "-P", "-m", "parcubin.workers.process", *self._arguments]
        with self._lock:
            if self._process is not None:
                return
            if self._killed:
                raise WorkerError("The worker was ended.")
            try:
                self._stderr = os.memfd_create("parcubin-worker")
                self._process = subprocess.Popen(
                    command,
                    bufsize=0,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    env=environment,
                    start_new_session=True,
                )
            except OSError as error:
                raise WorkerError(f"A worker process cannot be started: {error.strerror or error}.") from None
            self._ready = False
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._input, self._output = self._process.stdin, self._process.stdout
            for stream in (self._input, self._output):
                os.set_blocking(stream.fileno(), False)

    def died(self) -> ProcessCrashedError | None:
        """How the process ended while it had nothing to do; None when it lives or was not started."""
        if self._process is None:
            return None
        with contextlib.suppress(ChildProcessError):
            if os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return None
        return self._buried()

    def run(self, job: Job[Any], limit: TimeLimit) -> Outcome:
        """Runs a job. What it takes to start the process does not count as its time.

        Raises:
            ProcessCrashedError: the worker died.
            CompilationTimeoutError: the job took too long; the worker and its children were killed.
            WorkerError: the worker cannot be started.
        """
        if self._ready and self._process is not None and memory_in_use(self._process.pid) > WORN_BYTES:
            self._buried()
        self.start()
        try:
            if not self._ready:
                self._receive(limit.deadline)
                self._ready = True
            ends = limit.ends()
            self._send(packed(job), ends)
            succeeded, value, memory = self._receive(ends)
        except TimeoutError:
            error = limit.error()
            self._buried()
            raise error from None
        except (EOFError, OSError):
            raise self._buried() from None
        return Outcome(value if succeeded else None, None if succeeded else value, memory)

    def kill(self) -> None:
        """Kills the process and its children, for good."""
        with self._lock:
            self._killed = True
            self._kill_group()

    def interrupt(self) -> None:
        """Kills the process and its children; another one is started for the next job."""
        with self._lock:
            self._kill_group()

    def stop(self) -> None:
        """Kills the process and its children and frees what belongs to it."""
        self.kill()
        if self._process is not None:
            self._buried()

    def disown(self) -> None:
        """In a process forked from this one: lets go of the pipes, by whose end the worker knows that its parent is
        gone."""
        if self._process is not None:
            self._input.close()
            self._output.close()

    def _kill_group(self) -> None:
        # Before the process is waited for: afterwards its number may be another one's.
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _buried(self) -> ProcessCrashedError:
        """Kills what is left of the group and tells how the worker ended."""
        with self._lock:
            assert self._process is not None
            self._kill_group()
            status = self._process.wait()
            size = os.fstat(self._stderr).st_size
            log = os.pread(self._stderr, _LOG_TAIL, max(0, size - _LOG_TAIL)).decode(errors="replace").strip()
            self._input.close()
            self._output.close()
            os.close(self._stderr)
            self._process = None
        how = f"was ended by {_signal_name(-status)}" if status < 0 else f"exited with status {status}"
        return ProcessCrashedError(f"A worker process {how}.", signal=-status if status < 0 else None, log=log)

    def _send(self, data: bytes, ends: float | None) -> None:
        descriptor = self._input.fileno()
        rest = memoryview(data)
        while rest:
            _wait(descriptor, select.POLLOUT, ends)
            with contextlib.suppress(BlockingIOError):
                rest = rest[os.write(descriptor, rest) :]

    def _receive(self, ends: float | None) -> Any:
        return pickle.loads(self._read(int.from_bytes(self._read(LENGTH_BYTES, ends), "little"), ends))  # noqa: S301 - our own process wrote it

    def _read(self, size: int, ends: float | None) -> bytearray:
        descriptor = self._output.fileno()
        data = bytearray()
        while len(data) < size:
            _wait(descriptor, select.POLLIN, ends)
            with contextlib.suppress(BlockingIOError):
                part = os.read(descriptor, size - len(data))
                if not part:
                    raise EOFError
                data += part
        return data


def _wait(descriptor: int, event: int, ends: float | None) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    milliseconds = None if ends is None else max(0, (ends - time.monotonic()) * 1000)
    if not poll.poll(milliseconds):
        raise TimeoutError


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
