"""Names of inlined functions in the line tables of linked CUBINs.

A unit of `.debug_line` names inlined functions by their place in `.debug_str`, counted from a start that stands at the
end of the unit's header. Linkers join the strings of all modules, and a relocation of `-c` modules moves the start; but
`ptxas -ewp` writes no such relocation (13.5), and every unit finds its names among the strings of the first module.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from parcubin.inspect.cubin import section_places

_WORD = struct.Struct("<I")
_UNIT_HEADER = struct.Struct("<IHI")  # length of what follows, version, length of what follows in the header


def with_own_strings(linked: bytes, modules: Sequence[bytes]) -> bytes:
    """A linked CUBIN whose line tables find the strings of their own modules.

    Args:
        linked: the CUBIN.
        modules: what it was linked from, in the order of the link.

    Returns:
        The CUBIN; as it is when nothing has to change, or when its tables are not those of the modules, in their order.

    Raises:
        InputError: something is not a CUBIN.
    """
    if sum(b".debug_str\0" in module for module in modules) < 2:
        return linked
    try:
        return _corrected(linked, modules) or linked
    except (IndexError, ValueError, struct.error):  # a line table of another form
        return linked


def _corrected(linked: bytes, modules: Sequence[bytes]) -> bytes | None:
    corrected = bytearray(linked)
    places = section_places(linked)
    if ".debug_line" not in places or ".debug_str" not in places:
        return None
    position, joined = places[".debug_line"].start, 0
    for module in modules:
        sections = section_places(module)
        lines, strings = (module[sections.get(name, slice(0))] for name in (".debug_line", ".debug_str"))
        for unit, tables, has_start in _units(lines):
            end_of_tables = position + len(tables)
            if linked[position:end_of_tables] != tables:
                return None
            if has_start:
                _WORD.pack_into(corrected, end_of_tables, joined)
            position += unit
        joined += len(strings)
    is_all = position == places[".debug_line"].stop and joined == len(linked[places[".debug_str"]])
    return bytes(corrected) if is_all else None


def _units(lines: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """The units of a line table: size, header up to the end of its tables, whether a start of strings follows."""
    position = 0
    while position < len(lines):
        length, _, header_length = _UNIT_HEADER.unpack_from(lines, position)
        end_of_header = position + _UNIT_HEADER.size + header_length
        end = _end_of_tables(lines, position + _UNIT_HEADER.size)
        yield length + _WORD.size, lines[position:end], end_of_header - end == _WORD.size
        position += length + _WORD.size


def _end_of_tables(lines: bytes, position: int) -> int:
    """The end of the tables of directories and files, whose headers are DWARF 2's."""
    position += 4
    position += lines[position]  # opcodes, and how many operands each has
    while lines[position]:
        position = lines.index(b"\0", position) + 1
    position += 1
    while lines[position]:
        position = lines.index(b"\0", position) + 1
        for _ in range(3):  # directory, time and size in LEB128
            while lines[position] >= 0x80:
                position += 1
            position += 1
    return position + 1
