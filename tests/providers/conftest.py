"""Every provider that this environment can make, and an independent reader of CUBINs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cuda.pathfinder import find_nvidia_binary_utility

from parcubin.errors import ToolchainError
from parcubin.providers.interface import CompilationProvider
from tests.providers.samples import FACTORIES


@pytest.fixture(params=sorted(FACTORIES))
def provider(request: pytest.FixtureRequest) -> CompilationProvider:
    try:
        return FACTORIES[request.param]()
    except ToolchainError as error:
        pytest.skip(f"{request.param}: {error}")


@pytest.fixture
def cuobjdump(tmp_path: Path) -> Callable[..., str]:
    """Runs NVIDIA's cuobjdump on a CUBIN and returns what it prints."""
    tool = find_nvidia_binary_utility("cuobjdump")
    assert tool, "cuobjdump belongs to the development group"

    def run(cubin: bytes, *options: str) -> str:
        path = tmp_path / "tested.cubin"
        path.write_bytes(cubin)
        return subprocess.run([tool, *options, str(path)], capture_output=True, text=True, check=True).stdout

    return run
