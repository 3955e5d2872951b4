"""Just enough of ELF to read the section table of a CUBIN or a library quickly."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass

SHT_SYMTAB = 2


@dataclass(frozen=True)
class Section:
    """A section of an ELF file.

    Attributes:
        name: its name.
        kind: `sh_type`.
        offset: where its bytes begin in the file.
        size: how many there are.
        link: index of the section that it refers to (a symbol table's strings).
        entry_size: size of one entry, for tables.
    """

    name: str
    kind: int
    offset: int
    size: int
    link: int
    entry_size: int


def elf_type(data: bytes | mmap.mmap) -> int | None:
    """`e_type` of a 64-bit little-endian ELF file; None for anything else."""
    if len(data) < 64 or data[:6] != b"\x7fELF\x02\x01":
        return None
    return int.from_bytes(data[16:18], "little")


def sections(data: bytes | mmap.mmap) -> list[Section]:
    """The section table.

    Raises:
        ValueError: the file is not ELF, or is damaged.
    """
    if elf_type(data) is None:
        raise ValueError("not a 64-bit little-endian ELF file")
    try:
        (table,) = struct.unpack_from("<Q", data, 40)
        entry_size, count, names_index = struct.unpack_from("<HHH", data, 58)
        raw = [struct.unpack_from("<IIQQQQIIQQ", data, table + entry_size * i) for i in range(count)]
        names_at, names_size = raw[names_index][4:6] if count else (0, 0)
    except (struct.error, IndexError) as error:
        raise ValueError("the section table is damaged") from error
    names = data[names_at : names_at + names_size]
    found = []
    for name_at, kind, _, _, offset, size, link, _, _, item_size in raw:
        if kind != 8 and offset + size > len(data):  # SHT_NOBITS has no bytes in the file
            raise ValueError("a section lies outside the file")
        found.append(Section(c_string(names, name_at), kind, offset, size, link, item_size))
    return found


def c_string(data: bytes, at: int) -> str:
    """The null-terminated string at an offset. Raises `ValueError` when there is none."""
    return data[at : data.index(b"\0", at)].decode(errors="replace")
