"""Checks around a link that the linkers do not make reliably themselves.

nvJitLink reports success when a symbol is defined twice or with two sizes, and both nvJitLink and nvlink drop, without
a word, inputs that are not relocatable (our measurements with 12.4 to 13.5). So the inputs are checked before a link,
and the output after it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from parcubin.errors import DuplicateSymbolError, InputError, LinkCheckError, UnresolvedSymbolError
from parcubin.model import DeferredModule, LinkInput, Ptx, RelocatableModule
from parcubin.toolchain.elf import SHT_SYMTAB, c_string, elf_type, sections

ET_REL = 1
ET_EXEC = 2
ET_EXTENSIBLE_WHOLE_PROGRAM = 0xFF00  # our measurement: what `ptxas -ewp` writes

_SHN_COMMON = 0xFFF2
_STB_GLOBAL, _STB_WEAK = 1, 2
_STO_CUDA_ENTRY = 0x10


DRIVER_FUNCTIONS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""Functions that the driver defines when it loads a CUBIN."""


@dataclass(frozen=True)
class Symbols:
    """The names that an input shares with others.

    Attributes:
        kernels: entry points that it defines, strongly or weakly.
        strong: symbols that it defines strongly, kernels included.
        defined: symbols that it defines in any way.
        undefined: symbols that it refers to and leaves to others.
    """

    kernels: frozenset[str]
    strong: frozenset[str]
    defined: frozenset[str]
    undefined: frozenset[str]


def cubin_symbols(cubin: bytes, name: str) -> Symbols:
    """The shared symbols of a CUBIN.

    Raises:
        InputError: the CUBIN is not an ELF file, or is cut off.
    """
    try:
        return _read_symbols(cubin)
    except (struct.error, IndexError, ValueError) as error:
        raise InputError(f"{name} is not a CUBIN, or is damaged.", input_name=name) from error


def _read_symbols(cubin: bytes) -> Symbols:
    table = sections(cubin)
    kernels, strong, defined, undefined = set(), set(), set(), set()
    for section in table:
        if section.kind != SHT_SYMTAB or not section.entry_size:
            continue
        strings = cubin[table[section.link].offset :][: table[section.link].size]
        for at in range(section.offset + section.entry_size, section.offset + section.size, section.entry_size):
            name_at, info, other, index = struct.unpack_from("<IBBH", cubin, at)
            binding = info >> 4
            if binding not in (_STB_GLOBAL, _STB_WEAK):
                continue
            symbol = c_string(strings, name_at)
            if index == 0:
                undefined.add(symbol)
                continue
            defined.add(symbol)
            if other & _STO_CUDA_ENTRY:
                kernels.add(symbol)
            if binding == _STB_GLOBAL and index != _SHN_COMMON:
                strong.add(symbol)
    return Symbols(frozenset(kernels), frozenset(strong), frozenset(defined), frozenset(undefined))


_PTX_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PTX_FUNCTION = re.compile(
    r"(?P<linkage>\.visible|\.weak|\.extern)?\s*\.(?P<kind>entry|func)\s+(?:\.noreturn\s+)?"
    r"(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$%][\w$]*)"
)
_PTX_VARIABLE = re.compile(
    r"^\s*(?P<linkage>\.visible|\.weak|\.common|\.extern)\s+\.(?:global|const)\b[^;={\[]*?"
    r"(?P<name>[A-Za-z_$%][\w$]*)\s*(?:\[[^;={]*)?(?=[;={])",
    re.MULTILINE,
)


def ptx_symbols(ptx: str) -> Symbols:
    """The shared symbols of a PTX text, by its declarations; undefined are those declared `.extern` and not defined."""
    text = _PTX_COMMENT.sub("", ptx)
    kernels, strong, defined, external = set(), set(), set(), set()
    for match in [*_PTX_FUNCTION.finditer(text), *_PTX_VARIABLE.finditer(text)]:
        name, linkage = match["name"], match["linkage"]
        if linkage == ".extern":
            external.add(name)
            continue
        kind = match.groupdict().get("kind")
        if linkage is None and kind != "entry":
            continue
        defined.add(name)
        if kind == "entry":
            kernels.add(name)
        if linkage == ".visible":
            strong.add(name)
    return Symbols(frozenset(kernels), frozenset(strong), frozenset(defined), frozenset(external - defined))


def input_name(link_input: LinkInput) -> str:
    """What messages call a link input."""
    return link_input.ptx.name if isinstance(link_input, DeferredModule) else link_input.name


def check_inputs(inputs: Sequence[LinkInput]) -> list[Symbols]:
    """The symbols of each input of a link.

    Raises:
        DuplicateSymbolError: two inputs define a symbol strongly.
        InputError: an input is not what it should be, or there is none.
    """
    if not inputs:
        raise InputError("There is nothing to link.")
    symbols = [_symbols(link_input) for link_input in inputs]
    first: dict[str, str] = {}
    duplicates = []
    for link_input, own in zip(inputs, symbols, strict=True):
        for name in sorted(own.strong):
            if name in first:
                duplicates.append((name, first[name], input_name(link_input)))
            else:
                first[name] = input_name(link_input)
    if duplicates:
        what = "; ".join(f"{name}, in {original} and in {other}" for name, original, other in duplicates)
        kernels = sorted({name for name, _, _ in duplicates} & set().union(*(s.kernels for s in symbols)))
        raise DuplicateSymbolError(f"Symbols are defined more than once: {what}.", kernels=kernels)
    return symbols


def _symbols(link_input: LinkInput) -> Symbols:
    if isinstance(link_input, Ptx):
        return ptx_symbols(link_input.text)
    if isinstance(link_input, DeferredModule):
        return ptx_symbols(link_input.ptx.text)
    symbols = cubin_symbols(link_input.cubin, link_input.name)
    if elf_type(link_input.cubin) not in (ET_REL, ET_EXTENSIBLE_WHOLE_PROGRAM):
        raise InputError(
            f"{link_input.name} is not a relocatable module: it was already linked and cannot be linked again.",
            input_name=link_input.name,
        )
    return symbols


def unresolved(inputs: Sequence[LinkInput], log: str) -> UnresolvedSymbolError | None:
    """The error for symbols that no input defines, for linkers whose log does not name them."""
    symbols = [_symbols(link_input) for link_input in inputs]
    known = DRIVER_FUNCTIONS.union(*(s.defined for s in symbols))
    missing: dict[str, str] = {}
    for link_input, own in zip(inputs, symbols, strict=True):
        for name in sorted(n for n in own.undefined - known if not n.startswith(".")):
            missing.setdefault(name, input_name(link_input))
    if not missing:
        return None
    what = ", ".join(f"{name} (used in {where})" for name, where in missing.items())
    return UnresolvedSymbolError(f"Symbols are used that nothing defines: {what}.", symbols=list(missing), log=log)


def check_output(cubin: bytes, inputs: Sequence[Symbols], *, relocatable: bool, tool: str, log: str) -> None:
    """Checks that a link's output is of the right type and holds every kernel that went in.

    Raises:
        LinkCheckError: it does not.
    """
    if elf_type(cubin) != (ET_REL if relocatable else ET_EXEC):
        wanted = "a relocatable module" if relocatable else "a loadable CUBIN"
        raise LinkCheckError(f"{tool} reported success but did not write {wanted}.", log=log)
    expected = set().union(*(s.kernels for s in inputs))
    if lost := sorted(expected - cubin_symbols(cubin, "the linked output").kernels):
        raise LinkCheckError(f"{tool} reported success but lost kernels: {', '.join(lost)}.", kernels=lost, log=log)


def as_relocatable_or_ptx(link_input: LinkInput) -> RelocatableModule | Ptx:
    """A link input with its deferral undone."""
    return link_input.ptx if isinstance(link_input, DeferredModule) else link_input
