"""What this process may use of the machine: cores and memory, control groups (versions 1 and 2) included."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")
_UNLIMITED = 1 << 62
"""Version 1 writes "no limit" as the largest multiple of a page."""


def available_cores(root: Path = _ROOT) -> int:
    """Cores that this process may use: those of its affinity, or fewer when a control group limits its CPU time. Part
    of a core counts as one.

    Args:
        root: the folder that holds `proc`.
    """
    cores = float(len(os.sched_getaffinity(0)))
    for group in _groups("cpu", root):
        version_2 = _words(group / "cpu.max")
        quota = version_2[:1] or _words(group / "cpu.cfs_quota_us")
        period = version_2[1:] or _words(group / "cpu.cfs_period_us")
        if quota and period and quota[0].isdecimal() and int(period[0]):
            cores = min(cores, int(quota[0]) / int(period[0]))
    return max(1, math.ceil(cores))


def available_memory(root: Path = _ROOT) -> int:
    """Bytes that can be taken before the system, or a control group of this process, runs out of memory.

    Args:
        root: the folder that holds `proc`.
    """
    available = _field(root / "proc/meminfo", "MemAvailable:") * 1024
    for group in _groups("memory", root):
        version_1 = (group / "memory.limit_in_bytes").exists()
        limit = _words(group / ("memory.limit_in_bytes" if version_1 else "memory.max"))
        usage = _words(group / ("memory.usage_in_bytes" if version_1 else "memory.current"))
        if not (limit and usage and limit[0].isdecimal() and int(limit[0]) < _UNLIMITED):
            continue
        # Pages of files give way to those of programs.
        reclaimable = _field(group / "memory.stat", "total_inactive_file" if version_1 else "inactive_file")
        available = min(available, int(limit[0]) - int(usage[0]) + reclaimable)
    return max(0, available)


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """The folders of this process's control groups that have a say on something, innermost first."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        mount = _mount(controller if controllers else None, root)
        if mount is None:
            continue
        folder, mounted = mount
        inside = os.path.relpath(path, mounted)
        group = folder if inside.startswith("..") else folder / inside
        while True:
            yield group
            if group == folder:
                break
            group = group.parent


def _mount(controller: str | None, root: Path) -> tuple[Path, str] | None:
    """Where a controller's hierarchy (None: version 2) is mounted, and which group is mounted there."""
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2" if controller is None else kind == "cgroup" and controller in options.split(","):
            mounted, folder = before.split(" ")[3:5]
            return root / folder.lstrip("/"), mounted
    return None


def _field(file: Path, name: str) -> int:
    """The number after a name; 0 when it is not there."""
    return next((int(words[1]) for line in _lines(file) if (words := line.split())[:1] == [name]), 0)


def _words(file: Path) -> list[str]:
    return " ".join(_lines(file)).split()


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
