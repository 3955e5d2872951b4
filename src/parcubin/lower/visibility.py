"""What of a shard other shards and the host can see."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

from parcubin.errors import InputError
from parcubin.split.llvm_global import Global
from parcubin.split.llvm_text import plain_name, symbols_in

_ALIAS = re.compile(r"^@.* = .*\balias ", re.M)
_POINTER_TO_SHARED = "ptr addrspace(3)"
_LOCAL = ("internal", "private")
_DISCARDABLE = ("linkonce_any", "linkonce_odr", "available_externally")


def make_visible(module: Any, keep: Set[str]) -> None:
    """Makes sure that LLVM neither renames nor drops what must stay."""
    for function in module.functions:
        if name_of(function) in keep and not function.is_declaration:
            if function.linkage.name in _LOCAL:
                function.linkage = "external"
            elif function.linkage.name in _DISCARDABLE:
                function.linkage = "weak_odr"


def make_internal(module: Any, keep: Set[str]) -> None:
    """Makes everything internal of which each shard has a copy: functions and shared memory."""
    for symbol in (*module.functions, *module.global_variables):
        if symbol.is_declaration or name_of(symbol) in keep:
            continue
        if symbol.is_function or str(symbol.type) == _POINTER_TO_SHARED:
            symbol.visibility = "default"  # internal symbols may have no other
            symbol.linkage = "internal"


def has_aliases(text: str) -> bool:
    """Whether textual LLVM IR has aliases."""
    return _ALIAS.search(text) is not None


def with_internal_aliases(module: Any, keep: Set[str]) -> tuple[str, frozenset[str]]:
    """The text of the module with all aliases internal but those that must stay, and the names of those. llvmlite gives
    no access to aliases. LLVM makes an alias as visible in PTX as what it names.

    Raises:
        InputError: an alias must stay that names what is internal.
    """
    lines = str(module).split("\n")
    kept: set[str] = set()
    for number, line in enumerate(lines):
        if _ALIAS.match(line):
            alias = Global.parse(line)
            name = plain_name(alias.name)
            if name in keep:
                kept.add(name)
                aliasees = {plain_name(symbol) for symbol in symbols_in(alias.rest)}
                if hidden := sorted(aliasees - keep):
                    raise InputError(
                        f"{name} cannot stay callable: it is an alias of {', '.join(hidden)}, which is internal, and "
                        "PTX has no such aliases. Make that external."
                    )
            lines[number] = alias.definition("external" if name in keep else "internal")
    return "\n".join(lines), frozenset(kept)


def name_of(symbol: Any) -> str:
    """The symbol's name, without the `\\01` that says that an object file has it as it is; empty when it is not text,
    which no kernel's can be."""
    try:
        name: str = symbol.name
    except UnicodeDecodeError:
        return ""
    return name.removeprefix("\1")
