"""LLVM IR to PTX. Runs in worker processes only, since LLVM can abort."""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from parcubin.errors import InputError, InternalCompilerError
from parcubin.inspect.ptx import drop_debug_target
from parcubin.lower.context import LlvmContext, link, llvm, llvm_version, verify
from parcubin.lower.dynamic_shared_memory import with_largest_alignments
from parcubin.lower.flush_to_zero import with_flush_to_zero
from parcubin.lower.libdevice import libdevice_functions
from parcubin.lower.targets import check_target
from parcubin.lower.visibility import has_aliases, make_internal, make_visible, name_of, with_internal_aliases
from parcubin.model import CompilationOptions, Target

__all__ = ["LoweredShard", "llvm_version", "lower", "print_module", "print_shard", "start"]

TRIPLE = "nvptx64-nvidia-cuda"

_CALL_NUMBER = re.compile(r"(// callseq |\bprototype_)(\d+)(?=[, :;\n])")


@dataclass(frozen=True)
class LoweredShard:
    """PTX of one shard.

    Attributes:
        ptx: the text.
        seconds: CPU seconds of parse, optimize and emit.
    """

    ptx: str
    seconds: dict[str, float]


def start() -> None:
    """Loads LLVM, so that the first shard does not wait for it."""
    llvm()


def print_module(source: bytes, name: str) -> str:
    """Parses textual LLVM IR or bitcode and prints it.

    Raises:
        InputError: LLVM cannot parse it, or the module does not verify; says the line where LLVM says one.
    """
    with LlvmContext() as context:
        module = context.parse(source, name)
        verify(module, name)
        return str(module)


def lower(
    parts: Sequence[tuple[str, str]],
    *,
    target: Target,
    options: CompilationOptions,
    ptx_version: int,
    keep: Set[str],
    libdevice: Path | None,
    name: str,
) -> LoweredShard:
    """Lowers a shard to PTX.

    Args:
        parts: name and textual LLVM IR of one module for each input that the shard takes from; linked into one.
        target: the architecture.
        options: optimisation levels, inlining threshold, flush-to-zero, debug info.
        ptx_version: PTX ISA version to emit, 90 for 9.0.
        keep: kernels and functions that stay visible; all others become internal, and so does shared memory.
        libdevice: NVIDIA's device library; None when it was not found.
        name: what messages call the shard.

    Raises:
        InputError: the IR does not parse or verify, does not define what must be kept, or needs libdevice and there
            is none.
        TargetUnsupportedError: LLVM does not know the target, or cannot emit PTX of that version for it.
    """
    machine = _target_machine(target, options.opt_level, ptx_version)
    clocks = [time.process_time()]
    with LlvmContext() as context:
        module = _prepared(context, parts, str(machine.target_data), options, keep, libdevice, name)
        clocks.append(time.process_time())
        _optimize(module, machine, options)
        clocks.append(time.process_time())
        ptx = _with_own_call_numbers(machine.emit_assembly(module))
        clocks.append(time.process_time())
    seconds = {stage: clocks[i + 1] - clocks[i] for i, stage in enumerate(("parse", "optimize", "emit"))}
    if not options.debug_info:
        # ptxas refuses to optimise what says `debug`, and LLVM says it for line tables too.
        ptx = drop_debug_target(ptx)
    return LoweredShard(ptx, seconds)


def print_shard(
    parts: Sequence[tuple[str, str]],
    *,
    target: Target,
    options: CompilationOptions,
    ptx_version: int,
    keep: Set[str],
    libdevice: Path | None,
    name: str,
) -> str:
    """The module that `lower` would optimise, as text. Arguments and errors are those of `lower`."""
    machine = _target_machine(target, options.opt_level, ptx_version)
    with LlvmContext() as context:
        return str(_prepared(context, parts, str(machine.target_data), options, keep, libdevice, name))


def _prepared(
    context: LlvmContext,
    parts: Sequence[tuple[str, str]],
    data_layout: str,
    options: CompilationOptions,
    keep: Set[str],
    libdevice: Path | None,
    name: str,
) -> Any:
    """One module of all parts with what they need of libdevice, in which only what is kept is visible."""

    def parsed(text: str, what: str) -> Any:
        module = context.parse(with_flush_to_zero(text) if options.flush_to_zero else text, what)
        module.triple, module.data_layout = TRIPLE, data_layout
        make_visible(module, keep)
        return module

    texts = with_largest_alignments([text for _, text in parts])
    module, *others = [parsed(text, part) for (part, _), text in zip(parts, texts, strict=True)]
    for other in others:
        link(module, other, name)
    needed = frozenset(n for f in module.functions if f.is_declaration and (n := name_of(f)).startswith("__nv_"))
    if needed:
        link(module, parsed(libdevice_functions(libdevice, needed, name, print_module), "libdevice"), name)
    defined = {name_of(f) for f in module.functions if not f.is_declaration}
    if any(has_aliases(text) for _, text in parts):
        text, aliases = with_internal_aliases(module, keep)
        module.close()
        module = context.parse(text, name)
        defined |= aliases
    if missing := sorted(keep - defined):
        raise InputError(f"{name} lacks {', '.join(missing)}.", kernels=missing)
    make_internal(module, keep)
    verify(module, name)
    return module


def _optimize(module: Any, machine: Any, options: CompilationOptions) -> None:
    tuning = llvm().create_pipeline_tuning_options(speed_level=options.pass_level)
    if options.inlining_threshold is not None:
        _set_inlining_threshold(tuning, options.inlining_threshold)
    builder = llvm().create_pass_builder(machine, tuning)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    for analyses in (passes, builder):
        analyses.close()  # before the module that they refer to


def _set_inlining_threshold(tuning: Any, threshold: int) -> None:
    """Sets LLVM's inlining threshold. llvmlite 0.50 passes on the lowest eight bits of it (its C++ side takes a bool),
    so the number is written to where those go."""
    integers = ctypes.cast(tuning._ptr, ctypes.POINTER(ctypes.c_int))
    places = set(range(8))
    for probe in (0x55, 0x2A):
        tuning.inlining_threshold = probe
        places = {place for place in places if integers[place] == probe}
    for place in places:
        integers[place] = threshold
    if tuning.inlining_threshold != threshold:
        raise InternalCompilerError(f"llvmlite does not take the inlining threshold {threshold}.")


def _with_own_call_numbers(ptx: str) -> str:
    """Numbers calls from 0. LLVM counts them through the life of the process (NVPTXISelLowering.cpp,
    GlobalUniqueCallSite), in comments, which reach the CUBIN with the line tables, and in names of call prototypes."""
    numbers: dict[str, int] = {}
    return _CALL_NUMBER.sub(lambda m: f"{m[1]}{numbers.setdefault(m[2], len(numbers))}", ptx)


@cache
def _target_machine(target: Target, opt_level: int, ptx_version: int) -> Any:
    check_target(target, ptx_version, llvm_version())
    return (
        llvm()
        .Target.from_triple(TRIPLE)
        .create_target_machine(cpu=target.name, features=f"+ptx{ptx_version}", opt=opt_level)
    )
