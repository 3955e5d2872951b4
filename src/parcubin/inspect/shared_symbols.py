"""Changes to what a relocatable CUBIN says of shared memory, where tools of older releases write or read it wrongly."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping

from parcubin.errors import InputError
from parcubin.inspect.cubin import section_places

_SYMBOL = struct.Struct("<IBBHQQ")  # name, type and binding, space, section, value, size
_SECTION = struct.Struct("<IIQQQQIIQQ")
_PLACE = struct.Struct("<QQ")
_SECTION_TABLE = struct.Struct("<Q")
_PLACE_IN_SECTION, _SECTION_TABLE_IN_HEADER = 24, 40

_CUDA_OBJECT, _SHARED, _SPACES = 13, 0x40, 0xE0
_LOCAL, _WEAK = 0, 2


def with_alignments(cubin: bytes, alignments: Mapping[str, int]) -> bytes:
    """The CUBIN with these alignments, in bytes, for dynamic shared memory, by name.

    Raises:
        InputError: it is not a CUBIN, or damaged.
    """
    changed = bytearray(cubin)
    for place, (offset, info, space, section, value, size), name in _shared_symbols(cubin):
        if not section and value < alignments.get(name, 0):
            _SYMBOL.pack_into(changed, place, offset, info, space, section, alignments[name], size)
    return bytes(changed)


def with_weak_static_memory(cubin: bytes) -> bytes:
    """The CUBIN with all static shared memory weak, what was local under names of its own.

    Raises:
        InputError: it is not a CUBIN, or damaged.
    """
    suffix = f"__{hashlib.sha256(cubin).hexdigest()[:12]}".encode()
    changed = bytearray(cubin)
    names = bytearray(_tables(cubin)[1])
    found = False
    for place, (offset, info, space, section, value, size), name in _shared_symbols(cubin):
        if not section:
            continue
        found = True
        if info >> 4 == _LOCAL:
            offset = len(names)
            names += name.encode() + suffix + b"\0"
        _SYMBOL.pack_into(changed, place, offset, _WEAK << 4 | _CUDA_OBJECT, space, section, value, size)
    return _with_names(changed, bytes(names)) if found else cubin


def has_static_memory(cubin: bytes) -> bool:
    """Whether a kernel or function of a relocatable CUBIN has shared memory of fixed size."""
    return any(
        name.startswith(".nv.shared.") and name != ".nv.shared.reserved.0" and place.stop > place.start
        for name, place in section_places(cubin).items()
    )


def _tables(cubin: bytes) -> tuple[int, bytes]:
    """Where the table of symbols starts, and the table of their names.

    Raises:
        InputError: there are none.
    """
    places = section_places(cubin)
    if ".strtab" not in places or ".symtab" not in places:
        raise InputError("A relocatable CUBIN is damaged: it has no symbols.")
    return places[".symtab"].start, cubin[places[".strtab"]]


def _shared_symbols(cubin: bytes) -> Iterator[tuple[int, tuple[int, int, int, int, int, int], str]]:
    """Variables in shared memory: where the symbol is, its fields, its name."""
    start, names = _tables(cubin)
    table = cubin[section_places(cubin)[".symtab"]]
    for number, symbol in enumerate(_SYMBOL.iter_unpack(table[: len(table) // _SYMBOL.size * _SYMBOL.size])):
        if symbol[1] & 0xF == _CUDA_OBJECT and symbol[2] & _SPACES == _SHARED:
            end = names.find(b"\0", symbol[0])
            if end < 0:
                raise InputError("A relocatable CUBIN is damaged: the name of a symbol lies outside of its table.")
            yield start + _SYMBOL.size * number, symbol, names[symbol[0] : end].decode(errors="replace")


def _with_names(cubin: bytearray, names: bytes) -> bytes:
    """The CUBIN with another table of symbol names, which goes to its end."""
    number = list(section_places(bytes(cubin))).index(".strtab")
    (table,) = _SECTION_TABLE.unpack_from(cubin, _SECTION_TABLE_IN_HEADER)
    _PLACE.pack_into(cubin, table + _SECTION.size * number + _PLACE_IN_SECTION, len(cubin), len(names))
    return bytes(cubin) + names
