"""What an entry looks like: facts in JSON, then blobs, behind a checksum.

    8 bytes   mark, with the version of this format
    32 bytes  SHA-256 of everything after it
    4 bytes   length of the header
    header    JSON: {"key": ..., "blobs": [lengths], "facts": {...}}
    blobs

Nothing in an entry is executed, and no length in it is believed before it was compared with that of the whole.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MARK = b"parcubn\x01"
_START = struct.Struct("<8s32sI")
_MAX_BLOBS = 1 << 16


class DamagedEntryError(ValueError):
    """An entry is not what was written."""


@dataclass(frozen=True)
class Entry:
    """A result as data.

    Attributes:
        facts: what JSON has.
        blobs: what it has not.
    """

    facts: Mapping[str, Any]
    blobs: tuple[bytes, ...] = field(default=(), repr=False)

    def encoded(self, key: str) -> bytes:
        """The entry as bytes."""
        header = json.dumps(
            {"key": key, "blobs": [len(b) for b in self.blobs], "facts": self.facts}, separators=(",", ":")
        ).encode()
        body = b"".join([len(header).to_bytes(4, "little"), header, *self.blobs])
        return b"".join([_MARK, hashlib.sha256(body).digest(), body])

    @classmethod
    def decoded(cls, key: str, data: bytes) -> Entry:
        """Reads what `encoded` wrote.

        Raises:
            DamagedEntryError: it is not that, or it is another key's.
        """
        if len(data) < _START.size:
            raise DamagedEntryError("it is too short")
        mark, checksum, length = _START.unpack_from(data)
        if mark != _MARK:
            raise DamagedEntryError("it does not begin as an entry does")
        view = memoryview(data)
        if hashlib.sha256(view[40:]).digest() != checksum:
            raise DamagedEntryError("its checksum is wrong")
        if length > len(data) - _START.size:
            raise DamagedEntryError("its header is longer than the entry")
        position = _START.size + length
        try:
            header = json.loads(bytes(view[_START.size : position]))
            sizes, facts = header["blobs"], header["facts"]
            named = header["key"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise DamagedEntryError("its header cannot be read") from None
        if named != key:
            raise DamagedEntryError("it is another key's")
        if (
            not isinstance(facts, dict)
            or not isinstance(sizes, list)
            or len(sizes) > _MAX_BLOBS
            or any(type(size) is not int or size < 0 for size in sizes)
            or sum(sizes) != len(data) - position
        ):
            raise DamagedEntryError("its parts do not add up")
        blobs = []
        for size in sizes:
            blobs.append(bytes(view[position : position + size]))
            position += size
        return cls(facts, tuple(blobs))
