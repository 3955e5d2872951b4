"""What workers do. A job and its result are plain data, so the worker can be anywhere."""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from parcubin.errors import NotInPartsError
from parcubin.inspect.checks import check_after_link
from parcubin.inspect.cubin import CubinInfo, read_cubin
from parcubin.inspect.debug_strings import with_own_strings
from parcubin.inspect.ptx import SYSTEM_CALLS, PtxSummary, scan_ptx
from parcubin.inspect.unresolved import unresolved_error, uses_of
from parcubin.model import (
    Assembly,
    CompilationOptions,
    DeferredModule,
    DeviceLibrary,
    KernelInfo,
    LlvmIr,
    Ptx,
    RelocatableKind,
    RelocatableModule,
    Target,
    VariableInfo,
)
from parcubin.providers.interface import CompilationProvider
from parcubin.providers.link_order import largest_alignment_first
from parcubin.providers.relocatable_kind import why_not_extensible_whole_program
from parcubin.timing import timed
from parcubin.toolchain.logs import Diagnostic, warnings

if TYPE_CHECKING:
    from parcubin.lower.interface import Llvm
    from parcubin.split.llvm_shard import LlvmPart
    from parcubin.split.ptx_shard import PtxShard

Module = Assembly | RelocatableModule | DeferredModule


@dataclass(frozen=True)
class AskVersions:
    """Asks for versions that only a worker can find out.

    Returns: the newest PTX ISA version that LLVM and the provider both know, and what LLVM calls itself.
    """

    provider: CompilationProvider | None
    llvm: Llvm

    def run(self) -> tuple[int, str]:
        latest = self.provider.latest_ptx_isa_version() if self.provider else sys.maxsize
        return self.llvm.newest_ptx_version(latest), self.llvm.identity


@dataclass(frozen=True)
class AskPtxVersion:
    """Returns: the newest PTX ISA version that a provider understands, 90 for 9.0."""

    provider: CompilationProvider

    def run(self) -> int:
        return self.provider.latest_ptx_isa_version()


@dataclass(frozen=True)
class PrintModule:
    """Parses, verifies and prints LLVM IR in any form. Returns: the text, as LLVM prints it."""

    source: bytes = field(repr=False)
    name: str
    llvm: Llvm

    def run(self) -> str:
        return self.llvm.print_module(self.source, self.name)


@dataclass(frozen=True)
class ReadLibdevice:
    """Returns: a module of LLVM IR with functions of libdevice and what they call; those that it lacks are left out."""

    path: Path
    names: frozenset[str]
    llvm: Llvm

    def run(self) -> str:
        from parcubin.lower.libdevice import libdevice_functions

        return libdevice_functions(self.path, self.names, self.llvm)


@dataclass(frozen=True)
class Lowering:
    """LLVM IR to be lowered; see `lower.lowering.lower` for the fields."""

    llvm: Llvm
    parts: tuple[LlvmIr | LlvmPart, ...] = field(repr=False)
    target: Target
    options: CompilationOptions
    ptx_version: int
    keep: frozenset[str]
    libdevice: LlvmIr | LlvmPart | None = field(repr=False)

    def arguments(self) -> dict[str, Any]:
        """The fields, as arguments of `lower`."""
        parts = [(part.name, part.text) for part in self.parts]
        libdevice = self.libdevice.text if self.libdevice else None
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"parts": parts, "libdevice": libdevice}


@dataclass(frozen=True)
class PrintShard:
    """Returns: the LLVM IR of a shard on its own, with what it needs of libdevice, as text."""

    name: str
    lowering: Lowering

    def run(self) -> str:
        from parcubin.lower.lowering import print_shard

        return print_shard(**self.lowering.arguments(), name=self.name)


@dataclass(frozen=True)
class CompileShard:
    """Lowers a shard and compiles its PTX.

    Attributes:
        name: what messages call the shard.
        source: LLVM IR to lower, or PTX.
        target: the architecture.
        options: see `CompilationOptions`.
        provider: what compiles the PTX; None when PTX is all that is wanted.
        output: an assembly that stands alone, or a module to be linked.
        must_be_plain: why the module must be compiled with `-c`; None when its PTX decides.
        sole_constants: this shard alone of the link defines constants, and it is linked first.
        other_pointers: other shards of the link handle function pointers.
        extensible_only: a module with kernels that has to be plain is a `NotInPartsError`.
    """

    name: str
    source: Lowering | Ptx | PtxShard
    target: Target
    options: CompilationOptions
    provider: CompilationProvider | None
    output: Literal["assembly", "module"]
    must_be_plain: str | None = None
    sole_constants: bool = False
    other_pointers: bool = False
    extensible_only: bool = False

    def run(self) -> ShardResult:
        seconds: dict[str, float] = {}
        ptx = self._ptx(seconds)
        summary = scan_ptx(ptx.text, self.name)
        if self.provider is None:
            return self._result(ptx, summary, None, seconds)
        why_plain = None
        with timed(seconds, "assemble"):
            module: Module
            if self.output == "assembly":
                if missing := set(summary.externs) - SYSTEM_CALLS:
                    raise unresolved_error(uses_of(missing, ptx.text, summary, self.name))
                module = self.provider.compile(self.target, ptx, self.options)
            else:
                why_plain = self.must_be_plain or why_not_extensible_whole_program(
                    summary,
                    self.options,
                    sole_constants=self.sole_constants,
                    other_pointers=self.other_pointers,
                )
                if self.extensible_only and why_plain and summary.kernels:
                    raise NotInPartsError(f"{self.name} would have to be compiled with -c: {why_plain}.")
                kind = RelocatableKind.PLAIN if why_plain else RelocatableKind.EXTENSIBLE_WHOLE_PROGRAM
                text = _with_own_dynamic_shared_memory(ptx.text, summary)
                module = self.provider.compile_to_relocatable_module(
                    self.target, Ptx(text, self.name), self.options, kind
                )
                if self.extensible_only and summary.kernels and not _is_extensible(module):
                    raise NotInPartsError(f"{self.provider.name} cannot compile {self.name} with -ewp.")
        return self._result(ptx, summary, module, seconds, why_plain)

    def _result(
        self,
        ptx: Ptx,
        summary: PtxSummary,
        module: Module | None,
        seconds: dict[str, float],
        why_plain: str | None = None,
    ) -> ShardResult:
        kernels: dict[str, KernelInfo] = {}
        variables: dict[str, VariableInfo] = {}
        if isinstance(module, Assembly):
            info = read_cubin(module.cubin, self.name)
            check_after_link(info, [k.name for k in summary.kernels], [])
            kernels, variables = info.kernels, info.variables
        helper_calls: dict[str, tuple[str, ...]] = {}
        if isinstance(module, RelocatableModule) and module.kind is RelocatableKind.EXTENSIBLE_WHOLE_PROGRAM:
            helper_calls = read_cubin(module.cubin, self.name).helper_calls
        log = module.log if isinstance(module, Assembly | RelocatableModule) else ""
        return ShardResult(
            ptx=ptx if isinstance(self.source, Lowering) else None,
            summary=summary,
            module=module,
            warnings=tuple(warnings(log, ptx.text)),
            helper_calls=helper_calls,
            kernels=kernels,
            variables=variables,
            why_plain=why_plain,
            seconds=seconds,
        )

    def _ptx(self, seconds: dict[str, float]) -> Ptx:
        if not isinstance(self.source, Lowering):
            return Ptx(self.source.text, self.source.name)
        from parcubin.lower.lowering import lower

        lowered = lower(**self.source.arguments(), name=self.name)
        seconds.update(lowered.seconds)
        return Ptx(lowered.ptx, self.name)


@dataclass(frozen=True)
class ShardResult:
    """What became of a shard.

    Attributes:
        ptx: its PTX; None when its source was PTX already.
        summary: what the PTX defines and refers to.
        module: the compiled module; None when PTX was all that was wanted.
        warnings: what the compiler warned of.
        helper_calls: of an extensible module: by kernel, the helper routines that it calls; see `CubinInfo`.
        kernels: resource usage of its kernels, from an assembly; empty for a module that must still be linked.
        variables: what the host can name in an assembly.
        why_plain: why the module was compiled with `-c`; None when it was not.
        seconds: CPU seconds by stage.
    """

    ptx: Ptx | None
    summary: PtxSummary
    module: Module | None
    warnings: tuple[Diagnostic, ...]
    helper_calls: dict[str, tuple[str, ...]]
    kernels: dict[str, KernelInfo]
    variables: dict[str, VariableInfo]
    why_plain: str | None
    seconds: dict[str, float]

    @property
    def log(self) -> str:
        """The compiler's log."""
        return self.module.log if isinstance(self.module, Assembly | RelocatableModule) else ""


@dataclass(frozen=True)
class LinkShards:
    """Links modules and checks that the result holds what it must.

    Attributes:
        modules: in the order in which they are linked if one is extensible, then libraries.
        kernels: what must be in the output.
        variables: likewise.
        relocatable: join them into one relocatable module instead of a loadable CUBIN.
    """

    provider: CompilationProvider
    target: Target
    modules: tuple[RelocatableModule | DeferredModule | DeviceLibrary, ...]
    options: CompilationOptions
    kernels: tuple[str, ...]
    variables: tuple[str, ...]
    relocatable: bool

    def run(self) -> LinkResult:
        seconds: dict[str, float] = {}
        with timed(seconds, "link"):
            output: Assembly | RelocatableModule
            inputs = largest_alignment_first(self.modules)
            if self.relocatable:
                output = self.provider.link_to_relocatable_module(self.target, inputs, self.options)
            else:
                output = self.provider.compile_and_link(self.target, inputs, self.options)
            cubin = output.cubin
            modules = [m.cubin for m in inputs if isinstance(m, RelocatableModule)]
            if not self.relocatable and not any(isinstance(m, DeferredModule) for m in self.modules):
                cubin = with_own_strings(cubin, modules)
            info = read_cubin(cubin, "the linked output")
            check_after_link(info, self.kernels, self.variables)
        return LinkResult(cubin, output.log, info, seconds)


@dataclass(frozen=True)
class LinkResult:
    """A linked CUBIN.

    Attributes:
        cubin: the ELF image.
        log: the linker's log.
        info: what is in it.
        seconds: CPU seconds by stage.
    """

    cubin: bytes = field(repr=False)
    log: str = field(repr=False)
    info: CubinInfo
    seconds: dict[str, float]


def _is_extensible(module: Module) -> bool:
    return isinstance(module, RelocatableModule) and module.kind is RelocatableKind.EXTENSIBLE_WHOLE_PROGRAM


def _with_own_dynamic_shared_memory(text: str, summary: PtxSummary) -> str:
    """Gives dynamic shared memory names of the shard's own. Of two plain modules that call it alike and align it
    differently, the linker takes the first's alignment for both; and modules can be plain whatever is asked for."""
    names = [v.name for v in summary.variables if v.linkage == "extern" and v.space == "shared"]
    if not names:
        return text
    own = hashlib.sha256(" ".join(sorted(k.name for k in summary.kernels)).encode()).hexdigest()[:12]
    pattern = "|".join(map(re.escape, names))
    return re.sub(rf"(?<![\w$.%])(?:{pattern})(?![\w$.])", lambda m: f"{m[0]}__{own}", text)
