"""What several test files share."""

from __future__ import annotations

import lzma
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from parcubin.configuration import Configuration
from parcubin.lower.external import ExternalLlvm
from parcubin.lower.selection import select_llvm
from tests.cuda_tools import cuda_tool

ROOT = Path(__file__).resolve().parent.parent

os.environ["PARCUBIN_LLVM"] = "llvmlite"  # whatever the machine has; tests that are about another LLVM say so
os.environ["PARCUBIN_CACHE"] = "off"  # tests that are about the cache say so


@pytest.fixture(scope="session")
def external_llvm() -> ExternalLlvm:
    """The LLVM of this machine beside llvmlite's; skips where there is none."""
    llvm = select_llvm(configuration=Configuration()).llvm
    if not isinstance(llvm, ExternalLlvm):
        pytest.skip("there is no LLVM with opt, llc and llvm-link on this machine")
    return llvm


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real inputs; its README says what they are."""
    return ROOT / "corpus"


@pytest.fixture(scope="session")
def corpus_text(corpus: Path) -> Callable[[str], str]:
    """Reads one compressed corpus file by its unpacked name: `cub.ll`."""
    return lambda name: lzma.decompress((corpus / f"{name}.xz").read_bytes()).decode()


@pytest.fixture(scope="session")
def xla_modules(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the unpacked XLA modules: `step.*.ll` and `step.*.ptx`."""
    folder = tmp_path_factory.mktemp("xla")
    with tarfile.open(corpus / "xla-transformer.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "xt"


@pytest.fixture
def cuobjdump(tmp_path: Path) -> Callable[..., str]:
    """Runs NVIDIA's cuobjdump on a CUBIN and returns what it prints."""

    def run(cubin: bytes, *options: str) -> str:
        path = tmp_path / "tested.cubin"
        path.write_bytes(cubin)
        command = [cuda_tool("cuobjdump"), *options, str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return run


@pytest.fixture(scope="session")
def debug_info() -> str:
    """A module with full debug info, variables and inlined code among it."""
    return (ROOT / "tests" / "data" / "debug_info.ll").read_text()
