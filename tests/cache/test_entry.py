"""Entries: what comes back is what was written, or nothing."""

from __future__ import annotations

import hashlib
import json
import random

import pytest

from parcubin.cache.entry import DamagedEntryError, Entry

KEY = "ab" * 32
ENTRY = Entry({"name": "k\udcff\n", "numbers": [1, None, True]}, (b"", b"\x7fELF" + bytes(range(256)), b"text"))


def test_an_entry_comes_back() -> None:
    assert Entry.decoded(KEY, ENTRY.encoded(KEY)) == ENTRY


def test_every_truncation_is_seen() -> None:
    data = ENTRY.encoded(KEY)
    for length in range(len(data)):
        with pytest.raises(DamagedEntryError):
            Entry.decoded(KEY, data[:length])


def test_every_flipped_bit_is_seen() -> None:
    data = ENTRY.encoded(KEY)
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DamagedEntryError):
            Entry.decoded(KEY, bytes(changed))


def test_what_is_appended_is_seen() -> None:
    with pytest.raises(DamagedEntryError):
        Entry.decoded(KEY, ENTRY.encoded(KEY) + b"\0")


def test_an_entry_of_another_key_is_not_taken() -> None:
    with pytest.raises(DamagedEntryError, match="another key"):
        Entry.decoded("cd" * 32, ENTRY.encoded(KEY))


def forged(header: object, blobs: bytes = b"", length: int | None = None) -> bytes:
    """An entry with a right checksum and whatever else."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = (len(text) if length is None else length).to_bytes(4, "little") + text + blobs
    return ENTRY.encoded(KEY)[:8] + hashlib.sha256(body).digest() + body


@pytest.mark.parametrize(
    "data",
    [
        forged({"key": KEY, "facts": {}, "blobs": [1 << 62]}),
        forged({"key": KEY, "facts": {}, "blobs": [-1, 1]}),
        forged({"key": KEY, "facts": {}, "blobs": [True]}, b"x"),
        forged({"key": KEY, "facts": {}, "blobs": [0] * 100_000}),
        forged({"key": KEY, "facts": {}, "blobs": "x"}),
        forged({"key": KEY, "facts": [], "blobs": []}),
        forged({"key": KEY, "blobs": []}),
        forged([]),
        forged(b"{"),
        forged(b"\xff"),
        forged(b"[" * 100_000),
        forged({}, length=0xFFFFFFFF),
    ],
)
def test_forged_sizes_and_headers_are_refused(data: bytes) -> None:
    with pytest.raises(DamagedEntryError):
        Entry.decoded(KEY, data)


def test_random_bytes_are_refused() -> None:
    source = random.Random(1)
    for _ in range(1000):
        with pytest.raises(DamagedEntryError):
            Entry.decoded(KEY, ENTRY.encoded(KEY)[:8] + source.randbytes(source.randrange(200)))
