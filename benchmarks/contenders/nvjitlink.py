"""Lowered serially, then compiled and linked from PTX by nvJitLink, which may use all cores (`-split-compile=0`)."""

from __future__ import annotations

import ctypes
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.contenders.arguments import parser
from benchmarks.contenders.lowering import ptx_of

_PTX_INPUT = 2  # NVJITLINK_INPUT_PTX
_VERSIONS = ("13_0", "12_0")
"""The suffixes of functions: a library has those of all its minor versions."""


class NvJitLink:
    """The library's functions, checked."""

    def __init__(self, path: str, options: Sequence[str]) -> None:
        self._library = ctypes.CDLL(path)
        self._version = next(v for v in _VERSIONS if hasattr(self._library, f"__nvJitLinkCreate_{v}"))
        self._handle = ctypes.c_void_p()
        values = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        self._call("Create", ctypes.byref(self._handle), ctypes.c_uint32(len(options)), values)

    def add(self, ptx: bytes, name: str) -> None:
        text = ptx + b"\0"
        self._call("AddData", self._handle, ctypes.c_int(_PTX_INPUT), text, ctypes.c_size_t(len(text)), name.encode())

    def linked(self) -> bytes:
        self._call("Complete", self._handle)
        return self._buffer("LinkedCubin")

    def _buffer(self, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"Get{what}Size", self._handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(f"Get{what}", self._handle, buffer)
        return buffer.raw

    def _call(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, f"__nvJitLink{name}_{self._version}")
        if status := function(*arguments):
            log = self._buffer("ErrorLog").rstrip(b"\0").decode() if self._handle and "Log" not in name else ""
            sys.exit(f"nvJitLink{name} failed with status {status}:\n{log}")


def main() -> None:
    arguments_parser = parser(__doc__)
    arguments_parser.add_argument("--nvjitlink", required=True, help="the library")
    arguments = arguments_parser.parse_args()
    options = [f"-arch={arguments.arch}", "-O3", "-split-compile=0", *(["-lineinfo"] if arguments.lineinfo else [])]
    linker = NvJitLink(arguments.nvjitlink, options)
    with tempfile.TemporaryDirectory() as folder:
        for source in arguments.inputs:
            linker.add(ptx_of(source, Path(folder), arguments.arch).read_bytes(), source.name)
    arguments.output.mkdir()
    (arguments.output / "linked.cubin").write_bytes(linker.linked())


if __name__ == "__main__":
    main()
