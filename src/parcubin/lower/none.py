"""No LLVM: for programs of PTX, which then do not wait for one to be found and loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from parcubin.errors import ToolchainError
from parcubin.lower.interface import Texts
from parcubin.model import CompilationOptions, Target


@dataclass(frozen=True)
class NoLlvm:
    """Refuses LLVM IR. Implements `Llvm`."""

    @property
    def identity(self) -> str:
        return "no LLVM"

    def files(self) -> tuple[Path, ...]:
        return ()

    def newest_ptx_version(self, at_most: int) -> int:
        return at_most

    def check_target(self, target: Target, ptx_version: int) -> None:
        del target, ptx_version

    def print_module(self, source: bytes, name: str) -> str:
        del source
        _refuse(name)

    def link(self, texts: Texts, name: str) -> str:
        del texts
        _refuse(name)

    def emit_ptx(
        self,
        texts: Texts,
        target: Target,
        options: CompilationOptions,
        ptx_version: int,
        name: str,
        seconds: dict[str, float],
    ) -> str:
        del texts, target, options, ptx_version, seconds
        _refuse(name)


def _refuse(name: str) -> NoReturn:
    raise ToolchainError(f"{name} is LLVM IR, and the LLVM that was asked for is 'none', which is for PTX.")
