"""Memory of worker processes and of the compilers that they start: measured and predicted."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

WORKER_BYTES = 60_000_000
"""What an idle worker takes at most: 18 MB at first, 20 to 60 MB after some shards (measured on the corpus)."""

WORN_BYTES = 200_000_000
"""What an idle worker takes when another one replaces it: llvmlite 0.50 keeps 48 kB for each shard that it optimised
(its pass managers, closed or not), which is 500 MB after 10,000."""

_BYTES_PER_MICROSECOND = 150
"""Shards and kernels of the corpus (`benchmarks/data`) took 89 MB and 35 bytes a microsecond of predicted time, most of
the former the worker's own; one kernel that sorts (`k353`) took 362 MB for 2.9 s, and one that unrolls 80 loops 196 MB
for 0.4 s. What was predicted wrong is corrected by what running jobs are seen to take."""

_INTERVAL = 0.1
_PAGE = os.sysconf("SC_PAGE_SIZE")


def predicted_memory(cost: float) -> float:
    """Bytes that a worker and its compiler take at most for a shard.

    Args:
        cost: the CPU microseconds that it is predicted to take.
    """
    return WORKER_BYTES + _BYTES_PER_MICROSECOND * cost


def memory_in_use(pid: int) -> int:
    """Bytes that a process and its descendants take for themselves. Pages of files, such as the code of LLVM, do not
    count: processes share them, and the system can drop them. 0 when there is no such process."""
    return _memory_in_use(pid, None)


def _memory_in_use(pid: int, parent_size: int | None) -> int:
    with contextlib.suppress(OSError, ValueError):
        size, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_bytes().split())
        if size == parent_size:  # it is about to become another program and still has its parent's memory (vfork)
            return 0
        return (resident - shared) * _PAGE + sum(_memory_in_use(child, size) for child in _children(pid))
    return 0


def give_back_memory() -> None:
    """Lets the system have memory that the C library keeps for later: about 15 MB after a shard, in 2 ms."""
    with contextlib.suppress(AttributeError):  # other C libraries than GNU's
        ctypes.CDLL(None).malloc_trim(0)


def _children(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += [int(child) for child in (thread / "children").read_bytes().split()]
    return found


class PeakMemory:
    """Measures the most memory that this process and its descendants take in a `with` block, by looking every 100 ms.

    Attributes:
        bytes: the result, so far.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._over = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._look()

    def _watch(self) -> None:
        while not self._over.wait(_INTERVAL):
            self._look()

    def _look(self) -> None:
        self.bytes = max(self.bytes, memory_in_use(os.getpid()))
