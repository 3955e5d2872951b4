"""Who takes part, and with which command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.cases import Inputs
from benchmarks.tools import OLDEST_LLVM, Tools
from parcubin.errors import ToolchainError
from parcubin.providers.selection import select

BASELINE = "serial"
AT_ONCE = "at-once"
"""Serial copies on all cores at once: the throughput that the limit is computed from."""


@dataclass(frozen=True)
class Contender:
    """A way to compile.

    Attributes:
        key: its name on the command line.
        name: its name in tables.
        command: the command in front of the inputs.
        options: what follows them.
        output: what it writes, below a folder of its own.
        takes: the cases that it takes part in: any, those with LLVM IR, those of LLVM IR alone.
        per_kernel: its inputs are modules of one kernel each.
        has_limit: its wall time is compared with the limit.
        absent: why it cannot run on this machine, and how it could.
    """

    key: str
    name: str
    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    output: str = "cubins"
    takes: Literal["any", "has LLVM IR", "is LLVM IR"] = "any"
    per_kernel: bool = False
    has_limit: bool = False
    absent: str = ""

    def takes_part(self, inputs: Inputs) -> bool:
        return self.takes == "any" or (inputs.has_llvm_ir if self.takes == "has LLVM IR" else inputs.is_llvm_ir)

    def arguments(self, inputs: Inputs, files: Sequence[Path], folder: Path) -> list[str]:
        """The command line that compiles some files of a case into a folder."""
        case = inputs.case
        line_info = ["--lineinfo"] if case.line_info else []
        output = ["--arch", case.arch, "--output", str(folder / self.output)]
        return [*self.command, *map(str, files), *output, *line_info, *self.options]


def lineup(tools: Tools, jobs: int) -> tuple[Contender, ...]:
    """All contenders, the baseline first."""
    ptxas = ("--ptxas", tools.ptxas)
    at_a_time = ("--jobs", str(jobs))
    serial = (sys.executable, "-m", "benchmarks.contenders.serial")
    at_once = (sys.executable, "-m", "benchmarks.at_once", str(jobs))
    deferred, no_deferred = _deferred_provider()
    llvm = str(tools.llvm)
    no_llvm = f"needs opt and llc of LLVM {OLDEST_LLVM} or newer on PATH or in /usr/lib/llvm-{OLDEST_LLVM}/bin"
    return (
        Contender(BASELINE, "serial", serial, ptxas),
        Contender("ptxas-split", "ptxas split-compile", serial, (*ptxas, "--split-compile=0")),
        Contender(
            "nvjitlink",
            "nvJitLink",
            (sys.executable, "-m", "benchmarks.contenders.nvjitlink"),
            ("--nvjitlink", str(tools.nvjitlink)),
            absent="" if tools.nvjitlink else "needs libnvJitLink: pip install nvidia-nvjitlink",
        ),
        Contender(
            "llvm-split",
            "LLVM split",
            (sys.executable, "-m", "benchmarks.contenders.llvm_split"),
            (*ptxas, *at_a_time, "--nvlink", str(tools.nvlink), "--llvm", llvm),
            takes="is LLVM IR",
            absent=_no_llvm_split(tools, no_llvm),
        ),
        Contender(
            "per-kernel",
            "per kernel",
            (sys.executable, "-m", "benchmarks.contenders.per_kernel"),
            (*ptxas, *at_a_time),
            per_kernel=True,
        ),
        _parcubin("bundle", "parcubin, bundle", "bundle", jobs, has_limit=True),
        _parcubin("linked", "parcubin, linked", "cubin", jobs, has_limit=True),
        _parcubin("deferred", "parcubin, deferred", "cubin", jobs, provider=deferred, absent=no_deferred),
        _parcubin(
            "llvm",
            "parcubin, LLVM of the machine",
            "bundle",
            jobs,
            llvm=llvm,
            takes="has LLVM IR",
            absent="" if tools.llvm else no_llvm,
        ),
        Contender(AT_ONCE, f"{jobs} serial copies at once", (*at_once, *serial), ptxas, "{copy}"),
    )


def _parcubin(
    key: str,
    name: str,
    emit: Literal["bundle", "cubin"],
    jobs: int,
    *,
    provider: str = "auto",
    llvm: str = "llvmlite",
    takes: Literal["any", "has LLVM IR"] = "any",
    has_limit: bool = False,
    absent: str = "",
) -> Contender:
    how = ("--emit", emit, "--provider", provider, "--llvm", llvm, "-j", str(jobs), "--quiet", "--json")
    return Contender(
        key,
        name,
        (sys.executable, "-m", "parcubin", "compile"),
        how,
        output="bundle" if emit == "bundle" else "linked.cubin",
        takes=takes,
        has_limit=has_limit,
        absent=absent,
    )


def _deferred_provider() -> tuple[str, str]:
    """A deferred provider that this machine can have, and else why there is none."""
    for name in ("deferred(nvjitlink)", "deferred(driver)"):
        try:
            select(name, needs_link=True)
        except ToolchainError:
            continue
        return name, ""
    return "", "needs nvJitLink 12 (from 13.0 on it makes relocatable modules, so nothing is to defer) or a driver"


def _no_llvm_split(tools: Tools, no_llvm: str) -> str:
    if tools.llvm is None:
        return no_llvm
    if not (tools.llvm / "llvm-split").exists():
        return f"needs llvm-split beside {tools.llvm}/opt"
    return "" if tools.nvlink else "needs nvlink: pip install nvidia-cuda-nvcc"
