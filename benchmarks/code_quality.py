"""What code a contender made, read from its CUBINs by cuobjdump."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_RESOURCES = re.compile(r"^ Function (\S+):\n\s+REG:(\d+) STACK:(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Usage:
    """Registers of a thread and its stack frame in bytes, which is where spills are; 0 where recursion hides it."""

    registers: int
    stack: int


def usage_of(folder: Path, kernels: Set[str], cuobjdump: str, jobs: int) -> dict[str, Usage]:
    """The usage of the kernels, of those named, that CUBINs in a folder hold."""

    def read(cubin: Path) -> Iterable[tuple[str, str, str]]:
        command = [cuobjdump, "-res-usage", str(cubin)]
        return _RESOURCES.findall(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    with ThreadPoolExecutor(jobs) as pool:
        found = [entry for entries in pool.map(read, sorted(folder.rglob("*.cubin"))) for entry in entries]
    return {
        name: Usage(int(registers), int(stack) if stack.isdecimal() else 0)
        for name, registers, stack in found
        if name in kernels
    }


@dataclass(frozen=True)
class Quality:
    """A contender's code against the baseline's.

    Attributes:
        registers: the sum over all kernels.
        most_more_registers: by how many the worst kernel exceeds the baseline's.
        stack: bytes of stack frames, the sum over all kernels.
        more_stack: kernels with a larger frame than the baseline's.
        missing: kernels that no CUBIN holds.
    """

    registers: int
    most_more_registers: int
    stack: int
    more_stack: int
    missing: int


def compare(usage: Mapping[str, Usage], baseline: Mapping[str, Usage], kernels: Set[str]) -> Quality:
    common = usage.keys() & baseline.keys()
    return Quality(
        registers=sum(u.registers for u in usage.values()),
        most_more_registers=max((usage[k].registers - baseline[k].registers for k in common), default=0),
        stack=sum(u.stack for u in usage.values()),
        more_stack=sum(usage[k].stack > baseline[k].stack for k in common),
        missing=len(kernels - usage.keys()),
    )
