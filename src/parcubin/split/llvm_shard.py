"""Shards of LLVM IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parcubin.model import LlvmIr
from parcubin.split.llvm_ir import LlvmOutline


@dataclass(frozen=True)
class LlvmPart:
    """What a shard takes from one module. It becomes text when it is sent to a worker, so that the texts of all shards
    never are in memory at once.

    Attributes:
        outline: the module.
        define: symbols to define. What they refer to beyond `define` is declared.
        declare: variables that are defined here but must only be declared, since another shard defines them.
        rename: new names for variables that several shards share.
    """

    outline: LlvmOutline
    define: frozenset[str]
    declare: frozenset[str]
    rename: Mapping[str, str] = field(hash=False)

    @property
    def name(self) -> str:
        """What messages call the module."""
        return self.outline.name

    @property
    def text(self) -> str:
        """The part as a module of its own."""
        return self.outline.render(self.define, self.declare, self.rename)

    def __reduce__(self) -> tuple[type[LlvmIr], tuple[str, str]]:
        return LlvmIr, (self.text, self.name)
