"""Reading inputs: what they are is told by their content, never by their name."""

from __future__ import annotations

import io
import os
import re
import stat
import zlib
from dataclasses import dataclass, field
from enum import Enum, auto
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from parcubin.errors import InputError
from parcubin.model import DeferredModule

Input: TypeAlias = "str | PathLike[str] | bytes | ModuleRef | Module"
"""A path; the input itself as `bytes` or as a `str` of several lines; or an llvmlite module."""

if TYPE_CHECKING:
    import gzip
    import lzma

    from llvmlite.binding import ModuleRef
    from llvmlite.ir import Module


MAX_INPUT_BYTES = 4 << 30
"""Inputs above this size, unpacked, are refused."""

_PART = 1 << 20
_BITCODE_MAGICS = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_GZIP_MAGIC, _XZ_MAGIC = b"\x1f\x8b", b"\xfd7zXZ\x00"
_ELF_MAGIC, _FATBIN_MAGIC = b"\x7fELF", b"\x50\xed\x55\xba"

_LLVM_START = re.compile(
    r"(?:source_filename|target|module asm|define|declare|attributes|uselistorder) |[@%$!^][-\"\w$.]+ ?= ?"
)


_BLANK_OR_COMMENT = re.compile(r"\s+|;[^\n]*|//[^\n]*|/\*.*?\*/", re.S)
_CONTENT = re.compile(rb"[^\0 \t\r\n]")


class SourceKind(Enum):
    LLVM_TEXT = auto()
    LLVM_BITCODE = auto()
    PTX = auto()


@dataclass(frozen=True)
class Source:
    """One input.

    Attributes:
        name: what messages call it.
        kind: what it is.
        data: its content, unpacked.
    """

    name: str
    kind: SourceKind
    data: bytes = field(repr=False)

    def text(self) -> str:
        """The content as text.

        Raises:
            InputError: it is not UTF-8.
        """
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            raise InputError(f"{self.name} is not text in UTF-8: {error}.", input_name=self.name) from None

    def check_encoding(self) -> None:
        """Checks that the content is text.

        Raises:
            InputError: it is not UTF-8.
        """
        if not self.data.isascii():
            self.text()


@dataclass(frozen=True)
class LoadedInput:
    """An input in memory, as it was found.

    Attributes:
        name: what messages call it.
        data: its content, packed if it was.
    """

    name: str
    data: bytes = field(repr=False)


def read_source(source: Input | LoadedInput, number: int = 1) -> Source:
    """Reads one input.

    Args:
        source: a path; or the input itself as `bytes` or as a `str` of several lines; or an llvmlite module.
        number: which of the inputs it is, to call an input in memory by.

    Raises:
        InputError: no such file, empty, too large, or neither LLVM IR nor PTX.
    """
    loaded = source if isinstance(source, LoadedInput) else load_input(source, number)
    data = _unpacked(loaded.name, loaded.data)
    return Source(loaded.name, _kind(loaded.name, data), data)


def load_input(source: Input, number: int = 1) -> LoadedInput:
    """Brings one input into memory.

    Args:
        source: as for `read_source`.
        number: likewise.

    Raises:
        InputError: no such file, or too large.
    """
    if isinstance(source, bytes):
        name, data = f"input {number}", source
    elif isinstance(source, str) and "\n" in source:
        name, data = f"input {number}", source.encode()
    elif isinstance(source, str | PathLike):
        name = str(source)
        data = _read_file(Path(source))
    else:
        name, data = f"input {number}", str(source).encode()
    return LoadedInput(name, data)


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb", buffering=0) as file:  # what is buffered is held twice
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                _check_size(str(path), os.fstat(file.fileno()).st_size)
                return file.readall()
            return _read(str(path), io.BufferedReader(file))
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}.", input_name=str(path)) from None


def _unpacked(name: str, data: bytes) -> bytes:
    if not data.startswith((_GZIP_MAGIC, _XZ_MAGIC)):
        return data
    import gzip
    import lzma

    opener = gzip.open if data.startswith(_GZIP_MAGIC) else lzma.open
    try:
        with opener(io.BytesIO(data)) as file:
            return _read(name, file)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"Cannot unpack {name}: {error}.", input_name=name) from None


def _read(name: str, file: BinaryIO | gzip.GzipFile | lzma.LZMAFile) -> bytes:
    data = bytearray()
    while part := file.read(_PART):  # memory for what is asked for is taken at once
        data += part
        _check_size(name, len(data))
    return bytes(data)


def _check_size(name: str, size: int) -> None:
    if size > MAX_INPUT_BYTES:
        raise InputError(f"{name} has more than {MAX_INPUT_BYTES >> 30} GiB. Compile it in parts.", input_name=name)


def _kind(name: str, data: bytes) -> SourceKind:
    if not _CONTENT.search(data):
        raise InputError(f"{name} is empty.", input_name=name)
    if data.startswith(_BITCODE_MAGICS):
        return SourceKind.LLVM_BITCODE
    if data.startswith((_ELF_MAGIC, _FATBIN_MAGIC)):
        what = "an ELF file" if data.startswith(_ELF_MAGIC) else "a fat binary"
        raise InputError(f"{name} is {what}, which is compiled already. Inputs are LLVM IR or PTX.", input_name=name)
    if DeferredModule.is_in(data):
        DeferredModule.from_bytes(data, name)  # a version that can be read: PTX behind a comment
        return SourceKind.PTX
    start = _without_comments(data[: 1 << 20].decode(errors="replace"))
    if start.startswith(".version"):
        return SourceKind.PTX
    if _LLVM_START.match(start):
        return SourceKind.LLVM_TEXT
    raise InputError(
        f"{name} is neither LLVM IR nor PTX. PTX starts with .version; it starts with {start[:40]!r}.", input_name=name
    )


def _without_comments(text: str) -> str:
    """The text from its first line on that is neither blank nor a comment of LLVM IR or PTX."""
    position = 0
    while match := _BLANK_OR_COMMENT.match(text, position):
        position = match.end()
    return text[position:]
