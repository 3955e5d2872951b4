"""Relocatable modules by deferral: the PTX is kept and compiled at the link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parcubin.errors import ToolchainError
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


@dataclass(frozen=True)
class DeferredProvider:
    """Gives a delegate that can only link what it compiles the interface of one with relocatable modules.

    Raises:
        ToolchainError: at construction, when the delegate makes relocatable modules itself (deferring would only lose
            parallelism) or cannot link.
    """

    delegate: CompilationProvider

    def __post_init__(self) -> None:
        if self.delegate.supports_compile_to_relocatable_module:
            raise ToolchainError(
                f"{self.delegate.name} ({self.delegate.identity}) can make relocatable modules, so there is nothing to "
                "defer. Use it as it is."
            )
        if not self.delegate.supports_compile_and_link:
            raise ToolchainError(
                f"{self.delegate.name} ({self.delegate.identity}) cannot link, so PTX deferred to the link would never "
                "be compiled."
            )

    @property
    def name(self) -> str:
        return f"deferred({self.delegate.name})"

    @property
    def identity(self) -> str:
        return self.delegate.identity

    @property
    def supports_compile_to_relocatable_module(self) -> bool:
        return True

    @property
    def supports_compile_and_link(self) -> bool:
        return True

    @property
    def supports_link_to_relocatable_module(self) -> bool:
        return False

    @property
    def compiles_whole_program(self) -> bool:
        return self.delegate.compiles_whole_program

    def compile(self, target: Target, ptx: Ptx, options: CompilationOptions) -> Assembly:
        return self.delegate.compile(target, ptx, options)

    def compile_to_relocatable_module(
        self,
        target: Target,  # noqa: ARG002
        ptx: Ptx,
        options: CompilationOptions,  # noqa: ARG002
        kind: RelocatableKind,  # noqa: ARG002
    ) -> DeferredModule:
        return DeferredModule(ptx)

    def compile_and_link(self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions) -> Assembly:
        return self.delegate.compile_and_link(
            target, [i.ptx if isinstance(i, DeferredModule) else i for i in inputs], options
        )

    def link_to_relocatable_module(
        self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions
    ) -> RelocatableModule:
        return self.delegate.link_to_relocatable_module(target, inputs, options)

    def latest_ptx_isa_version(self) -> int:
        return self.delegate.latest_ptx_isa_version()
