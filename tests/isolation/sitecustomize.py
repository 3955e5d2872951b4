"""Hides every CUDA toolkit of the machine but NVIDIA's wheels on this Python's path; put on it by tests/matrix.py.

Reaches child processes, too: workers and the command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parcubin.toolchain import locate

_everything = locate._candidates


def _wheels_only(component: Any, layout: Any) -> Iterator[tuple[Path, str]]:
    return (found for found in _everything(component, layout) if found[1] == "this Python's environment")


locate._candidates = _wheels_only
locate._ask_pathfinder = lambda component: None  # noqa: ARG005
