"""Sources to modules: LLVM IR and PTX, taken apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from parcubin.errors import InputError, ParcubinError
from parcubin.lower.interface import Llvm
from parcubin.lower.libdevice import mentioned_in, needed_by
from parcubin.model import CompilationOptions
from parcubin.sources import Source, SourceKind
from parcubin.split.llvm_ir import LlvmOutline, NotInPrintedFormError, outline_llvm_ir
from parcubin.split.outline import Binding, Sharing, SymbolKind
from parcubin.split.ptx import PtxOutline, outline_ptx
from parcubin.workers.failures import as_compiler_error
from parcubin.workers.jobs import PrintModule, ReadLibdevice
from parcubin.workers.pool import JobFuture, JobGroup

_TRIPLE = re.compile(r'^target triple = "([^"]*)"', re.M)


@dataclass(frozen=True, eq=False)
class Module:
    """An input, taken apart."""

    source: Source
    outline: LlvmOutline | PtxOutline = field(repr=False)

    def whole(self, reason: str) -> Module:
        """The module, to be compiled whole."""
        return replace(self, outline=replace(self.outline, whole_reason=reason))


@dataclass(frozen=True)
class Modules:
    """The modules of a program.

    Attributes:
        all: in an order that does not depend on that of the inputs.
        failures: an error for each source that cannot be read.
        libdevice: what they call of it; None when they call nothing, or there is none.
    """

    all: tuple[Module, ...]
    failures: tuple[ParcubinError, ...]
    libdevice: LlvmOutline | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which modules are compiled whole, and why."""
        return tuple(
            f"{m.source.name} is compiled whole: {m.outline.whole_reason}."
            for m in self.all
            if m.outline.whole_reason is not None
        )

    def ignored(self, options: CompilationOptions) -> tuple[str, ...]:
        """Which options say nothing to inputs that are PTX already."""
        given = [
            name
            for name, is_given in (
                ("flush to zero", options.flush_to_zero),
                ("the inlining threshold", options.inlining_threshold is not None),
                ("LLVM's optimisation level", options.llvm_opt_level is not None),
            )
            if is_given
        ]
        names = [m.source.name for m in self.all if isinstance(m.outline, PtxOutline)]
        if not given or not names:
            return ()
        what = " and ".join(given)
        return (f"{what[0].upper()}{what[1:]} concern LLVM IR; {', '.join(names)} is PTX and keeps what it has.",)


def read_modules(
    sources: Sequence[Source], pool: JobGroup, llvm: Llvm, libdevice: Path | None, *, debug_info: bool
) -> Modules:
    """Takes all sources apart. LLVM IR that is not in printed form is parsed and printed by the workers.

    Args:
        sources: the inputs.
        pool: the workers.
        llvm: what parses and prints there.
        libdevice: `libdevice.10.bc`; None when it was not found.
        debug_info: whether the modules will be compiled with full debug info.
    """
    mentioned = frozenset[str]().union(*(mentioned_in(s.data) for s in sources if s.kind is SourceKind.LLVM_TEXT))
    functions = pool.submit(ReadLibdevice(libdevice, mentioned, llvm)) if libdevice and mentioned else None
    outlines: dict[int, LlvmOutline | PtxOutline] = {}
    printed: dict[int, JobFuture[str]] = {}
    failures: list[ParcubinError] = []
    for number, source in enumerate(sources):
        try:
            if source.kind is SourceKind.PTX:
                source.check_encoding()
                outlines[number] = outline_ptx(source.data, source.name, debug_info=debug_info)
            elif source.kind is SourceKind.LLVM_BITCODE:
                printed[number] = pool.submit(PrintModule(source.data, source.name, llvm), size=len(source.data))
            else:
                try:
                    outlines[number] = _outline_llvm_ir(source, source.text())
                except NotInPrintedFormError:
                    printed[number] = pool.submit(PrintModule(source.data, source.name, llvm), size=len(source.data))
        except ParcubinError as error:
            failures.append(error)
    for number, future in printed.items():
        try:
            outlines[number] = _outline_llvm_ir(sources[number], future.result())
        except NotInPrintedFormError as error:
            failures.append(
                InputError(f"{sources[number].name} has a form of LLVM IR that is not understood: {error}.")
            )
        except ParcubinError as error:
            failures.append(as_compiler_error(error, sources[number].name))
    # In an order that does not depend on the order of the inputs, because it reaches the output.
    modules = sorted((Module(sources[n], outline) for n, outline in outlines.items()), key=_first_definition)
    needed = frozenset[str]().union(*(needed_by(m.outline) for m in modules if isinstance(m.outline, LlvmOutline)))
    if libdevice and needed - mentioned:  # by bitcode, whose text was not known
        functions = pool.submit(ReadLibdevice(libdevice, needed, llvm))
    return Modules(
        tuple(_with_unique_host_variables(modules)),
        tuple(failures),
        outline_llvm_ir(functions.result(), "libdevice") if functions and needed else None,
    )


def _first_definition(module: Module) -> tuple[str, bytes]:
    symbols = module.outline.symbols.values()
    names = (module.outline.plain_name(s.name) for s in symbols if s.defined and s.binding is not Binding.LOCAL)
    return min(names, default=""), module.source.data


def _with_unique_host_variables(modules: Sequence[Module]) -> list[Module]:
    """What the host names is one thing. Local variables of PTX whose name other modules use, too, are no host
    variables, since the host could not tell them apart; and other local variables that are called as a host variable of
    another module get another name, since the driver finds local ones, too."""
    count = Counter(
        m.outline.plain_name(s.name)
        for m in modules
        for s in m.outline.symbols.values()
        if s.defined and s.sharing is Sharing.ONCE
    )
    ambiguous = {name for name, times in count.items() if times > 1}
    return [replace(m, outline=_without_ambiguous_names(m.outline, ambiguous, count.keys())) for m in modules]


def _without_ambiguous_names(
    outline: LlvmOutline | PtxOutline, ambiguous: Set[str], named_by_host: Set[str]
) -> LlvmOutline | PtxOutline:
    if isinstance(outline, PtxOutline):
        return outline.hidden(ambiguous) if ambiguous else outline
    others = {
        symbol.name
        for symbol in outline.symbols.values()
        if symbol.kind is SymbolKind.VARIABLE
        and symbol.binding is Binding.LOCAL
        and symbol.sharing is not Sharing.ONCE
        and outline.plain_name(symbol.name) in named_by_host
    }
    return outline.with_other_names(others) if others else outline


def unparsable(modules: Iterable[Module], pool: JobGroup, llvm: Llvm) -> dict[Module, InputError]:
    """Those modules of LLVM IR that LLVM cannot parse, with the error, which names the line of the source."""
    checks = {
        module: pool.submit(PrintModule(module.source.data, module.source.name, llvm), size=len(module.source.data))
        for module in modules
        if isinstance(module.outline, LlvmOutline)
    }
    return {module: error for module, check in checks.items() if isinstance(error := check.exception(), InputError)}


def check_not_empty(modules: Modules) -> None:
    """Checks that there is something to compile.

    Raises:
        InputError: the inputs define no kernel, no function and no variable.
    """
    if any(symbol.defined for module in modules.all for symbol in module.outline.symbols.values()):
        return
    names = ", ".join(m.source.name for m in modules.all)
    what = "".join(f" {m.source.name}: {m.outline.whole_reason}." for m in modules.all if m.outline.whole_reason)
    raise InputError(f"{names} defines nothing: no kernel, no function, no variable.{what}")


def _outline_llvm_ir(source: Source, text: str) -> LlvmOutline:
    triple = _TRIPLE.search(text)
    if triple and not triple[1].startswith(("nvptx64", "unknown-unknown")) and triple[1]:
        raise InputError(
            f"{source.name} is for another machine: its target triple is '{triple[1]}', and parcubin compiles for "
            "nvptx64. Compile the source for nvptx64-nvidia-cuda.",
            input_name=source.name,
            line=text.count("\n", 0, triple.start()) + 1,
        )
    return outline_llvm_ir(text, source.name)
