"""LLVM IR to PTX: what is the same for every LLVM."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

from parcubin.errors import InputError
from parcubin.inspect.ptx import drop_debug_target
from parcubin.lower.dynamic_shared_memory import with_largest_alignments
from parcubin.lower.flush_to_zero import with_flush_to_zero
from parcubin.lower.interface import Llvm, Texts
from parcubin.lower.libdevice import undefined_error, undefined_in
from parcubin.lower.source_text import without_nul
from parcubin.lower.visibility import in_order, make_internal, make_visible, shared_names
from parcubin.model import CompilationOptions, Target
from parcubin.timing import timed

_CALL = re.compile(r"// callseq (\d+)(?=[, :;\n])")
_PROTOTYPE = re.compile(r"\bprototype_(\d+)(?=[, :;\n])")


@dataclass(frozen=True)
class LoweredShard:
    """PTX of one shard.

    Attributes:
        ptx: the text.
        seconds: CPU seconds of parse, optimize and emit.
    """

    ptx: str
    seconds: dict[str, float]


def lower(
    llvm: Llvm,
    parts: Texts,
    *,
    target: Target,
    options: CompilationOptions,
    ptx_version: int,
    keep: Set[str],
    libdevice: str | None,
    name: str,
) -> LoweredShard:
    """Lowers a shard to PTX.

    Args:
        llvm: the LLVM to do it with.
        parts: name and textual LLVM IR of one module for each input that the shard takes from, in printed form; linked
            into one.
        target: the architecture.
        options: optimisation level, inlining threshold, flush-to-zero, debug info.
        ptx_version: PTX ISA version to emit, 90 for 9.0.
        keep: kernels and functions that stay visible; all others become internal, and so does shared memory.
        libdevice: a module with what the shard needs of NVIDIA's device library; None when it needs nothing, or there
            is none.
        name: what messages call the shard.

    Raises:
        InputError: the IR does not parse or verify, does not define what must be kept, or needs libdevice and there
            is none.
        TargetUnsupportedError: LLVM does not know the target, or cannot emit PTX of that version for it.
        ToolchainError: modules must be linked, and the LLVM cannot.
    """
    llvm.check_target(target, ptx_version)
    seconds: dict[str, float] = {}
    with timed(seconds, "parse"):
        texts = _prepared(llvm, parts, options, keep, libdevice, name)
    ptx = _with_own_call_numbers(llvm.emit_ptx(texts, target, options, ptx_version, name, seconds))
    if not options.debug_info:
        # ptxas refuses to optimise what says `debug`, and LLVM says it for line tables too.
        ptx = drop_debug_target(ptx)
    return LoweredShard(ptx, seconds)


def print_shard(
    llvm: Llvm,
    parts: Texts,
    *,
    target: Target,
    options: CompilationOptions,
    ptx_version: int,
    keep: Set[str],
    libdevice: str | None,
    name: str,
) -> str:
    """The module that `lower` would optimise, as text. Arguments and errors are those of `lower`."""
    llvm.check_target(target, ptx_version)
    return llvm.link(_prepared(llvm, parts, options, keep, libdevice, name), name)


def _prepared(
    llvm: Llvm, parts: Texts, options: CompilationOptions, keep: Set[str], libdevice: str | None, name: str
) -> Texts:
    """The modules to link, in which only what is kept is visible."""
    aligned = with_largest_alignments([without_nul(text, part) for part, text in parts])
    texts = [(part, make_visible(text, keep)) for (part, _), text in zip(parts, aligned, strict=True)]
    if libdevice is not None:
        texts.append(("libdevice", libdevice))
    if undefined := undefined_in(text for _, text in texts):
        raise undefined_error(undefined, name, found=libdevice is not None)
    if options.flush_to_zero:
        texts = [(part, with_flush_to_zero(text)) for part, text in texts]
    if shared_names([text for _, text in texts]) - keep:
        texts = [(name, llvm.link([(part, in_order(text)) for part, text in texts], name))]
    results = [(part, make_internal(text, keep)) for part, text in texts]
    kept = frozenset[str]().union(*(result.kept for _, result in results))
    if missing := sorted(keep - kept):
        raise InputError(f"{name} lacks {', '.join(missing)}.", kernels=missing)
    return [(part, result.text) for part, result in results]


def _with_own_call_numbers(ptx: str) -> str:
    """Numbers calls from 0. LLVM counts them through the life of the process (NVPTXISelLowering.cpp,
    GlobalUniqueCallSite), in comments, which reach the CUBIN with the line tables, and in names of call prototypes."""
    numbers: dict[str, int] = {}
    ptx = _CALL.sub(lambda m: f"// callseq {numbers.setdefault(m[1], len(numbers))}", ptx)
    if "prototype_" in ptx:
        ptx = _PROTOTYPE.sub(lambda m: f"prototype_{numbers.setdefault(m[1], len(numbers))}", ptx)
    return ptx
