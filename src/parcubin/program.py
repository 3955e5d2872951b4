"""What a compile gives back."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from parcubin.bundle import Bundle, write_bundle
from parcubin.errors import ParcubinError, UsageError
from parcubin.files import write_file, write_files
from parcubin.model import Assembly, Emit, KernelInfo, Ptx, Target, VariableInfo


@dataclass(frozen=True)
class Report:
    """What a compile did.

    Attributes:
        kernels: number of kernels in the output.
        shards: number of shards.
        cached: of them, those that were not compiled because the cache had them.
        jobs: worker processes.
        provider: the compilation provider's name.
        toolchain: versions of LLVM and of the provider's tools.
        wall_s: seconds from the call to the result.
        peak_memory: bytes that the workers and their compilers took at one time, at most: of shards compiled at the
            same time, the peaks are added up. Pages of files, such as the compilers' code, do not count.
        stages: CPU seconds of parse, optimize, emit, assemble and link, over all workers.
        slowest: names of a shard's kernels and its CPU seconds, slowest first. What the cache had took none.
        warnings: what the user should know, each once.
        helper_calls: of a linked CUBIN: by kernel, the helper routines of ptxas that it calls. Before sm_90, the call
            costs it registers, which it does not in a bundle.
        failures: what was left out, with `keep_going`.
        logs: with `keep_log`, everything that the compilers printed: a text for each shard, and last the linker's.
    """

    kernels: int
    shards: int
    cached: int
    jobs: int
    provider: str
    toolchain: str
    wall_s: float
    peak_memory: int
    stages: Mapping[str, float]
    slowest: tuple[tuple[tuple[str, ...], float], ...]
    warnings: tuple[str, ...]
    helper_calls: Mapping[str, tuple[str, ...]]
    failures: tuple[ParcubinError, ...]
    logs: tuple[str, ...] = field(default=(), repr=False)

    @property
    def log(self) -> str:
        """All of `logs`."""
        return "".join(self.logs)


@dataclass(frozen=True)
class WrittenShard:
    """A shard that is not compiled.

    Attributes:
        kernels: its kernels; none in a shard of variables.
        text: the module.
        format: "ll" for LLVM IR, "ptx" for PTX.
        cost: CPU microseconds that it is predicted to take.
        constants: it refers to the constant bank.
        pointers: it takes the addresses of functions or calls through pointers.
    """

    kernels: tuple[str, ...]
    text: str = field(repr=False)
    format: Literal["ll", "ptx"]
    cost: float
    constants: bool
    pointers: bool


@dataclass(frozen=True)
class Program:
    """A compiled program.

    Attributes:
        target: what it was compiled for.
        output: what it is: a bundle, a linked CUBIN, a relocatable CUBIN or PTX.
        kernels: resource usage by kernel; empty for PTX.
        variables: variables that the host can name.
        assemblies: of a bundle, its CUBINs.
        ptx: of PTX output, the shards.
        report: how the compile went.
    """

    target: Target
    output: Emit
    kernels: Mapping[str, KernelInfo] = field(repr=False)
    variables: Mapping[str, VariableInfo] = field(repr=False)
    assemblies: tuple[Assembly, ...] = field(repr=False)
    ptx: tuple[Ptx, ...] = field(repr=False)
    report: Report = field(repr=False)
    _image: bytes | None = field(repr=False)
    _link: Callable[[], Program] = field(repr=False)

    @property
    def cubin(self) -> bytes:
        """The CUBIN: linked, relocatable, or a bundle's only assembly.

        Raises:
            UsageError: a bundle of several assemblies; `link()` it first, or use `assemblies`. Or PTX.
        """
        if self._image is not None:
            return self._image
        if len(self.assemblies) == 1:
            return self.assemblies[0].cubin
        if self.output == "ptx":
            raise UsageError("The program was compiled to PTX and has no CUBIN.")
        raise UsageError(
            f"The program is a bundle of {len(self.assemblies)} CUBINs. program.link() makes one of them, "
            "program.assemblies holds them all."
        )

    def __getstate__(self) -> dict[str, Any]:
        """All but what links it later, which holds a compiler with its processes."""
        return self.__dict__ | {"_link": _cannot_link}

    def link(self) -> Program:
        """The program as one linked CUBIN.

        A bundle's CUBINs cannot be linked: their shards are compiled again, as relocatable modules, from the PTX that
        is kept; nothing is lowered again unless the link wants another plan. Asking for `output="cubin"` from the start
        saves that. A linked program returns itself.

        Raises:
            UsageError: the program was pickled and is not linked.
        """
        return self if self.output == "cubin" else self._link()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the program: one file; for a bundle, and for PTX of several shards, a folder or a `.zip`.

        The output appears whole or not at all.

        Raises:
            ParcubinError: it cannot be written.
        """
        path = Path(path)
        if self._image is not None:
            write_file(path, self._image)
        elif self.output == "ptx":
            if len(self.ptx) == 1 and path.suffix != ".zip":
                write_file(path, self.ptx[0].text.encode())
            else:
                write_files(path, _ptx_files(self.ptx), holds_ptx_only)
        else:
            write_bundle(Bundle.of(self), path)


def _cannot_link() -> Program:
    raise UsageError(
        "The program was pickled, and what it takes to link it was not. Link it before, or compile to one CUBIN."
    )


def _ptx_files(shards: Sequence[Ptx]) -> dict[str, bytes]:
    return {f"{number:04}.ptx": ptx.text.encode() for number, ptx in enumerate(shards)}


def holds_ptx_only(folder: Path) -> bool:
    """Whether a folder is PTX of several shards, as `Program.write` writes it, and nothing else."""
    return all(re.fullmatch(r"\d{4,}\.ptx", file.name) for file in folder.iterdir())
