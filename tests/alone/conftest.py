"""Tests of machines that have one part of a CUDA toolkit alone; tests/matrix.py makes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ENVIRONMENTS = {
    "test_nvjitlink_12": "nvJitLink-12.9-alone",
    "test_nvjitlink_13": "nvJitLink-13.5-alone",
    "test_ptxas": "ptxas-12.9-alone",
}


@pytest.fixture(autouse=True)
def environment(request: pytest.FixtureRequest) -> None:
    """Skips where the test's environment is another one."""
    needed = ENVIRONMENTS[request.module.__name__.split(".")[-1]]
    if os.environ.get("PARCUBIN_TEST_ENVIRONMENT") != needed:
        pytest.skip(f"needs the environment {needed}: make test-matrix")


@pytest.fixture
def parcubin(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line in an empty folder."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "parcubin", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return run


@pytest.fixture
def info(parcubin: Callable[..., subprocess.CompletedProcess[str]]) -> dict[str, Any]:
    """What `parcubin info` says."""
    found: dict[str, Any] = json.loads(parcubin("info", "--json").stdout)
    return found
