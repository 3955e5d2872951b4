"""LLVM's executables `opt`, `llc` and `llvm-link`: where they are, and what they can do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcubin.errors import ToolchainError

if TYPE_CHECKING:
    from parcubin.cache.answers import Answers

OLDEST_VERSION = 22
"""The LLVM of llvmlite 0.50, in whose IR modules are written: older ones cannot be relied on to read them."""

_VERSION = re.compile(r"\bLLVM version (\d+(?:\.\d+)*\S*)")
_CPU = re.compile(r"^ +(sm_[1-9]\d{1,2}[af]?) +- Select ", re.M)
_PTX_VERSION = re.compile(r"^ +ptx(\d+) ", re.M)
_TIMEOUT_S = 30
_SYSTEM = Path("/usr/lib")


@dataclass(frozen=True)
class LlvmTools:
    """The executables of one LLVM.

    Attributes:
        folder: the absolute path of the folder that they are in.
        version: "22.1.8".
        can_link: whether `llvm-link` is there.
        targets: the GPU architectures that it emits PTX for.
        ptx_versions: the PTX ISA versions that it can emit, 90 for 9.0.
    """

    folder: str
    version: str
    can_link: bool
    targets: frozenset[str]
    ptx_versions: frozenset[int]

    @property
    def major(self) -> int:
        """22 of 22.1.8."""
        return int(self.version.split(".")[0])

    def path(self, tool: str) -> str:
        """The path of an executable."""
        return str(Path(self.folder, tool))

    def __str__(self) -> str:
        return f"LLVM {self.version} ({self.folder})"


def tools_in(folder: str, answers: Answers | None = None) -> LlvmTools:
    """The tools of a folder, or of the `bin` in it. Each folder is asked once a process.

    Args:
        folder: the folder.
        answers: what tools said before.

    Raises:
        ToolchainError: it has no `opt` and `llc` that run, they are too old or of different versions, or lower nothing
            for NVIDIA GPUs.
    """
    for place in (Path(folder).absolute(), Path(folder).absolute() / "bin"):
        if _is_executable(place / "opt") and _is_executable(place / "llc"):
            tools = _known_tools(str(place), answers)
            break
    else:
        raise ToolchainError(f"There are no executables opt and llc in {folder}, nor in {folder}/bin.")
    if tools.major < OLDEST_VERSION:
        raise ToolchainError(
            f"{tools} is too old: it takes LLVM {OLDEST_VERSION} or newer to read what lowering gives it."
        )
    return tools


def folders() -> Iterator[tuple[str, str]]:
    """Folders of this machine that have an `opt`, each with how it was found, preferred first: that on PATH, then those
    of Debian's packages, newest first."""
    seen: set[str] = set()
    on_path = shutil.which("opt")
    places = [(Path(on_path), "PATH")] if on_path else []
    installed = sorted(_SYSTEM.glob("llvm-[0-9]*/bin/opt"), key=lambda p: -_number(p.parent.parent.name))
    places += [(path, str(_SYSTEM)) for path in installed]
    for path, origin in places:
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            yield str(path.parent.absolute()), origin


def _number(name: str) -> int:
    return int(re.sub(r"\D", "", name))


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _known_tools(folder: str, answers: Answers | None) -> LlvmTools:
    if answers is None:
        return _tools(folder, _fingerprint(Path(folder)))

    def ask() -> dict[str, Any]:
        tools = _tools(folder, _fingerprint(Path(folder)))
        return {
            "version": tools.version,
            "targets": sorted(tools.targets),
            "ptx_versions": sorted(tools.ptx_versions),
        }

    said = answers.of("what LLVM can do", files_of(folder), ask)
    return LlvmTools(
        folder=folder,
        version=said["version"],
        can_link=_is_executable(Path(folder, "llvm-link")),
        targets=frozenset(said["targets"]),
        ptx_versions=frozenset(said["ptx_versions"]),
    )


def files_of(folder: str) -> tuple[Path, ...]:
    """The files by whose content the LLVM of a folder is told from others: `opt` and `llc`, and the library beside them
    that most builds have LLVM in."""
    place = Path(folder)
    root = Path(os.path.realpath(place / "opt")).parent.parent
    libraries = {os.path.realpath(path) for path in root.glob("lib*/libLLVM*.so*")}
    return (place / "opt", place / "llc", *map(Path, sorted(libraries)))


def _fingerprint(folder: Path) -> tuple[tuple[int, int, int], ...]:
    stats = [Path(folder, tool).stat() for tool in ("opt", "llc")]
    return tuple((s.st_ino, s.st_size, s.st_mtime_ns) for s in stats)


@lru_cache
def _tools(folder: str, _fingerprint: tuple[tuple[int, int, int], ...]) -> LlvmTools:
    opt, llc = str(Path(folder, "opt")), str(Path(folder, "llc"))
    said = _said([[opt, "--version"], [llc, "--version"], [llc, "-mtriple=nvptx64-nvidia-cuda", "-mattr=help"]])
    versions = [_VERSION.search(answer) for answer in said[:2]]
    for path, version in zip((opt, llc), versions, strict=True):
        if version is None:
            raise ToolchainError(f"{path} does not say its version when called with --version.")
    first, second = (version[1] for version in versions if version)
    if first != second:
        raise ToolchainError(f"{opt} is of LLVM {first} and {llc} of LLVM {second}.")
    tools = LlvmTools(
        folder=folder,
        version=first,
        can_link=_is_executable(Path(folder, "llvm-link")),
        targets=frozenset(_CPU.findall(said[2])),
        ptx_versions=frozenset(map(int, _PTX_VERSION.findall(said[2]))),
    )
    if not tools.targets and tools.major >= OLDEST_VERSION:
        raise ToolchainError(f"{tools} was built without the NVPTX target.")
    return tools


def _said(commands: list[list[str]]) -> list[str]:
    """What commands print, run at the same time."""
    runs: list[subprocess.Popen[str]] = []
    try:
        for command in commands:
            runs.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                )
            )
        return [run.communicate(timeout=_TIMEOUT_S)[0] for run in runs]
    except OSError as error:
        raise ToolchainError(f"{command[0]} cannot be run: {error.strerror}.") from error
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(f"{error.cmd[0]} does not answer within {_TIMEOUT_S} seconds.") from error
    finally:
        for run in runs:
            with run:  # waits for it
                run.kill()
