"""What a module is made of, whatever its format: symbols, how they refer to each other, and who may copy them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol


class SymbolKind(Enum):
    KERNEL = auto()
    FUNCTION = auto()
    VARIABLE = auto()


class Binding(Enum):
    """How a definition meets others of its name. WEAK: another module may define it too, differently. DISCARDABLE: all
    definitions are equal, and dropped when nothing refers to them (`linkonce_odr`)."""

    LOCAL = auto()
    STRONG = auto()
    WEAK = auto()
    DISCARDABLE = auto()


class Sharing(Enum):
    """Where the definition of a variable may stand when its users are in several shards.

    COPY: a private copy in every shard that refers to it (constant data, shared memory).
    COPY_UNLESS_LINKED: constant data in bank 3, which is one for a whole link: copied in a bundle, once in a link.
    MERGE: the linker merges equal definitions (`.weak`); in a bundle, where nothing merges them, one shard at most.
    ONCE: the host may name it: one definition under its own name.
    ONCE_RENAMED: one definition, which nobody outside names: renamed uniquely where several shards share it.
    """

    COPY = auto()
    COPY_UNLESS_LINKED = auto()
    MERGE = auto()
    ONCE = auto()
    ONCE_RENAMED = auto()


@dataclass(frozen=True, slots=True)
class Symbol:
    """One top-level symbol of a module.

    Attributes:
        name: as the format spells it in references, quotes included.
        kind: kernel, device function or variable. An alias has the kind of what it names.
        defined: False for a declaration.
        binding: see `Binding`.
        references: every symbol that the definition names.
        addresses: those references that are not direct calls.
        calls_indirectly: calls through a pointer.
        sharing: for variables; COPY for functions.
        in_constant_bank: a variable in bank 3 (`.const`, address space 4).
        is_alias: another name of a function, which it refers to.
        cost: CPU microseconds that the definition is predicted to take in each shard that holds it.
        copy_cost: CPU microseconds that its code is predicted to take in each copy: its own, or inlined ones.
        calls: how often it calls each function.
        never_inlined: a function that has one copy of its code whoever calls it.
    """

    name: str
    kind: SymbolKind
    defined: bool
    binding: Binding = Binding.STRONG
    references: frozenset[str] = field(default_factory=frozenset)
    addresses: frozenset[str] = field(default_factory=frozenset)
    calls_indirectly: bool = False
    sharing: Sharing = Sharing.COPY
    in_constant_bank: bool = False
    is_alias: bool = False
    cost: int = 0
    copy_cost: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    never_inlined: bool = False


class Outline(Protocol):
    """A module that was taken apart, as the plan sees it. How parts of modules become a shard is the format's own."""

    @property
    def name(self) -> str:
        """What messages call the module."""
        ...

    @property
    def symbols(self) -> Mapping[str, Symbol]: ...

    @property
    def whole_reason(self) -> str | None:
        """Why the module can only be compiled whole; None when it can be split."""
        ...

    @property
    def environment(self) -> str:
        """What must be equal for kernels of two modules to be in one shard."""
        ...

    @property
    def dialect(self) -> str:
        """What must be equal for a shard to hold what another module defines. Between dialects, a linker has to resolve
        references."""
        ...

    def plain_name(self, name: str) -> str:
        """The symbol's name without the format's quoting."""
        ...
