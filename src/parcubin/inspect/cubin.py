"""What is in a CUBIN: kernels with their resource usage, variables, and the symbols that a linker sees.

A CUBIN is a 64-bit little-endian ELF file for machine 190. The reader is a few `struct` calls over the section and
symbol tables rather than pyelftools: for a CUBIN of 402 kernels it takes 5 ms instead of 110 ms, every size
is checked before it is used, and what is particular to CUDA would have to be decoded by hand in any case.

Where the encodings come from: machine, ABI versions and the position of the architecture in `e_flags` are in LLVM's
`llvm/BinaryFormat/ELF.h` (`EM_CUDA`, `ELFABIVERSION_CUDA_*`, `EF_CUDA_*`). NVIDIA documents none of the rest;
symbol types, `st_other` bits, section names and `.nv.info` attributes were found by comparing ELF files with `cuobjdump
-res-usage`, `ptxas -v` and `nvdisasm` of CUDA 11.8, 12.4, 12.9, 13.0 and 13.5, for sm_70 to sm_120.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple

from parcubin.errors import InputError
from parcubin.model import KernelInfo, VariableInfo

SymbolKind = Literal["function", "kernel", "global", "constant", "shared", "texture", "other"]
Binding = Literal["local", "global", "weak", "common"]

RESERVED_SHARED_BYTES = 1024
"""Shared memory a block that the system reserves from compute capability 9.0 on (CUDA C++ Programming Guide, appendix
on compute capabilities). A finished CUBIN counts it in each kernel with shared memory, a relocatable one does not."""

_MACHINE_CUDA = 190
_ABI_VERSION_1 = 7  # and older: architecture in bits 0 to 7 of e_flags
_ABI_VERSION_2 = 8  # architecture in bits 8 to 15

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQ")
_RELOCATION_WITH_ADDEND = struct.Struct("<QQq")

_SHT_SYMTAB = 2
_SHT_RELA = 4
_SHT_NOBITS = 8
_SHT_REL = 9
_SHT_SYMTAB_SHNDX = 18
_SHN_UNDEF = 0
_SHN_LORESERVE = 0xFF00
_SHN_COMMON = 0xFFF2
_SHN_XINDEX = 0xFFFF

_STT_FUNC = 2
_STT_SECTION = 3
_STT_CUDA_OBJECT = 13
_STT_CUDA_TEXTURES = (10, 11, 12)  # texture, sampler and surface references
_STO_KERNEL = 0x10
_STO_SPACES: dict[int, SymbolKind] = {0x20: "global", 0x40: "shared", 0x80: "constant"}
_STO_SPACE_MASK = 0xE0

_EIATTR_FRAME_SIZE = 0x11
_EIATTR_MIN_STACK_SIZE = 0x12
_EIATTR_REGCOUNT = 0x2F
_EIATTR_NUM_BARRIERS = 0x4C
_EIFMT_SIZED = 4  # attributes of the formats 1, 2 and 3 take four bytes in all, the value included
_STACK_UNKNOWN = 0xFFFFFFFF  # recursion or indirect calls

_HELPER = "__cuda_"
_HOST_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class CubinKind(Enum):
    """What a CUBIN is, by its ELF type."""

    PLAIN = 1  # ET_REL: `ptxas -c`, `nvlink -r`, `nvJitLink -r`
    ASSEMBLY = 2  # ET_EXEC
    EXTENSIBLE_WHOLE_PROGRAM = 0xFF00  # ET_LOPROC: `ptxas -ewp`


@dataclass(frozen=True)
class Symbol:
    """A named function or variable of a CUBIN.

    Attributes:
        name: the symbol.
        kind: what it is: "kernel", "function", or the state space of a variable.
        binding: "common" is a tentative definition that merges with others of its name.
        size: bytes; 0 in a reference that does not say it.
        alignment: bytes, where the file says it: common variables and references to dynamic shared memory.
    """

    name: str
    kind: SymbolKind
    binding: Binding
    size: int
    alignment: int | None = None


@dataclass(frozen=True)
class CubinInfo:
    """What is in a CUBIN.

    Attributes:
        kind: assembly or relocatable.
        sm: compute capability as one number: 90 for sm_90 and sm_90a.
        kernels: resource usage by kernel. In a relocatable CUBIN, what is known before the link: too low where
            functions of other modules are called.
        variables: what the host can name: `.global` and `.const` variables with a C identifier for a name. Local ones
            are among them, because the driver finds them too.
        defined: symbols defined here, local ones included. Helpers of ptxas inside a kernel's code are not.
        undefined: symbols referred to.
        helper_calls: of a relocatable CUBIN: by kernel, the helper routines of ptxas that it calls (`__cuda_...`: warp
            intrinsics, division, trigonometry), where the linker has to see to the call.
        dynamic_alignments: of a relocatable CUBIN: by kernel, the alignment in bytes of the dynamic shared memory that
            its own code names.
    """

    kind: CubinKind
    sm: int
    kernels: dict[str, KernelInfo] = field(repr=False)
    variables: dict[str, VariableInfo] = field(repr=False)
    defined: tuple[Symbol, ...] = field(repr=False)
    undefined: tuple[Symbol, ...] = field(repr=False)
    helper_calls: dict[str, tuple[str, ...]] = field(repr=False, default_factory=dict)
    dynamic_alignments: dict[str, int] = field(repr=False, default_factory=dict)


def read_cubin(data: bytes, name: str = "input") -> CubinInfo:
    """Reads a CUBIN: an assembly or a relocatable module, from any CUDA toolkit from 11.8 to 13.

    Args:
        data: the ELF image.
        name: what messages call it.

    Raises:
        InputError: not a CUBIN, or a damaged one. Arbitrary bytes are safe.
    """
    try:
        return _read(_Elf(data))
    except _FormatError as error:
        raise InputError(f"{name} is not a readable CUBIN: {error}.", input_name=name) from None


def section_places(data: bytes, name: str = "input") -> dict[str, slice]:
    """Where the contents of each section of a CUBIN are.

    Args:
        data: the ELF image.
        name: what messages call it.

    Raises:
        InputError: it is not a CUBIN, or damaged.
    """
    try:
        elf = _Elf(data)
    except _FormatError as error:
        raise InputError(f"{name} is not a CUBIN: {error}.", input_name=name) from None
    places = (slice(section.offset, section.offset + section.size) for section in elf.sections)
    return dict(zip(elf.section_names, places, strict=True))


def with_section(cubin: bytes, name: str, contents: bytes) -> bytes:
    """The CUBIN with other contents of a section. They go to the end of the file where the old ones leave no room.

    Args:
        cubin: the ELF image.
        name: the section.
        contents: what it holds.

    Raises:
        InputError: it is not a CUBIN, or damaged.
    """
    try:
        elf = _Elf(cubin)
    except _FormatError as error:
        raise InputError(f"A CUBIN is damaged: {error}.") from None
    # Sections of local functions that are called alike have one name.
    number = max(number for number, other in enumerate(elf.section_names) if other == name)
    section, changed = elf.sections[number], bytearray(cubin)
    start = section.offset if len(contents) <= section.size else len(cubin)
    changed[start : start + len(contents)] = contents
    entry = _HEADER.unpack_from(cubin)[6] + _SECTION.size * number
    _SECTION.pack_into(changed, entry, *section._replace(offset=start, size=len(contents)))
    return bytes(changed)


class _FormatError(Exception):
    """Says what is wrong with the file."""


class _Section(NamedTuple):
    name_offset: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _RawSymbol(NamedTuple):
    name: str
    type: int
    binding: int
    other: int
    section: int  # index of the section, or a reserved index
    value: int
    size: int


class _Elf:
    """Sections and symbols of an ELF file of NVIDIA's, all sizes checked against the file."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != b"\x7fELF":
            raise _FormatError("it does not start as an ELF file" if data else "it is empty")
        if len(data) < _HEADER.size:
            raise _FormatError("it ends within the ELF header")
        self.type: int
        self.flags: int
        header = _HEADER.unpack_from(data)
        ident, self.type, machine, _, _, _, section_offset, self.flags = header[:8]
        section_size, count, names_index = header[11:]
        if ident[4:6] != b"\x02\x01" or machine != _MACHINE_CUDA:
            raise _FormatError("it is an ELF file, but not for NVIDIA GPUs")
        self.abi_version: int = ident[8]
        self.data = data
        # Names share storage (a name may be the tail of another), so a small file can ask for a lot of text.
        self._name_budget = 16 * len(data)
        if section_offset == 0:
            raise _FormatError("it has no sections")
        if section_size != _SECTION.size:
            raise _FormatError("its section table has entries of the wrong size")
        first = _Section(*_SECTION.unpack(self._slice(section_offset, _SECTION.size, "section table")))
        # ELF's extended numbering: more than 65,279 sections, that is about 20,000 kernels.
        count = count or first.size
        names_index = first.link if names_index == _SHN_XINDEX else names_index
        table = self._slice(section_offset, count * _SECTION.size, "section table")
        self.sections = [_Section(*entry) for entry in _SECTION.iter_unpack(table)]
        names = self._contents(self._section(names_index))
        self.section_names = [self._string(names, section.name_offset) for section in self.sections]

    def symbols(self) -> Iterator[_RawSymbol]:
        """All symbols but those that stand for sections, which keep their place as an entry without a name."""
        index = next((i for i, section in enumerate(self.sections) if section.type == _SHT_SYMTAB), None)
        if index is None:
            return
        table = self.sections[index]
        strings = self._contents(self._section(table.link))
        entries = self._contents(table)
        if len(entries) % _SYMBOL.size:
            raise _FormatError("its symbol table has a partial entry")
        extended = next((s for s in self.sections if s.type == _SHT_SYMTAB_SHNDX and s.link == index), None)
        indices = self._contents(extended) if extended else b""
        for number, (offset, info, other, section, value, size) in enumerate(_SYMBOL.iter_unpack(entries)):
            if section == _SHN_XINDEX:
                if 4 * number + 4 > len(indices):
                    raise _FormatError("a symbol's section index is missing")
                (section,) = struct.unpack_from("<I", indices, 4 * number)
            kind = info & 0xF
            name = "" if kind == _STT_SECTION else self._string(strings, offset)
            yield _RawSymbol(name, kind, info >> 4, other, section, value, size)

    def references(self) -> Iterator[tuple[int, int]]:
        """Which section refers to which symbol, by relocations: (section, symbol)."""
        forms = {_SHT_REL: _RELOCATION, _SHT_RELA: _RELOCATION_WITH_ADDEND}
        for section in self.sections:
            if entry := forms.get(section.type):
                entries = self._contents(section)
                if len(entries) % entry.size:
                    raise _FormatError("a relocation table has a partial entry")
                yield from ((section.info, fields[1] >> 32) for fields in entry.iter_unpack(entries))

    def attributes_of_symbols(self) -> Iterator[tuple[int, int, int]]:
        """What `.nv.info` says of symbols, which it names by their index: (attribute, symbol, value)."""
        if ".nv.info" in self.section_names:
            for attribute, value in self._attributes(self.sections[self.section_names.index(".nv.info")]):
                if isinstance(value, bytes) and len(value) == 8:
                    yield attribute, *struct.unpack("<II", value)

    def attributes_of_kernels(self) -> Iterator[tuple[int, int, int]]:
        """What each kernel's own `.nv.info` says in a single number: (attribute, code section, value)."""
        for section, name in zip(self.sections, self.section_names, strict=True):
            if name.startswith(".nv.info."):
                for attribute, value in self._attributes(section):
                    if isinstance(value, int):
                        yield attribute, section.info, value

    def _attributes(self, section: _Section) -> Iterator[tuple[int, int | bytes]]:
        data = self._contents(section)
        position = 0
        while position + 4 <= len(data):
            kind, attribute, value = struct.unpack_from("<BBH", data, position)
            position += 4
            if kind != _EIFMT_SIZED:
                yield attribute, value
                continue
            if position + value > len(data):
                raise _FormatError("a .nv.info section is damaged")
            yield attribute, data[position : position + value]
            position += value

    def _section(self, index: int) -> _Section:
        if index >= len(self.sections):
            raise _FormatError("it refers to a section that does not exist")
        return self.sections[index]

    def _contents(self, section: _Section) -> bytes:
        if section.type == _SHT_NOBITS:
            raise _FormatError("a table has no contents")
        return self._slice(section.offset, section.size, "a section")

    def _slice(self, offset: int, size: int, what: str) -> bytes:
        if offset + size > len(self.data):
            raise _FormatError(f"{what} reaches past the end of the file (is it truncated?)")
        return self.data[offset : offset + size]

    def _string(self, table: bytes, offset: int) -> str:
        end = table.find(b"\0", offset) if offset < len(table) else -1
        if end < 0:
            raise _FormatError("a name lies outside its string table")
        self._name_budget -= end - offset
        if self._name_budget < 0:
            raise _FormatError("its names are longer than the file can hold")
        try:
            name = table[offset:end].decode()
        except UnicodeDecodeError:
            name = "\0"
        if not name.isprintable():
            raise _FormatError("a name in it is not text")
        return name


def _read(elf: _Elf) -> CubinInfo:
    try:
        kind = CubinKind(elf.type)
    except ValueError:
        raise _FormatError(f"its ELF type {elf.type:#x} is unknown") from None
    sm = _architecture(elf)
    symbols = list(elf.symbols())
    kernels = _kernels(elf, kind, sm, symbols)
    kernel_sections = {symbol.section: symbol.name for symbol in symbols if _is_kernel(symbol)}
    defined: list[Symbol] = []
    undefined: list[Symbol] = []
    for raw in symbols:
        helper = raw.section in kernel_sections and raw.name.startswith(f"${kernel_sections[raw.section]}$")
        if not raw.name or helper:
            continue
        symbol = Symbol(raw.name, _symbol_kind(elf, raw), _binding(raw), raw.size, _alignment(raw))
        (undefined if raw.section == _SHN_UNDEF else defined).append(symbol)
    variables: dict[str, VariableInfo] = {}
    for symbol in sorted(defined, key=lambda symbol: symbol.binding == "local"):  # the driver finds visible ones first
        if symbol.kind in ("global", "constant") and _HOST_NAME.fullmatch(symbol.name):
            space: Literal["global", "constant"] = "global" if symbol.kind == "global" else "constant"
            variables.setdefault(symbol.name, VariableInfo(symbol.name, space, symbol.size))
    return CubinInfo(
        kind=kind,
        sm=sm,
        kernels=kernels,
        variables=variables,
        defined=tuple(defined),
        undefined=tuple(undefined),
        helper_calls=_helper_calls(elf, symbols),
        dynamic_alignments=_dynamic_alignments(elf, symbols),
    )


def _architecture(elf: _Elf) -> int:
    if elf.abi_version <= _ABI_VERSION_1:
        return elf.flags & 0xFF
    if elf.abi_version == _ABI_VERSION_2:
        return elf.flags >> 8 & 0xFF
    raise _FormatError(f"its ABI version {elf.abi_version} is newer than the newest known, {_ABI_VERSION_2}")


def _is_kernel(symbol: _RawSymbol) -> bool:
    return symbol.type == _STT_FUNC and bool(symbol.other & _STO_KERNEL) and symbol.section != _SHN_UNDEF


def _kernels(elf: _Elf, kind: CubinKind, sm: int, symbols: list[_RawSymbol]) -> dict[str, KernelInfo]:
    registers: dict[int, int] = {}
    frame: dict[int, int] = {}
    cumulative_stack: dict[int, int] = {}
    by_attribute = {
        _EIATTR_REGCOUNT: registers,
        _EIATTR_FRAME_SIZE: frame,
        _EIATTR_MIN_STACK_SIZE: cumulative_stack,
    }
    for attribute, index, value in elf.attributes_of_symbols():
        if attribute in by_attribute:
            by_attribute[attribute][index] = value

    barriers = {
        section: value for attribute, section, value in elf.attributes_of_kernels() if attribute == _EIATTR_NUM_BARRIERS
    }

    # A kernel's shared memory is the section whose sh_info is the kernel's code section.
    shared = {
        section.info: section.size
        for section, name in zip(elf.sections, elf.section_names, strict=True)
        if name.startswith(".nv.shared.")
    }
    reserved = RESERVED_SHARED_BYTES if kind is CubinKind.ASSEMBLY and sm >= 90 else 0

    kernels: dict[str, KernelInfo] = {}
    for index, symbol in enumerate(symbols):
        if not _is_kernel(symbol) or symbol.name in kernels:
            continue
        if symbol.section >= len(elf.sections):
            raise _FormatError("a kernel lies in a section that does not exist")
        code = elf.sections[symbol.section]
        # The section header holds the count too, but before sm_90 only.
        register_count = registers.get(index, code.info >> 24 or None)
        stack = cumulative_stack.get(index, frame.get(index))
        kernels[symbol.name] = KernelInfo(
            name=symbol.name,
            registers=register_count,
            shared_bytes=max(0, shared.get(symbol.section, 0) - reserved),
            stack_bytes=None if stack == _STACK_UNKNOWN else stack,
            spill_bytes=None,
            code_bytes=code.size,
            barriers=code.flags >> 20 & 0x7F if elf.abi_version <= _ABI_VERSION_1 else barriers.get(symbol.section, 0),
        )
    return kernels


def _helper_calls(elf: _Elf, symbols: list[_RawSymbol]) -> dict[str, tuple[str, ...]]:
    helpers = {i: s.name for i, s in enumerate(symbols) if s.type == _STT_FUNC and s.name.startswith(_HELPER)}
    kernels = {symbol.section: symbol.name for symbol in symbols if _is_kernel(symbol)}
    found: dict[str, set[str]] = {}
    for kernel, symbol in elf.references() if helpers else ():
        if symbol in helpers and kernel in kernels:
            found.setdefault(kernels[kernel], set()).add(helpers[symbol])
    return {kernel: tuple(sorted(found[kernel])) for kernel in sorted(found)}


def _dynamic_alignments(elf: _Elf, symbols: list[_RawSymbol]) -> dict[str, int]:
    dynamic = {i: s.value for i, s in enumerate(symbols) if _is_dynamic_shared(s)}
    kernels = {symbol.section: symbol.name for symbol in symbols if _is_kernel(symbol)}
    found: dict[str, int] = {}
    for kernel, symbol in elf.references() if dynamic else ():
        if symbol in dynamic and kernel in kernels:
            name = kernels[kernel]
            found[name] = max(found.get(name, 0), dynamic[symbol])
    return found


def _symbol_kind(elf: _Elf, symbol: _RawSymbol) -> SymbolKind:
    if symbol.type == _STT_FUNC:
        return "kernel" if symbol.other & _STO_KERNEL else "function"
    if symbol.type in _STT_CUDA_TEXTURES:
        return "texture"
    section = _section_name(elf, symbol)
    if symbol.type == _STT_CUDA_OBJECT and symbol.other & _STO_SPACE_MASK in _STO_SPACES:
        # Parameters and literals are marked as constants but lie in banks of their kernel's own.
        in_kernel_bank = section.startswith(".nv.constant") and section != ".nv.constant3"
        return "other" if in_kernel_bank else _STO_SPACES[symbol.other & _STO_SPACE_MASK]
    # Linked files have plain objects: only the section tells them apart.
    if section in (".nv.global", ".nv.global.init"):
        return "global"
    if section == ".nv.constant3":
        return "constant"
    return "other"


def _section_name(elf: _Elf, symbol: _RawSymbol) -> str:
    return elf.section_names[symbol.section] if 0 < symbol.section < len(elf.section_names) else ""


def _binding(symbol: _RawSymbol) -> Binding:
    if symbol.section == _SHN_COMMON:
        return "common"
    if symbol.binding == 0:
        return "local"
    return "weak" if symbol.binding == 2 else "global"


def _alignment(symbol: _RawSymbol) -> int | None:
    return symbol.value if symbol.section == _SHN_COMMON or _is_dynamic_shared(symbol) else None


def _is_dynamic_shared(symbol: _RawSymbol) -> bool:
    return symbol.section == _SHN_UNDEF and symbol.other & _STO_SPACE_MASK == 0x40
