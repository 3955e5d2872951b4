"""Cores and memory of control groups, from files as the kernel writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parcubin.workers.machine import available_cores, available_memory

GB = 1 << 30


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))


def system(root: Path, *, groups: str, mounts: str, files: dict[str, str]) -> Path:
    """A root folder with `/proc` and control groups."""
    written = {
        "proc/self/cgroup": groups,
        "proc/self/mountinfo": mounts,
        "proc/meminfo": f"MemTotal: 999999999 kB\nMemAvailable: {32 * GB // 1024} kB\n",
        **files,
    }
    for name, text in written.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MOUNT_2 = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
MOUNTS_1 = (
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


def test_without_control_groups(tmp_path: Path) -> None:
    root = system(tmp_path, groups="", mounts="", files={})
    assert available_cores(root) == 8
    assert available_memory(root) == 32 * GB


def test_version_2_innermost_and_outer_group(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
        "sys/fs/cgroup/a/cpu.max": "250000 100000\n",
        "sys/fs/cgroup/a/b/memory.max": f"{4 * GB}\n",
        "sys/fs/cgroup/a/b/memory.current": f"{3 * GB}\n",
        "sys/fs/cgroup/a/b/memory.stat": f"anon 5\ninactive_file {GB}\n",
        "sys/fs/cgroup/a/memory.max": "max\n",
        "sys/fs/cgroup/a/memory.current": f"{9 * GB}\n",
    }
    root = system(tmp_path, groups="0::/a/b\n", mounts=MOUNT_2, files=files)
    assert available_cores(root) == 3  # part of a core counts
    assert available_memory(root) == 2 * GB


def test_version_1(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "100000\n",
        "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/job/memory.limit_in_bytes": f"{2 * GB}\n",
        "sys/fs/cgroup/memory/job/memory.usage_in_bytes": f"{GB}\n",
        "sys/fs/cgroup/memory/job/memory.stat": "cache 9\ntotal_inactive_file 4096\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{64 * GB}\n",
    }
    groups = "5:memory:/job\n4:cpu,cpuacct:/job\n0::/\n"
    root = system(tmp_path, groups=groups, mounts=MOUNTS_1, files=files)
    assert available_cores(root) == 1
    assert available_memory(root) == GB + 4096


def test_in_a_container_the_group_itself_is_mounted(tmp_path: Path) -> None:
    mounts = MOUNT_2.replace(" / /sys", " /docker/1234 /sys")
    files = {"sys/fs/cgroup/cpu.max": "50000 100000\n"}
    assert available_cores(system(tmp_path, groups="0::/docker/1234\n", mounts=mounts, files=files)) == 1


def test_this_machine() -> None:
    assert available_cores() >= 1
    meminfo = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    assert 0 < available_memory() <= int(meminfo["MemTotal"].split()[0]) * 1024
