"""NVIDIA's tools that the tests compare with."""

from __future__ import annotations

import shutil

import pytest


def cuda_tool(name: str) -> str:
    """The path of a tool, from NVIDIA's wheels or a toolkit; skips the test when there is none."""
    try:
        from cuda.pathfinder import find_nvidia_binary_utility

        found = find_nvidia_binary_utility(name)
    except ImportError:  # an older cuda-pathfinder, or none
        found = None
    found = found or shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found
