"""What an LLVM does for lowering, whichever way it is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from parcubin.model import CompilationOptions, Target

TRIPLE = "nvptx64-nvidia-cuda"

Texts = Sequence[tuple[str, str]]
"""Name and textual LLVM IR of modules."""


class Llvm(Protocol):
    """An LLVM that lowers. Immutable plain data that pickles; it works in worker processes only, since LLVM can abort.

    A failure of LLVM itself ends the worker or is a `ProcessCrashedError`.
    """

    def __hash__(self) -> int: ...

    @property
    def identity(self) -> str:
        """Version and origin, as they go into reports and messages."""
        ...

    def files(self) -> tuple[Path, ...]:
        """The files that it consists of, by whose content one LLVM is told from another. Nothing is loaded."""
        ...

    def newest_ptx_version(self, at_most: int) -> int:
        """The newest PTX ISA version that it can emit and that is not above `at_most`; 90 for 9.0."""
        ...

    def check_target(self, target: Target, ptx_version: int) -> None:
        """Checks that it can emit PTX for a target, as far as that can be told before.

        Raises:
            TargetUnsupportedError: it cannot.
        """
        ...

    def print_module(self, source: bytes, name: str) -> str:
        """Parses textual LLVM IR or bitcode, verifies and prints it.

        Raises:
            InputError: it does not parse or verify; says the line where LLVM says one.
        """
        ...

    def link(self, texts: Texts, name: str) -> str:
        """One module of all, for the triple `TRIPLE` with the data layout that belongs to it, verified and printed.

        Args:
            texts: what to link.
            name: what messages call the result.

        Raises:
            InputError: one does not parse, they do not link, or the result does not verify.
            ToolchainError: this LLVM cannot link.
        """
        ...

    def emit_ptx(
        self,
        texts: Texts,
        target: Target,
        options: CompilationOptions,
        ptx_version: int,
        name: str,
        seconds: dict[str, float],
    ) -> str:
        """Links, optimises and emits PTX, as LLVM writes it.

        Args:
            texts: what to link.
            target: the architecture.
            options: optimisation level and inlining threshold.
            ptx_version: 90 for 9.0.
            name: what messages call the result.
            seconds: CPU seconds of the stages parse, optimize and emit are added here.

        Raises:
            InputError: as `link`.
            TargetUnsupportedError: it cannot emit PTX of that version for the target.
            ToolchainError: as `link`.
        """
        ...
