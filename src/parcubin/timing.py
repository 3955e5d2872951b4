"""CPU time by stage."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Adds the CPU seconds of this process, and of the children that it waited for, to a stage."""
    start = _cpu_seconds()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + _cpu_seconds() - start


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)
