"""The PTX that machine code of linked CUBINs is traced back to.

With line tables ptxas keeps the text of the PTX (`.nv_debug_ptx_txt`, every line ends with a zero byte) and a line
program from machine code to lines of that text (`.nv_debug_line_sass`, DWARF 2). Linkers join both. `-c` modules name
their text in the line program and keep it in a section of its own; `-ewp` modules do not, so all lines are looked up in
one joined text, although those of each module are counted from the start of its own (12.4 to 13.5).
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Sequence

from parcubin.inspect.cubin import section_places, with_section

_TEXT = ".nv_debug_ptx_txt"
_LINES = ".nv_debug_line_sass"
_RELOCATIONS = {".rel" + _LINES: 16, ".rela" + _LINES: 24}  # bytes an entry; which one depends on the target

_WORD = struct.Struct("<I")
_PLACE = struct.Struct("<Q")  # what a relocation starts with
_ADDRESS_SIZE = 8
_ADVANCE_LINE = b"\x03"  # DW_LNS_advance_line


def with_own_ptx_lines(linked: bytes, modules: Sequence[bytes]) -> bytes | None:
    """A linked CUBIN whose machine code is traced back to the PTX of its own module.

    Args:
        linked: the CUBIN.
        modules: what it was linked from, in the order of the link.

    Returns:
        The CUBIN; as it is when nothing has to change. None when its text and lines are not those of the modules, in
        their order.

    Raises:
        InputError: something is not a CUBIN.
    """
    if sum(f"{_TEXT}\0".encode() in module for module in modules) < 2:
        return linked
    places = section_places(linked)
    forms = _RELOCATIONS.keys() & places.keys()
    if len(forms) != 1 or not places.keys() >= {_TEXT, _LINES}:
        return None
    sections = [(module, section_places(module)) for module in modules]
    texts, tables = ([m[s.get(name, slice(0))] for m, s in sections] for name in (_TEXT, _LINES))
    if b"".join(texts) != linked[places[_TEXT]] or b"".join(tables) != linked[places[_LINES]]:
        return None
    (form,) = forms
    try:
        table, relocations = _moved(
            linked[places[_LINES]], _offsets(texts, tables), linked[places[form]], _RELOCATIONS[form]
        )
    except (KeyError, struct.error):  # a line program of another form
        return None
    return with_section(with_section(linked, form, relocations), _LINES, table)


def without_ptx_lines(linked: bytes) -> bytes:
    """The CUBIN without what traces its machine code back to PTX.

    Raises:
        InputError: it is not a CUBIN.
    """
    for name in {_TEXT, _LINES, *_RELOCATIONS} & section_places(linked).keys():
        linked = with_section(linked, name, b"")
    return linked


def _offsets(texts: Sequence[bytes], tables: Sequence[bytes]) -> list[int]:
    """For each unit, how many lines are in front of its module's text in the joined one."""
    offsets: list[int] = []
    lines = 0
    for text, table in zip(texts, tables, strict=True):
        offsets += [lines if text else 0] * len(_units(table))
        lines += text.count(b"\0")
    return offsets


def _moved(table: bytes, offsets: Sequence[int], relocations: bytes, entry_size: int) -> tuple[bytes, bytes]:
    """A line program with all lines of a unit moved by the unit's offset, and its relocations.

    A sequence of rows sets its address first, which is where it has a relocation, and starts at line 1.
    """
    entries = range(0, len(relocations), entry_size)
    addresses = sorted(_PLACE.unpack_from(relocations, entry)[0] for entry in entries)
    moved = bytearray()
    new_places: dict[int, int] = {}
    for (start, end), offset in zip(_units(table), offsets, strict=True):
        new_start, position = len(moved), start
        for address in addresses[bisect_left(addresses, start) : bisect_left(addresses, end)]:
            new_places[address] = len(moved) + address - position
            moved += table[position : address + _ADDRESS_SIZE]
            if offset:
                moved += _ADVANCE_LINE + _signed_leb128(offset)
            position = address + _ADDRESS_SIZE
        moved += table[position:end]
        _WORD.pack_into(moved, new_start, len(moved) - new_start - _WORD.size)
    changed = bytearray(relocations)
    for entry in entries:
        _PLACE.pack_into(changed, entry, new_places[_PLACE.unpack_from(relocations, entry)[0]])
    return bytes(moved), bytes(changed)


def _units(table: bytes) -> list[tuple[int, int]]:
    """Where the units of a line table start and end."""
    units: list[tuple[int, int]] = []
    start = 0
    while start < len(table):
        end = start + _WORD.size + _WORD.unpack_from(table, start)[0]
        units.append((start, end))
        start = end
    return units


def _signed_leb128(number: int) -> bytes:
    """A number that is not negative."""
    encoded = bytearray()
    while number >= 0x40:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
