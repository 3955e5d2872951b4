"""Jobs for tests of the pool. Workers import this file."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ask:
    """Returns: the worker's process id."""

    def run(self) -> int:
        return os.getpid()


@dataclass(frozen=True)
class Niceness:
    """Returns: the worker's niceness."""

    def run(self) -> int:
        return os.nice(0)


@dataclass(frozen=True)
class HangWithChild:
    """Starts a child, writes its process id to a file, and never ends."""

    file: Path

    def run(self) -> None:
        child = subprocess.Popen(["sleep", "1000"])
        self.file.write_text(f"{os.getpid()} {child.pid}")
        child.wait()


@dataclass(frozen=True)
class DieFirst:
    """Ends its worker by a signal so many times, counted in a file. Returns: how often it was run."""

    file: Path
    times: int
    signal: signal.Signals = signal.SIGKILL
    name: str = "the job"

    def run(self) -> int:
        with self.file.open("ab") as file:
            file.write(b".")
        runs = self.file.stat().st_size
        if runs <= self.times:
            os.kill(os.getpid(), self.signal)
            time.sleep(1000)
        return runs


@dataclass(frozen=True)
class Overlap:
    """Runs for a moment and marks in a folder that it does. Returns: how many ran at the most, itself included."""

    folder: Path
    seconds: float = 0.2

    def run(self) -> int:
        mark = self.folder / str(os.getpid())
        mark.touch()
        most = 0
        ends = time.monotonic() + self.seconds
        while time.monotonic() < ends:
            most = max(most, len(list(self.folder.iterdir())))
            time.sleep(0.005)
        mark.unlink()
        return most


@dataclass(frozen=True)
class Take:
    """Takes memory, in a child that ends before it does. Returns: nothing."""

    megabytes: int

    def run(self) -> None:
        code = f"import time; data = b'x' * {self.megabytes << 20}; time.sleep(0.2)"
        subprocess.run(["python3", "-c", code], check=True)


@dataclass(frozen=True)
class RunOut:
    """Runs out of memory as Python does."""

    def run(self) -> None:
        bytearray(1 << 60)
