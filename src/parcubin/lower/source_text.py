"""LLVM IR as it came in."""

from __future__ import annotations

import re
from collections.abc import Callable

from parcubin.errors import InputError

BITCODE_MAGICS = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


class Lines:
    """Lines of a text that match a pattern from their beginning on, of which it must take the rest. Python's `re` looks
    for the end of the line before ten times as fast as for `^`."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(rf"\n({pattern})", re.A)

    def of(self, text: str) -> list[str]:
        """The lines."""
        return [line[1] for line in self._pattern.finditer(f"\n{text}")]

    def replaced(self, text: str, replacement: Callable[[str], str]) -> str:
        """The text with other lines in their places."""
        return self._pattern.sub(lambda line: f"\n{replacement(line[1])}", f"\n{text}")[1:]


def decoded(source: bytes, name: str) -> str:
    """Textual LLVM IR.

    Raises:
        InputError: it is no text.
    """
    try:
        text = source.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is neither bitcode nor text: {error}.", input_name=name) from None
    return without_nul(text, name)


def without_nul(text: str, name: str) -> str:
    """The text. LLVM takes the character for a blank or for the end, depending on how it gets the text.

    Raises:
        InputError: it has one.
    """
    if (at := text.find("\0")) >= 0:
        line = text.count("\n", 0, at) + 1
        raise InputError(f"Cannot parse {name} at line {line}: there is a NUL character.", input_name=name, line=line)
    return text
