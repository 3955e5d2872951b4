"""Runs a target on one input and tells what is wrong: an exception that is no `ParcubinError`, or too much time."""

from __future__ import annotations

import hashlib
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from parcubin.errors import ParcubinError
from tests.fuzz.targets import FuzzTarget

SECONDS, SECONDS_PER_MEGABYTE = 4.0, 12.0
"""CPU time that an input may take, instrumented for coverage on a busy machine. What takes time in proportion to its
length is far below, also where a megabyte is nothing but semicolons; the square of a megabyte is far above."""


class TooSlow(BaseException):
    """The input took too much CPU time."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with a target.

    Attributes:
        kind: the exception and the place in the program where it came from: the same for the same fault.
        description: the traceback.
    """

    kind: str
    description: str


def fault(target: FuzzTarget, data: bytes, *, seconds: float = SECONDS) -> Fault | None:
    """Runs a target.

    Args:
        target: the reader.
        data: the input.
        seconds: CPU time that it may take, and more when the input is large.
    """
    try:
        with _limited(seconds + SECONDS_PER_MEGABYTE * len(data) / 1e6):
            target.check(data)
    except ParcubinError:
        return None
    except (Exception, TooSlow) as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "parcubin/" in f.filename]
        where = f"{Path(frames[-1].filename).stem}-{frames[-1].name}" if frames else target.name
        line = "" if isinstance(error, TooSlow) or not frames else f"-{frames[-1].lineno}"
        return Fault(f"{type(error).__name__}-{where}{line}", traceback.format_exc())
    return None


def save(folder: Path, target: FuzzTarget, data: bytes, found: Fault) -> Path:
    """Writes an input and what it does to a folder; of inputs that do the same, the shortest stays."""
    path = folder / target.name / found.kind.replace("<", "").replace(">", "")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.stat().st_size > len(data):
        path.write_bytes(data)
        path.with_name(f"{path.name}.txt").write_text(f"{hashlib.sha256(data).hexdigest()}\n{found.description}")
    return path


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"more than {seconds:g} s of CPU time")

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
