"""What a shard needs of libdevice, NVIDIA's library of math functions in LLVM bitcode.

A program takes what its inputs mention out of libdevice once, since reading all of it takes a worker 0.3 s; each shard
gets of that what it calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parcubin.errors import InputError, ParcubinError, UnresolvedSymbolError
from parcubin.lower.source_text import Lines
from parcubin.split.llvm_ir import LlvmOutline, outline_llvm_ir
from parcubin.split.llvm_shard import LlvmPart

if TYPE_CHECKING:
    from parcubin.lower.interface import Llvm

_PREFIX = "__nv_"
_MENTIONED = re.compile(rb"@(__nv_\w+)", re.A)
_FUNCTION = Lines("(?:define|declare) .*@__nv_.*")
_NAME = re.compile(r"(define|declare) .*?@(__nv_[\w$.]+)\(", re.A)


def mentioned_in(text: bytes) -> frozenset[str]:
    """Functions that textual LLVM IR mentions and that may be libdevice's."""
    return frozenset(name.decode() for name in _MENTIONED.findall(text))


def needed_by(outline: LlvmOutline) -> frozenset[str]:
    """Functions of libdevice that a module declares and does not define."""
    return frozenset(s.name for s in outline.symbols.values() if not s.defined and s.name.startswith(_PREFIX))


def part_of_libdevice(parts: Sequence[LlvmPart], libdevice: LlvmOutline | None) -> LlvmPart | None:
    """What a shard needs of libdevice; None when it needs nothing, or there is none.

    Args:
        parts: the shard.
        libdevice: what the program needs of it.
    """
    needed: set[str] = set()
    for part in parts:
        symbols = part.outline.symbols
        defined = symbols.keys() if part.outline.whole_reason is not None else part.define
        needed |= {r for name in defined for r in symbols[name].references if r.startswith(_PREFIX)}
    needed.difference_update(*(part.define for part in parts))
    if libdevice is None or not needed:
        return None
    return LlvmPart(libdevice, _reached(libdevice, frozenset(needed)), frozenset(), {})


def _reached(libdevice: LlvmOutline, names: frozenset[str]) -> frozenset[str]:
    """The named functions, as far as libdevice has them, and everything that they call and use."""
    reached: set[str] = set()
    pending = names & libdevice.symbols.keys()
    while pending:
        reached |= pending
        pending = frozenset(r for name in pending for r in libdevice.symbols[name].references) - reached
    return frozenset(name for name in reached if libdevice.symbols[name].defined)


def libdevice_functions(path: Path, names: frozenset[str], llvm: Llvm) -> str:
    """A module with the named functions, as far as libdevice has them, and what they call.

    Args:
        path: `libdevice.10.bc`.
        names: functions that inputs call and do not define.
        llvm: what reads the bitcode.
    """
    libdevice = outline_llvm_ir(llvm.print_module(path.read_bytes(), str(path)), "libdevice")
    return libdevice.render(_reached(libdevice, names), frozenset(), {})


def undefined_in(texts: Iterable[str]) -> frozenset[str]:
    """Functions of libdevice that modules declare and none of them defines."""
    named: dict[str, set[str]] = {"define": set(), "declare": set()}
    for text in texts:
        for function in filter(None, map(_NAME.match, _FUNCTION.of(text))):
            named[function[1]].add(function[2])
    return frozenset(named["declare"] - named["define"])


def undefined_error(names: frozenset[str], user: str, *, found: bool) -> ParcubinError:
    """What is wrong when functions of libdevice are not defined after it was linked.

    Args:
        names: the functions.
        user: what messages call the shard.
        found: whether there is a libdevice.
    """
    called = f"{user} calls {', '.join(sorted(names))}"
    if found:
        return UnresolvedSymbolError(f"{called}, which libdevice lacks.", symbols=sorted(names))
    return InputError(
        f"{called} of libdevice, and no libdevice.10.bc was found. "
        "Install it with `pip install 'parcubin[cuda13]'`, or set CUDA_HOME to a CUDA toolkit."
    )
