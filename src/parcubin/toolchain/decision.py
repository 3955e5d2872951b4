"""What was considered in a choice, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["chosen", "usable", "rejected"]


@dataclass(frozen=True)
class Decision:
    """One candidate and what became of it.

    Attributes:
        candidate: a tool with its path, an LLVM, or a provider.
        verdict: a tool is "usable" or "rejected", an LLVM or a provider "chosen" or "rejected".
        reason: why.
    """

    candidate: str
    verdict: Verdict
    reason: str

    def __str__(self) -> str:
        return f"{self.candidate}: {self.verdict}, {self.reason}"
