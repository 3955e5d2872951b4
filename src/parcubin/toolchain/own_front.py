"""Telling `parcubin-ptxas` from ptxas, which it stands in for under that name."""

from __future__ import annotations


def is_own_front(path: str) -> bool:
    """Whether an executable is `parcubin-ptxas`, under whatever name: taking it for ptxas would never end."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib takes longer to import than ptxas to start
            start = file.read(4096)
    except OSError:
        return False
    return start.startswith(b"#!") and b"parcubin.ptxas" in start
