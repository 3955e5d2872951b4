"""LLVM in this process, through llvmlite."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parcubin.errors import InternalCompilerError
from parcubin.lower.context import LlvmContext, link, llvm, llvm_version, verify
from parcubin.lower.interface import TRIPLE, Texts
from parcubin.lower.source_text import BITCODE_MAGICS, decoded
from parcubin.lower.targets import FIRST_PTX_VERSIONS, LATEST_PTX_VERSION, too_old_ptx, unknown_target
from parcubin.model import CompilationOptions, Target
from parcubin.timing import timed


def load() -> None:
    """Loads LLVM, so that the first shard does not wait for it."""
    llvm()


@dataclass(frozen=True)
class LlvmliteLlvm:
    """The LLVM of llvmlite. Implements `Llvm`."""

    @property
    def identity(self) -> str:
        return llvm_version()

    def files(self) -> tuple[Path, ...]:
        """The library with LLVM in it, and the version of what calls it."""
        found = find_spec("llvmlite")
        if found is None or found.origin is None:
            return ()
        folder = Path(found.origin).parent
        return (folder / "_version.py", *sorted(folder.glob("binding/*llvmlite*")))

    def newest_ptx_version(self, at_most: int) -> int:
        return min(at_most, LATEST_PTX_VERSION)

    def check_target(self, target: Target, ptx_version: int) -> None:
        first = FIRST_PTX_VERSIONS.get(target.name)
        if first is None:
            raise unknown_target(target, FIRST_PTX_VERSIONS, self.identity)
        if ptx_version < first:
            raise too_old_ptx(target, first, ptx_version)

    def print_module(self, source: bytes, name: str) -> str:
        with LlvmContext() as context:
            module = context.parse(source if source.startswith(BITCODE_MAGICS) else decoded(source, name), name)
            verify(module, name)
            return str(module)

    def link(self, texts: Texts, name: str) -> str:
        machine = llvm().Target.from_triple(TRIPLE).create_target_machine()
        with LlvmContext() as context:
            return str(_linked(context, texts, machine, name))

    def emit_ptx(
        self,
        texts: Texts,
        target: Target,
        options: CompilationOptions,
        ptx_version: int,
        name: str,
        seconds: dict[str, float],
    ) -> str:
        machine = _target_machine(target, options.opt_level, ptx_version)
        with LlvmContext() as context:
            with timed(seconds, "parse"):
                module = _linked(context, texts, machine, name)
            with timed(seconds, "optimize"):
                _optimize(module, machine, options)
            with timed(seconds, "emit"):
                ptx: str = machine.emit_assembly(module)
        return ptx


def _linked(context: LlvmContext, texts: Texts, machine: Any, name: str) -> Any:
    module, *others = [context.parse(text, part) for part, text in texts]
    for part in (module, *others):
        part.triple, part.data_layout = TRIPLE, str(machine.target_data)
    for other in others:
        link(module, other, name)
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


@cache
def _target_machine(target: Target, opt_level: int, ptx_version: int) -> Any:
    return (
        llvm()
        .Target.from_triple(TRIPLE)
        .create_target_machine(cpu=target.name, features=f"+ptx{ptx_version}", opt=opt_level)
    )
