"""Sources to modules: LLVM IR taken apart, PTX summarised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from parcubin.errors import DuplicateSymbolError, InputError, ParcubinError
from parcubin.inspect.ptx import PtxSummary, scan_ptx
from parcubin.model import Ptx
from parcubin.sources import Source, SourceKind
from parcubin.split.llvm_ir import LlvmOutline, NotInPrintedFormError, outline_llvm_ir
from parcubin.split.outline import Binding, SymbolKind
from parcubin.workers.jobs import PrintModule
from parcubin.workers.pool import WorkerPool, as_compiler_error

_TRIPLE = re.compile(r'^target triple = "([^"]*)"', re.M)


@dataclass(frozen=True, eq=False)
class LlvmModule:
    """LLVM IR, taken apart."""

    source: Source
    outline: LlvmOutline = field(repr=False)

    def whole(self, reason: str) -> LlvmModule:
        """The module, to be compiled whole."""
        return replace(self, outline=replace(self.outline, whole_reason=reason))


@dataclass(frozen=True)
class PtxModule:
    """PTX, which is compiled as it is."""

    ptx: Ptx = field(repr=False)
    summary: PtxSummary = field(repr=False)


@dataclass(frozen=True)
class Modules:
    """The modules of a program.

    Attributes:
        llvm: those to be lowered.
        ptx: those that are PTX already.
        failures: an error for each source that cannot be read.
    """

    llvm: tuple[LlvmModule, ...]
    ptx: tuple[PtxModule, ...]
    failures: tuple[ParcubinError, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which modules are compiled whole, and why."""
        return tuple(
            f"{m.source.name} is compiled whole: {m.outline.whole_reason}."
            for m in self.llvm
            if m.outline.whole_reason is not None
        )


def read_modules(sources: Sequence[Source], pool: WorkerPool) -> Modules:
    """Takes all sources apart. LLVM IR that is not in printed form is parsed and printed by the workers."""
    llvm: dict[int, LlvmModule] = {}
    ptx: dict[int, PtxModule] = {}
    printed: dict[int, Future[str]] = {}
    failures: list[ParcubinError] = []
    for number, source in enumerate(sources):
        try:
            if source.kind is SourceKind.PTX:
                text = source.text()
                ptx[number] = PtxModule(Ptx(text, source.name), scan_ptx(text, source.name))
            elif source.kind is SourceKind.LLVM_BITCODE:
                printed[number] = pool.submit(PrintModule(source.data, source.name))
            else:
                try:
                    llvm[number] = _llvm_module(source, source.text())
                except NotInPrintedFormError:
                    printed[number] = pool.submit(PrintModule(source.data, source.name))
        except ParcubinError as error:
            failures.append(error)
    for number, future in printed.items():
        try:
            llvm[number] = _llvm_module(sources[number], future.result())
        except NotInPrintedFormError as error:
            failures.append(
                InputError(f"{sources[number].name} has a form of LLVM IR that is not understood: {error}.")
            )
        except ParcubinError as error:
            failures.append(as_compiler_error(error, sources[number].name))
    # In an order that does not depend on the order of the inputs, because it reaches the output.
    return Modules(
        tuple(sorted(llvm.values(), key=_first_definition)),
        tuple(sorted(ptx.values(), key=lambda m: m.ptx.text)),
        tuple(failures),
    )


def unparsable(modules: Iterable[LlvmModule], pool: WorkerPool) -> dict[LlvmModule, InputError]:
    """Those modules that LLVM cannot parse, with the error, which names the line of the source."""
    checks = {module: pool.submit(PrintModule(module.source.data, module.source.name)) for module in modules}
    return {module: error for module, check in checks.items() if isinstance(error := check.exception(), InputError)}


def check_kernels(modules: Modules) -> None:
    """Checks that no kernel is defined twice and that there is something to compile.

    Raises:
        DuplicateSymbolError: names both inputs.
        InputError: the inputs define no kernel and no variable.
    """
    where: dict[str, str] = {}
    for module in modules.ptx:
        for kernel in module.summary.kernels:
            _claim(where, kernel.name, module.ptx.name)
    found = bool(where)
    for llvm in modules.llvm:
        for symbol in llvm.outline.symbols.values():
            name = llvm.outline.plain_name(symbol.name)
            if symbol.kind is SymbolKind.KERNEL and symbol.defined and name in where:
                _claim(where, name, llvm.source.name)
            found = found or symbol.defined
    if not found:
        names = ", ".join([m.source.name for m in modules.llvm] + [m.ptx.name for m in modules.ptx])
        raise InputError(f"{names} defines nothing: no kernel, no function, no variable.")


def _claim(where: dict[str, str], kernel: str, module: str) -> None:
    if (other := where.setdefault(kernel, module)) != module:
        raise DuplicateSymbolError(
            f"The kernel '{kernel}' is defined twice: in {other} and in {module}. "
            "Rename one of them, or leave one input out.",
            kernels=[kernel],
            input_name=module,
        )


def _first_definition(module: LlvmModule) -> str:
    symbols = module.outline.symbols.values()
    return min((s.name for s in symbols if s.defined and s.binding is not Binding.LOCAL), default="")


def _llvm_module(source: Source, text: str) -> LlvmModule:
    triple = _TRIPLE.search(text)
    if triple and not triple[1].startswith("nvptx64"):
        raise InputError(
            f"{source.name} is for another machine: its target triple is '{triple[1]}', and parcubin compiles for "
            "nvptx64. Compile the source for nvptx64-nvidia-cuda.",
            input_name=source.name,
            line=text.count("\n", 0, triple.start()) + 1,
        )
    return LlvmModule(source, outline_llvm_ir(text, source.name))
