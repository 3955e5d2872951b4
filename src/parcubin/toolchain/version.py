"""Versions of NVIDIA's compilers, asked from an executable or read from a library's file."""

from __future__ import annotations

import mmap
import os
import re
import struct
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from parcubin.errors import ToolchainError

if TYPE_CHECKING:
    from collections.abc import Callable

    from parcubin.cache.answers import Answers


class Version(NamedTuple):
    """A toolkit component's version: `13.5.37`."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @property
    def release(self) -> tuple[int, int]:
        """The toolkit release, which decides what a linker accepts: (13, 5)."""
        return self.major, self.minor


@dataclass(frozen=True)
class Tool:
    """A compiler or linker at a known place.

    Attributes:
        name: `ptxas`, `nvlink`, `nvJitLink`, `nvptxcompiler`.
        path: its absolute path.
        version: its version.
    """

    name: str
    path: str
    version: Version

    @classmethod
    def executable(cls, name: str, path: str, answers: Answers | None = None) -> Tool:
        """The executable at a path. Raises `ToolchainError` as `executable_version`."""
        return cls(name, path, _known_version(path, executable_version, answers))

    @classmethod
    def library(cls, name: str, path: str, answers: Answers | None = None) -> Tool:
        """The library at a path. Raises `ToolchainError` as `library_version`."""
        return cls(name, path, _known_version(path, library_version, answers))

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


_VERSION = re.compile(rb"Cuda compilation tools, release \d+\.\d+, V(\d+)\.(\d+)\.(\d+)")
_MARK = b"Cuda compilation tools, release "


def executable_version(path: str) -> Version:
    """The version that `PATH --version` prints; each file is run once a process.

    Raises:
        ToolchainError: the file cannot be run or does not say its version.
    """
    return _executable_version(path, _fingerprint(path))


def library_version(path: str) -> Version:
    """The version that a compiler library carries in its text, for shared and static libraries.

    The library is read, never loaded: loading it takes longer, cannot be undone, and before 12.3 libnvJitLink has no
    function that tells its version. Every libnvJitLink from 12.0 to 13.5 and libnvptxcompiler_static from 13.0 to 13.5
    holds the same sentence that `ptxas --version` prints (our measurement).

    Raises:
        ToolchainError: the file cannot be read or holds no version.
    """
    return _library_version(path, _fingerprint(path))


def _known_version(path: str, find: Callable[[str], Version], answers: Answers | None) -> Version:
    """A version, which does not change while the file does not."""
    if answers is None:
        return find(path)
    return Version(*answers.of("version", [path], lambda: {"version": find(path)})["version"])


def _fingerprint(path: str) -> tuple[int, int, int]:
    try:
        stat = Path(path).stat()
    except OSError as error:
        raise ToolchainError(f"{path} cannot be used: {error.strerror}.") from error
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


@lru_cache
def _executable_version(path: str, _fingerprint: tuple[int, int, int]) -> Version:
    try:
        run = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
        )
    except OSError as error:
        raise ToolchainError(f"{path} cannot be run: {error.strerror}.") from error
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(f"{path} does not answer to --version within 30 seconds.") from error
    match = _VERSION.search(run.stdout)
    if not match:
        raise ToolchainError(f"{path} does not say its version when called with --version.")
    return Version(*map(int, match.groups()))


@lru_cache
def _library_version(path: str, _fingerprint: tuple[int, int, int]) -> Version:
    try:
        with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            start, end = _constants(text)
            at = text.find(_MARK, start, end)
            while at >= 0:
                if match := _VERSION.match(text[at : at + 100]):
                    return Version(*map(int, match.groups()))
                at = text.find(_MARK, at + 1, end)
    except (OSError, ValueError) as error:
        raise ToolchainError(f"{path} cannot be read: {os.strerror(getattr(error, 'errno', None) or 22)}.") from error
    raise ToolchainError(f"{path} does not contain the version of an NVIDIA compiler.")


def _constants(library: mmap.mmap) -> tuple[int, int]:
    """Where a shared library has its constants; of an archive everything. Spares reading 100 MB of code."""
    if library[:6] == b"\x7fELF\x02\x01":
        try:
            (table,) = struct.unpack_from("<Q", library, 40)
            entry_size, count, names_index = struct.unpack_from("<HHH", library, 58)
            sections = [struct.unpack_from("<IIQQQQ", library, table + entry_size * i) for i in range(count)]
            names = sections[names_index][4]
            for name, _, _, _, offset, size in sections:
                if library[names + name : names + name + 8] == b".rodata\0":
                    return offset, offset + size
        except (struct.error, IndexError) as error:
            raise ValueError("the section table is damaged") from error
    return 0, len(library)
