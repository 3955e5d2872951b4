"""What a compilation provider promises.

The interface follows OpenXLA's `stream_executor::cuda::CompilationProvider`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from parcubin.model import (
    Assembly,
    CompilationOptions,
    DeferredModule,
    LinkInput,
    Ptx,
    RelocatableKind,
    RelocatableModule,
    Target,
)


@runtime_checkable
class CompilationProvider(Protocol):
    """Compiles PTX to an assembly and, where it can, to a relocatable module, and links.

    Providers are immutable, pickle (they travel to the worker processes; libraries are loaded on first use in each),
    and may be called from several threads at once. Every operation raises a `CompileError` subclass that carries the
    compiler's log, and `UnavailableError` where the operation is not supported.
    """

    @property
    def name(self) -> str:
        """Short name: `subprocess`, `nvjitlink`, `subprocess+nvjitlink`, `deferred(nvjitlink)`."""
        ...

    @property
    def identity(self) -> str:
        """Everything about the tools that reaches the output (versions), for reports and cache keys. Not paths."""
        ...

    @property
    def supports_compile_to_relocatable_module(self) -> bool: ...

    @property
    def supports_compile_and_link(self) -> bool: ...

    @property
    def supports_link_to_relocatable_module(self) -> bool: ...

    @property
    def compiles_whole_program(self) -> bool:
        """True when `compile` optimises one PTX input as a whole program; nvJitLink and the driver compile even one
        input the `-c` way (our measurement, docs/correctness.md)."""
        ...

    def compile(self, target: Target, ptx: Ptx, options: CompilationOptions) -> Assembly:
        """Compiles one PTX text to a loadable CUBIN."""
        ...

    def compile_to_relocatable_module(
        self, target: Target, ptx: Ptx, options: CompilationOptions, kind: RelocatableKind
    ) -> RelocatableModule | DeferredModule:
        """Compiles one PTX text to a module that must still be linked. The result says which kind it is."""
        ...

    def compile_and_link(self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions) -> Assembly:
        """Links modules, in the order given, into a loadable CUBIN; PTX inputs are compiled first."""
        ...

    def link_to_relocatable_module(
        self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions
    ) -> RelocatableModule:
        """Joins relocatable modules into one that must still be linked (`nvlink -r`)."""
        ...

    def latest_ptx_isa_version(self) -> int:
        """The newest PTX ISA version understood: 90 for 9.0. Asked from the tool."""
        ...
