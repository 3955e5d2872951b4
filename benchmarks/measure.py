"""A command's time, CPU time and memory, with everything that it starts, seen from outside."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from resource import struct_rusage
from typing import IO

TIMEOUT_S = 900
_PR_SET_CHILD_SUBREAPER = 36
_INTERVAL_S = 0.02
_TREE_EVERY = 5
"""The tree of processes is looked at every 0.1 s, which costs some 2 ms."""


@dataclass(frozen=True)
class Measurement:
    """What one run took.

    Attributes:
        status: the exit status; negative for a signal.
        wall_s: seconds from the start to the end of the main process.
        cpu_s: user and system time of all processes.
        main_peak: most resident memory of the main process, in bytes.
        tree_peak: most memory of all processes at one moment, sampled, in bytes. Pages of files, which processes share,
            are left out where the system tells them apart.
        output: what it printed on standard output.
        log: on standard error.
    """

    status: int
    wall_s: float
    cpu_s: float
    main_peak: int
    tree_peak: int
    output: str
    log: str


def become_subreaper() -> None:
    """Makes this process the parent of what its children leave running, so that its CPU time counts."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def measure(command: Sequence[str], directory: Path, *, cores: Set[int] | None = None) -> Measurement:
    """Runs a command to its end. This process must have no other children. After `TIMEOUT_S` all are killed.

    Args:
        command: the command.
        directory: where it runs.
        cores: the cores that it may use; all that this process may use by default.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as log:
        own_cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores or own_cores)  # inherited
        try:
            start = time.perf_counter()
            process = subprocess.Popen(command, stdout=output, stderr=log, cwd=directory)
        finally:
            os.sched_setaffinity(0, own_cores)
        watch = _Watch(process.pid)
        watch.start()
        timer = threading.Timer(TIMEOUT_S, _kill_descendants)
        timer.start()
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            wall = time.perf_counter() - start
        except BaseException:
            _kill_descendants()
            raise
        finally:
            timer.cancel()
            watch.stop()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        usages = [usage, *_reap_orphans()]
        return Measurement(
            status=process.returncode,
            wall_s=wall,
            cpu_s=sum(usage.ru_utime + usage.ru_stime for usage in usages),
            main_peak=watch.main_peak,
            tree_peak=watch.tree_peak,
            output=_text(output),
            log=_text(log),
        )


class _Watch(threading.Thread):
    """Samples memory while a process runs."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.main_peak = self.tree_peak = 0
        self._pid = pid
        self._stopped = threading.Event()

    def run(self) -> None:
        count = 0
        while not self._stopped.wait(_INTERVAL_S):
            memory = _memory(self._pid)
            self.main_peak = max(self.main_peak, memory.get("VmHWM", memory.get("VmRSS", 0)))
            if count % _TREE_EVERY == 0:
                self.tree_peak = max(self.tree_peak, sum(map(_own_memory, descendants(os.getpid()))))
            count += 1

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def descendants(root: int) -> list[int]:
    """All processes below one."""
    children = defaultdict(list)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stat = (process / "stat").read_text()
        except OSError:
            continue
        children[int(stat.rpartition(") ")[2].split()[1])].append(int(process.name))
    found, left = [], [root]
    while left:
        below = children.pop(left.pop(), [])
        found += below
        left += below
    return found


def _own_memory(pid: int) -> int:
    memory = _memory(pid)
    if "RssAnon" in memory:
        return memory["RssAnon"] + memory.get("RssShmem", 0)
    return memory.get("VmRSS", 0)


def _memory(pid: int) -> dict[str, int]:
    """A process's memory in bytes, by the names that Linux has for it; empty once it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return {}
    return {name: int(size) * 1024 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}


def _kill_descendants() -> None:
    for pid in descendants(os.getpid()):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _reap_orphans() -> Iterator[struct_rusage]:
    """Waits for what the command left running."""
    while True:
        try:
            yield os.wait4(-1, 0)[2]
        except ChildProcessError:
            return


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
