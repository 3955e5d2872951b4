"""Several providers as one: each operation goes to the first member that can do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parcubin.errors import ToolchainError, UnavailableError
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
from parcubin.providers.interface import CompilationProvider
from parcubin.providers.link_inputs import compile_link_inputs


@dataclass(frozen=True)
class CompositeProvider:
    """Compiles with its first member; relocatable modules and links go to the first member that can do them. PTX that
    comes to a link is compiled by the member that makes relocatable modules, in parallel.

    Attributes:
        members: the providers, preferred first.
        extensible_modules: whether relocatable modules may be of the extensible whole-program kind; otherwise all are
            plain. False when the linker is of another release than the assembler: nvlink then refuses extensible
            modules ("requires using current toolkit"), nvJitLink takes them without a check (our measurement).
    """

    members: tuple[CompilationProvider, ...]
    extensible_modules: bool = True

    def __post_init__(self) -> None:
        if not self.members:
            raise ToolchainError("A composite provider needs at least one member.")

    @property
    def name(self) -> str:
        return "+".join(member.name for member in self.members)

    @property
    def identity(self) -> str:
        return ", ".join(member.identity for member in self.members)

    @property
    def supports_compile_to_relocatable_module(self) -> bool:
        return any(member.supports_compile_to_relocatable_module for member in self.members)

    @property
    def supports_compile_and_link(self) -> bool:
        return any(member.supports_compile_and_link for member in self.members)

    @property
    def supports_link_to_relocatable_module(self) -> bool:
        return any(member.supports_link_to_relocatable_module for member in self.members)

    @property
    def compiles_whole_program(self) -> bool:
        return self.members[0].compiles_whole_program

    def compile(self, target: Target, ptx: Ptx, options: CompilationOptions) -> Assembly:
        return self.members[0].compile(target, ptx, options)

    def compile_to_relocatable_module(
        self, target: Target, ptx: Ptx, options: CompilationOptions, kind: RelocatableKind
    ) -> RelocatableModule | DeferredModule:
        kind = kind if self.extensible_modules else RelocatableKind.PLAIN
        for member in self.members:
            if member.supports_compile_to_relocatable_module:
                return member.compile_to_relocatable_module(target, ptx, options, kind)
        raise self._unavailable("compile to relocatable modules")

    def compile_and_link(self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions) -> Assembly:
        for member in self.members:
            if member.supports_compile_and_link:
                return member.compile_and_link(target, self._compiled(target, inputs, options), options)
        raise self._unavailable("link")

    def link_to_relocatable_module(
        self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions
    ) -> RelocatableModule:
        for member in self.members:
            if member.supports_link_to_relocatable_module:
                return member.link_to_relocatable_module(target, self._compiled(target, inputs, options), options)
        raise self._unavailable("link to a relocatable module")

    def latest_ptx_isa_version(self) -> int:
        return min(member.latest_ptx_isa_version() for member in self.members)

    def _compiled(
        self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions
    ) -> Sequence[LinkInput]:
        if not self.supports_compile_to_relocatable_module:
            return inputs
        return compile_link_inputs(self, target, inputs, options)

    def _unavailable(self, operation: str) -> UnavailableError:
        return UnavailableError(f"None of the members of {self.name} ({self.identity}) can {operation}.")
