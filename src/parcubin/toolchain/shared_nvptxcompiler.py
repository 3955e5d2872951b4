"""A shared library of libnvptxcompiler, which NVIDIA ships as a static one only."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import mmap
import os
import platform
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from parcubin.errors import ToolchainError
from parcubin.toolchain.run import run_tool
from parcubin.toolchain.version import Tool
from parcubin.user_files import private_cache_folder

# Exporting nothing but the interface makes loading the library 2 ms instead of 20 (68,000 symbols fewer), and keeps its
# symbols from being taken for those of another library.
_EXPORTS = "{ global: nvPTXCompiler*; local: *; };"
_OPTIONS = ("-shared", "-Wl,--strip-all", "-lm", "-lpthread", "-ldl")
_STATIC_RUNTIME = ("-static-libstdc++", "-static-libgcc")


def shared_nvptxcompiler(static: Tool) -> Tool:
    """The shared library of a static one, from the user's cache, or built into it.

    Building takes about a second, once; of several processes that want it at once, one builds. The file's name is made
    of the static library's content and of the C library that it was linked against.

    Raises:
        ToolchainError: there is no C++ compiler, it fails, or the cache cannot be used.
    """
    folder = private_cache_folder("nvptxcompiler")
    path = folder / f"{_key(static)}.so"
    if not path.exists():
        with _one_at_a_time(folder / "lock"):
            if not path.exists():
                _build(static, path)
    return Tool.library("nvptxcompiler", str(path))


def is_built(static: Tool) -> bool:
    """Whether `shared_nvptxcompiler` would find the shared library ready."""
    return (private_cache_folder("nvptxcompiler") / f"{_key(static)}.so").exists()


@lru_cache
def _key(static: Tool) -> str:
    key = hashlib.sha256(repr((_EXPORTS, _OPTIONS, platform.machine(), os.confstr("CS_GNU_LIBC_VERSION"))).encode())
    with Path(static.path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        key.update(content)
    return key.hexdigest()[:32]


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """Only spares work: the finished library is put in place in one step, so that building it twice, on file systems
    without locks, does no harm."""
    with lock.open("w") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(static: Tool, path: Path) -> None:
    compiler = _compiler()
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="build-") as directory:
        output = Path(directory, "library.so")
        exports = Path(directory, "exports")
        exports.write_text(_EXPORTS, encoding="ascii")
        archive = str(Path(static.path).absolute())
        library = ("-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", f"-Wl,--version-script={exports}")
        for runtime in (_STATIC_RUNTIME, ()):  # not every system has the static C++ library
            run = run_tool(compiler[0], [*compiler[1:], *library, *_OPTIONS, *runtime, "-o", str(output)], directory)
            if run.status == 0 and output.exists():
                output.rename(path)
                return
    raise ToolchainError(
        f"{' '.join(compiler)} could not make a shared library of {static.path}; its messages are attached.",
        log=run.log,
    )


def _compiler() -> list[str]:
    if chosen := shlex.split(os.environ.get("CXX", "")):
        # It runs in another folder.
        return [str(Path(chosen[0]).absolute()) if "/" in chosen[0] else chosen[0], *chosen[1:]]
    for name in ("c++", "g++", "clang++"):
        if path := shutil.which(name):
            return [path]
    raise ToolchainError(
        "There is no C++ compiler (CXX, c++, g++ or clang++) to make a shared library of libnvptxcompiler_static.a."
    )
