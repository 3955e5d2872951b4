"""The tools that contenders run, found once, so that all use the same."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from parcubin.toolchain.locate import Component, find

OLDEST_LLVM = 22
"""The LLVM of llvmlite 0.50, in whose IR the corpus is written."""


@dataclass(frozen=True)
class Tools:
    """Paths; None for what this machine does not have. `llvm` is a folder with `opt` and `llc`."""

    ptxas: str
    cuobjdump: str
    nvlink: str | None
    nvjitlink: str | None
    llvm: Path | None


def find_tools() -> Tools:
    """The tools of this machine: those that parcubin takes, too. Ends the benchmark when ptxas or cuobjdump is
    missing."""
    ptxas = _component("ptxas")
    if ptxas is None:
        sys.exit("There is no ptxas on this machine: pip install 'parcubin[cuda13]', or put a CUDA toolkit on PATH.")
    cuobjdump = _cuobjdump(Path(ptxas).parent)
    if cuobjdump is None:
        sys.exit("There is no cuobjdump on this machine: pip install nvidia-cuda-cuobjdump, or put it on PATH.")
    return Tools(ptxas, cuobjdump, _component("nvlink"), _component("nvJitLink"), next(_llvm_folders(), None))


def version_of(tool: str | Path | None) -> str:
    """The version that a tool says it has: "13.0.88" of ptxas, "22.1.8" of LLVM."""
    if tool is None:
        return "none"
    said = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    version = re.search(r"(?:\bV|LLVM version )(\d[\d.]+)", said)
    return version[1] if version else "unknown"


def _component(name: Component) -> str | None:
    found = find(name)
    return found.path if found else None


def _cuobjdump(beside: Path) -> str | None:
    if found := shutil.which("cuobjdump", path=str(beside)) or shutil.which("cuobjdump"):
        return found
    from cuda.pathfinder import find_nvidia_binary_utility

    path: str | None = find_nvidia_binary_utility("cuobjdump")
    return path


def _llvm_folders() -> Iterator[Path]:
    on_path = shutil.which("opt")
    installed = sorted(Path("/usr/lib").glob("llvm-[0-9]*/bin"), key=lambda p: -int(re.sub(r"\D", "", p.parent.name)))
    for folder in [*([Path(on_path).parent] if on_path else []), *installed]:
        if not all((folder / tool).exists() for tool in ("opt", "llc")):
            continue
        major = version_of(folder / "opt").partition(".")[0]
        if major.isdecimal() and int(major) >= OLDEST_LLVM:
            yield folder
