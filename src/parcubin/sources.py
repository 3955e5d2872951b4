"""Reading inputs: what they are is told by their content, never by their name."""

from __future__ import annotations

import io
import os
import re
import select
import stat
import time
import zlib
from dataclasses import dataclass, field
from enum import Enum, auto
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from parcubin.configuration import read_configuration
from parcubin.errors import InputError, UsageError
from parcubin.model import DeferredModule

Input: TypeAlias = "str | PathLike[str] | bytes | ModuleRef | Module"
"""A path; the input itself as `bytes` or as a `str` of several lines; or an llvmlite module."""

if TYPE_CHECKING:
    import gzip
    import lzma

    from llvmlite.binding import ModuleRef
    from llvmlite.ir import Module


MAX_INPUT_BYTES = 1 << 30
"""Inputs above this size, unpacked, are refused, unless PARCUBIN_MAX_INPUT says otherwise."""

_PATIENCE = 10.0
"""Seconds that somebody has to open a pipe for writing."""

_PART = 1 << 20
_BITCODE_MAGICS = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_GZIP_MAGIC, _XZ_MAGIC = b"\x1f\x8b", b"\xfd7zXZ\x00"
_COMPILED_MAGICS = _ELF_MAGIC, _FATBIN_MAGIC = b"\x7fELF", b"\x50\xed\x55\xba"

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
        UsageError: it is of another type.
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
        UsageError: it is of another type.
    """
    if isinstance(source, bytes):
        name, data = f"input {number}", source
    elif isinstance(source, str) and "\n" in source:
        name, data = f"input {number}", source.encode()
    elif isinstance(source, str | PathLike):
        name = str(source)
        data = read_file(Path(source))
    elif type(source).__module__.split(".")[0] == "llvmlite":
        name, data = f"input {number}", str(source).encode()
    else:
        raise UsageError(
            f"Input {number} is of type {type(source).__name__}. An input is a path, bytes, a str with the text itself "
            "or an llvmlite module."
        )
    return LoadedInput(name, data)


def read_file(path: Path, name: str = "") -> bytes:
    """Reads a file, a pipe or a device.

    Args:
        path: the file.
        name: what messages call it; by default the path.

    Raises:
        InputError: it cannot be read, is too large, or is a pipe that nobody writes to.
    """
    name = name or str(path)
    try:
        # Not blocking: opening a pipe would wait for somebody who writes. What is buffered would be held twice.
        with io.FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                _check_size(name, status.st_size, _most_bytes())
                return file.readall()
            start = _first_of_pipe(file, name) if stat.S_ISFIFO(status.st_mode) else b""
            os.set_blocking(file.fileno(), True)
            return _read(name, file, start)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"Cannot read {name}: {reason or error}.", input_name=name) from None


def _first_of_pipe(file: io.FileIO, name: str) -> bytes:
    """What there is to read as soon as somebody writes."""
    end = time.monotonic() + _PATIENCE
    poll = select.poll()
    poll.register(file, select.POLLIN)
    while (start := file.read(_PART)) == b"":  # nobody writes; of somebody who has written nothing yet it is None
        if poll.poll(20):
            return file.read(_PART) or b""  # somebody did, and is gone
        if time.monotonic() > end:
            raise InputError(f"Nobody writes to {name}, which is a pipe.", input_name=name)
    return start or b""


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


def _read(name: str, file: io.FileIO | gzip.GzipFile | lzma.LZMAFile, start: bytes = b"") -> bytes:
    """All there is, after what was read before. What is no input by its first megabyte is not read to its end, which
    it may not have."""
    data, most = bytearray(start), _most_bytes()
    looked = False
    while part := file.read(_PART):  # memory for what is asked for is taken at once
        data += part
        _check_size(name, len(data), most)
        if not looked and len(data) >= _PART:
            looked = True
            if not data.startswith((_GZIP_MAGIC, _XZ_MAGIC, *_COMPILED_MAGICS)):
                _kind(name, bytes(data))
    return bytes(data)


def _most_bytes() -> int:
    return read_configuration().max_input or MAX_INPUT_BYTES


def _check_size(name: str, size: int, most: int) -> None:
    if size > most:
        raise InputError(
            f"{name} has more than {most:,} bytes, the most that is read. Compile it in parts, or set "
            "PARCUBIN_MAX_INPUT to a larger number of bytes.",
            input_name=name,
        )


def _kind(name: str, data: bytes) -> SourceKind:
    if not _CONTENT.search(data):
        raise InputError(f"{name} is empty.", input_name=name)
    if data.startswith(_BITCODE_MAGICS):
        return SourceKind.LLVM_BITCODE
    if data.startswith(_COMPILED_MAGICS):
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
