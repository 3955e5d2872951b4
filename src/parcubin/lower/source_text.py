"""LLVM IR as it came in."""

from __future__ import annotations

from parcubin.errors import InputError

BITCODE_MAGICS = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


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
