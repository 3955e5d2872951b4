"""Where NVIDIA's tools and libraries are on this machine.

The places, in order: a path given explicitly; NVIDIA's wheels and conda packages in this Python's environment; the
toolkit that CUDA_PATH or CUDA_HOME names; PATH, with the toolkit that a ptxas or nvcc there belongs to; conventional
places; and last whatever cuda-pathfinder knows beyond these. Wheels are looked up directly, because importing
cuda-pathfinder takes 0.12 s (our measurement) and it does not know libnvptxcompiler.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from parcubin.errors import ToolchainError
from parcubin.toolchain.own_front import is_own_front

Component = Literal[
    "ptxas", "nvlink", "nvJitLink", "nvptxcompiler", "nvptxcompiler_static", "libdevice", "libcudadevrt"
]


@dataclass(frozen=True)
class FoundFile:
    """A file of the toolchain.

    Attributes:
        path: absolute path.
        origin: how it was found, for people: "this Python's environment", "CUDA_PATH".
    """

    path: str
    origin: str


@dataclass(frozen=True)
class _Layout:
    """Where a component lies: glob patterns below site-packages, below a toolkit, and below a system's prefix."""

    wheel: tuple[str, ...]
    toolkit: tuple[str, ...]
    executable: bool = False


def _library(name: str, wheel: str) -> _Layout:
    lib_dirs = ("lib64", f"targets/{_TARGET}/lib", "lib", f"lib/{_MACHINE}-linux-gnu")
    return _Layout(
        (f"nvidia/cu[0-9]*/lib/{name}", f"nvidia/{wheel}/lib/{name}"), tuple(f"{d}/{name}" for d in lib_dirs)
    )


_MACHINE = os.uname().machine
_TARGET = {"aarch64": "sbsa-linux"}.get(_MACHINE, f"{_MACHINE}-linux")

_LAYOUTS: dict[Component, _Layout] = {
    "ptxas": _Layout(("nvidia/cu[0-9]*/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas"), ("bin/ptxas",), executable=True),
    "nvlink": _Layout(("nvidia/cu[0-9]*/bin/nvlink", "nvidia/cuda_nvcc/bin/nvlink"), ("bin/nvlink",), executable=True),
    "nvJitLink": _library("libnvJitLink.so.[0-9]*", "nvjitlink"),
    "nvptxcompiler": _library("libnvptxcompiler.so*", "nvptxcompiler"),
    "nvptxcompiler_static": _library("libnvptxcompiler_static.a", "nvptxcompiler"),
    "libcudadevrt": _library("libcudadevrt.a", "cuda_runtime"),
    "libdevice": _Layout(
        (
            "nvidia/cu[0-9]*/nvvm/libdevice/libdevice.10.bc",
            "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
        ),
        ("nvvm/libdevice/libdevice.10.bc", "lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc"),
    ),
}


def find_all(component: Component, explicit: str | None = None) -> list[FoundFile]:
    """Every place that has the component, preferred first; a file reachable in two ways is listed once.

    Args:
        component: what to find.
        explicit: the only path to consider.

    Raises:
        ToolchainError: `explicit` is given and is not a usable file.
    """
    layout = _LAYOUTS[component]
    if explicit is not None:
        if not _usable(Path(explicit), layout):
            if layout.executable and is_own_front(explicit):
                raise ToolchainError(f"{explicit}, given as the path of {component}, is parcubin-ptxas itself.")
            kind = "an executable file" if layout.executable else "a file"
            raise ToolchainError(f"{explicit}, given as the path of {component}, is not {kind}.")
        return [FoundFile(str(Path(explicit).absolute()), "given explicitly")]
    found: dict[str, FoundFile] = {}
    for path, origin in _candidates(component, layout):
        if _usable(path, layout):
            found.setdefault(os.path.realpath(path), FoundFile(str(path.absolute()), origin))
    if not found and (file := _ask_pathfinder(component)):
        return [file]
    return list(found.values())


def find(component: Component, explicit: str | None = None) -> FoundFile | None:
    """The preferred place of the component; None when it is nowhere. Raises as `find_all`."""
    return next(iter(find_all(component, explicit)), None)


def find_libdevice(explicit: str | None = None) -> FoundFile | None:
    """libdevice.10.bc, the bitcode library of mathematical functions; None when it is nowhere."""
    return find("libdevice", explicit)


def _usable(path: Path, layout: _Layout) -> bool:
    if not layout.executable:
        return path.is_file()
    return path.is_file() and os.access(path, os.X_OK) and not is_own_front(str(path))


def _candidates(component: Component, layout: _Layout) -> Iterator[tuple[Path, str]]:
    for entry in sys.path:
        if entry and (root := Path(entry) / "nvidia").is_dir():
            for path in _glob(root.parent, layout.wheel):
                yield path, "this Python's environment"
    for prefix in dict.fromkeys([sys.prefix, os.environ.get("CONDA_PREFIX", "")]):
        if prefix and (Path(prefix) / "conda-meta").is_dir():
            for path in _glob(Path(prefix), layout.toolkit):
                yield path, "conda environment"
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if root_name := os.environ.get(variable):
            for path in _glob(Path(root_name), layout.toolkit):
                yield path, variable
    if layout.executable:
        for path in _on_path(component):
            yield path, "PATH"
    for tool in ("ptxas", "nvcc"):
        for executable in _on_path(tool):
            for path in _glob(Path(os.path.realpath(executable)).parent.parent, layout.toolkit):
                yield path, "PATH"
    if not layout.executable:
        for directory in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
            if directory:
                for path in _glob(Path(directory), (Path(layout.toolkit[0]).name,)):
                    yield path, "LD_LIBRARY_PATH"
    for root in _system_roots():
        for path in _glob(root, layout.toolkit):
            yield path, str(root)


def _on_path(tool: str) -> Iterator[Path]:
    """The executable that a shell would start, or, in place of `parcubin-ptxas`, the next one."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = Path(folder, tool)
        if path.is_file() and os.access(path, os.X_OK) and not is_own_front(str(path)):
            yield path
            return


def _system_roots() -> list[Path]:
    toolkits = _newest_first(Path("/usr/local").glob("cuda-[0-9]*"))
    return [Path("/usr/local/cuda"), *toolkits, Path("/opt/cuda"), Path("/usr")]


def _glob(root: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from _newest_first(root.glob(pattern))


def _newest_first(paths: Iterator[Path]) -> list[Path]:
    def numbers(path: Path) -> tuple[list[int], str]:
        return [int(n) for n in re.findall(r"\d+", str(path))], str(path)

    return sorted(paths, key=numbers, reverse=True)


def _ask_pathfinder(component: Component) -> FoundFile | None:
    """What cuda-pathfinder finds in places that it alone knows."""
    if component not in ("ptxas", "nvlink", "libdevice", "libcudadevrt"):
        return None
    from cuda import pathfinder

    try:
        if component == "libdevice":
            path = pathfinder.locate_bitcode_lib("device").abs_path
        elif component == "libcudadevrt":
            path = pathfinder.locate_static_lib("cudadevrt").abs_path
        else:
            path = pathfinder.find_nvidia_binary_utility(component)
    except Exception:  # pathfinder's "not found" classes differ by component, and it may fail in its own ways
        return None
    return FoundFile(path, "cuda-pathfinder") if path else None
