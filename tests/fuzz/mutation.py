"""Mutations of inputs: what a fuzzer without coverage does, and what a guided one adds to its own."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

BLOWN_UP = 1 << 20
"""Bytes of an input that is blown up."""


def mutated(rng: Random, data: bytes, others: Sequence[bytes], tokens: Sequence[bytes], limit: int = 65536) -> bytes:
    """The input with one to eight changes; the shorter, the more likely.

    Args:
        rng: what decides.
        data: the input.
        others: inputs to take parts of.
        tokens: words of the format.
        limit: bytes that the result has at most.
    """
    changed = bytearray(data)
    for _ in range(1 + min(7, int(rng.expovariate(0.6)))):
        _change(rng, changed, others, tokens)
    return bytes(changed[:limit])


def blown_up(rng: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    """A piece of the input, or a token, repeated up to a megabyte, between what stood before and behind it."""
    start, end = _place(rng, data)
    piece = rng.choice(tokens) if tokens and rng.random() < 0.5 else data[start:end] or b"a"
    if rng.random() < 0.3:
        piece += rng.choice(tokens) if tokens else b"\n"
    times = max(1, (BLOWN_UP - len(data)) // len(piece))
    return data[:start] + piece * times + (data[end:] if rng.random() < 0.5 else b"")


def _place(rng: Random, data: Sequence[int]) -> tuple[int, int]:
    if not data:
        return 0, 0
    start = rng.randrange(len(data))
    return start, min(len(data), start + 1 + int(rng.expovariate(1 / 12)))


def _line(rng: Random, data: bytes | bytearray) -> tuple[int, int]:
    start = data.rfind(b"\n", 0, rng.randrange(len(data) + 1)) + 1
    end = data.find(b"\n", start)
    return start, len(data) if end < 0 else end + 1


def _change(rng: Random, data: bytearray, others: Sequence[bytes], tokens: Sequence[bytes]) -> None:
    start, end = _place(rng, data)
    match rng.randrange(10):
        case 0 if data:
            data[start] ^= 1 << rng.randrange(8)
        case 1 if data:
            data[start] = rng.randrange(256)
        case 2:
            del data[start:end]
        case 3 | 4 if tokens:
            data[start : rng.choice((start, end))] = rng.choice(tokens)
        case 5:
            first, last = _line(rng, data)
            del data[first:last]
        case 6:
            first, last = _line(rng, data)
            line = data[first:last]
            place = _line(rng, data)[0]
            data[place:place] = line
        case 7 if others:
            other = rng.choice(others)
            first, last = _line(rng, other) if rng.random() < 0.5 else _place(rng, other)
            place = _line(rng, data)[0] if rng.random() < 0.5 else start
            data[place:place] = other[first:last]
        case 8:
            data[end:end] = data[start:end] * rng.choice((1, 2, 10, 100))
        case _ if len(data) > 8:
            place = rng.randrange(0, len(data) - 8) & ~3  # numbers of binary formats are aligned
            width = rng.choice((1, 2, 4, 8))
            value = rng.choice((0, 1, -1, len(data), 1 << (8 * width - 1), rng.randrange(256)))
            data[place : place + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
