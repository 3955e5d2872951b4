"""What a shard needs of libdevice, NVIDIA's library of math functions in LLVM bitcode."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from parcubin.errors import InputError, UnresolvedSymbolError
from parcubin.lower.interface import Llvm
from parcubin.lower.source_text import Lines
from parcubin.split.llvm_ir import LlvmOutline, outline_llvm_ir

_FUNCTION = Lines("(?:define|declare) .*@__nv_.*")
_NAME = re.compile(r"(define|declare) .*?@(__nv_[\w$.]+)\(", re.A)


def needed_of_libdevice(texts: Iterable[str]) -> frozenset[str]:
    """Functions of libdevice that modules declare and none of them defines."""
    named: dict[str, set[str]] = {"define": set(), "declare": set()}
    for text in texts:
        for function in filter(None, map(_NAME.match, _FUNCTION.of(text))):
            named[function[1]].add(function[2])
    return frozenset(named["declare"] - named["define"])


def libdevice_functions(path: Path | None, names: frozenset[str], user: str, llvm: Llvm) -> str:
    """A module with the named functions and what they call.

    Args:
        path: `libdevice.10.bc`; None when it was not found.
        names: functions that a shard calls and does not define, all beginning with `__nv_`.
        user: what messages call the shard.
        llvm: what reads the bitcode, once a worker.

    Raises:
        InputError: there is no libdevice.
        UnresolvedSymbolError: libdevice has no such function.
    """
    if path is None:
        raise InputError(
            f"{user} calls {', '.join(sorted(names))} of libdevice, and no libdevice.10.bc was found. "
            "Install it with `pip install 'parcubin[cuda13]'`, or set CUDA_HOME to a CUDA toolkit."
        )
    outline = _outline(path, llvm)
    unknown = sorted(names - outline.symbols.keys())
    if unknown:
        raise UnresolvedSymbolError(f"{user} calls {', '.join(unknown)}, which libdevice lacks.", symbols=unknown)
    reached: set[str] = set()
    pending = set(names)
    while pending:
        reached |= pending
        pending = {r for name in pending for r in outline.symbols[name].references} - reached
    return outline.render(frozenset(n for n in reached if outline.symbols[n].defined), frozenset(), {})


@cache
def _outline(path: Path, llvm: Llvm) -> LlvmOutline:
    return outline_llvm_ir(llvm.print_module(path.read_bytes(), str(path)), "libdevice")
