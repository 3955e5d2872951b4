"""What of a shard other shards and the host can see. Works on textual LLVM IR in printed form and leaves lines where
they are."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from parcubin.errors import InputError
from parcubin.lower.source_text import Lines
from parcubin.split.llvm_global import LINKAGES, Global
from parcubin.split.llvm_ir import FUNCTION_HEADER
from parcubin.split.llvm_text import plain_name, symbols_in

_FUNCTION = Lines("define .*")
_ENTITY = Lines("(?:define |@).*")
_NAMED = Lines("(?:define |declare |@).*")
_ALIAS_OR_SHARED = re.compile(r" = [^\"]*?(?:\balias |\baddrspace\(3\))")
_LINKAGE = re.compile(rf"\b(?:{LINKAGES})\b")
_LOCAL = ("internal", "private")
_DISCARDABLE = ("linkonce", "linkonce_odr", "available_externally")
_SHARED = 3


def make_visible(text: str, keep: Set[str]) -> str:
    """The module, in which LLVM neither renames nor drops the functions that must stay."""

    def visible(function: str) -> str:
        header = FUNCTION_HEADER.match(function)
        if header is None or _name(header["name"]) not in keep:
            return function
        linkage = _linkage(header["words"])
        if linkage in _LOCAL:
            return _with_words(header, _LINKAGE.sub("", header["words"]))
        if linkage in _DISCARDABLE:
            return _with_words(header, _LINKAGE.sub("weak_odr", header["words"]))
        return function

    return _FUNCTION.replaced(text, visible)


def in_order(text: str) -> str:
    """The module, of which LLVM's linker keeps the functions in their order; llvm-link moves those that may be dropped
    (`linkonce`) to where they are used."""

    def kept(function: str) -> str:
        header = FUNCTION_HEADER.match(function)
        if header is None or _linkage(header["words"]) not in ("linkonce", "linkonce_odr"):
            return function
        return _with_words(header, header["words"].replace("linkonce", "weak"))

    return _FUNCTION.replaced(text, kept)


@dataclass(frozen=True)
class InternalModule:
    """A module in which only some symbols are visible.

    Attributes:
        text: the module.
        kept: those functions and aliases, of the ones to keep, that it defines.
    """

    text: str
    kept: frozenset[str]


def make_internal(text: str, keep: Set[str]) -> InternalModule:
    """Makes everything internal of which each shard has a copy: functions, their aliases, and shared memory.

    Raises:
        InputError: an alias must stay that names what is internal: LLVM makes an alias as visible in PTX as that.
    """
    kept: set[str] = set()

    def internal(line: str) -> str:
        if line.startswith("@"):
            return _internal_global(line, keep, kept) if _ALIAS_OR_SHARED.search(line) else line
        header = FUNCTION_HEADER.match(line)
        if header is None:
            return line
        name = _name(header["name"])
        if name in keep:
            kept.add(name)
            return line
        return _with_words(header, " internal")  # internal symbols have no visibility

    return InternalModule(_ENTITY.replaced(text, internal), frozenset(kept))


def _internal_global(line: str, keep: Set[str], kept: set[str]) -> str:
    global_ = Global.parse(line)
    name = _name(global_.name)
    if global_.keyword != "alias":
        is_copied = global_.space == _SHARED and global_.defined and name not in keep
        return global_.definition("internal") if is_copied else line
    if name not in keep:
        return global_.definition("internal")
    kept.add(name)
    if hidden := sorted({plain_name(symbol) for symbol in symbols_in(global_.rest)} - keep):
        raise InputError(
            f"{name} cannot stay callable: it is an alias of {', '.join(hidden)}, which is internal, and PTX has no "
            "such aliases. Make that external."
        )
    return global_.definition("external")


def shared_names(texts: Sequence[str]) -> frozenset[str]:
    """Names of functions, aliases and shared memory by which modules find each other when they are linked."""
    if len(texts) < 2:
        return frozenset()
    named: set[str] = set()
    defined: set[str] = set()
    shared: set[str] = set()
    for text in texts:
        names = dict(_names(text))
        shared |= named & names.keys()
        named |= names.keys()
        defined |= {name for name, is_defined in names.items() if is_defined}
    return frozenset(shared & defined)


def _names(text: str) -> list[tuple[str, bool]]:
    """Names that are not local, and whether they are defined."""
    found: list[tuple[str, bool]] = []
    for line in _NAMED.of(text):
        if line.startswith("@"):
            if _ALIAS_OR_SHARED.search(line):
                global_ = Global.parse(line)
                if global_.linkage not in _LOCAL:
                    found.append((_name(global_.name), global_.defined))
        elif (header := FUNCTION_HEADER.match(line)) and _linkage(header["words"]) not in _LOCAL:
            found.append((_name(header["name"]), line.startswith("define")))
    return found


def _name(spelled: str) -> str:
    """The symbol's name; empty for a number, which stands for a symbol without one."""
    return "" if spelled.isdigit() else plain_name(spelled)


def _linkage(words: str) -> str:
    found = _LINKAGE.search(words)
    return found[0] if found else "external"


def _with_words(header: re.Match[str], words: str) -> str:
    """The function's first line with other linkage and visibility."""
    line = header.string
    words = "".join(f" {word}" for word in words.split())
    return line[: header.start("words")] + words + line[header.end("words") :]
