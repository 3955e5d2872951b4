"""Versions of NVIDIA's compilers that must not, or should not, be used."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

from parcubin.model import Target
from parcubin.toolchain.version import Version

Verdict = Literal["refused", "excluded", "warning"]


@dataclass(frozen=True)
class KnownIssue:
    """A range of versions with a fault.

    Attributes:
        tools: names of the tools that have it, as `Tool.name`.
        first: first version with the fault.
        fixed: first version without it.
        verdict: `refused` whatever the user says, `excluded` unless forced, or a `warning`.
        reason: what is wrong, continuing "ptxas 12.3.103 ...".
        first_target: lowest compute capability concerned, as `Target.number`.
        last_target: highest one concerned; None for no end.
    """

    tools: tuple[str, ...]
    first: Version
    fixed: Version
    verdict: Verdict
    reason: str
    first_target: int = 0
    last_target: int | None = None


_ALL = ("ptxas", "nvlink", "nvptxcompiler", "nvJitLink")
_NEVER = Version(sys.maxsize, 0)

# Targets are those that `ptxas --help` lists. The exclusions are those of OpenXLA's CUDA backend.
KNOWN_ISSUES = (
    KnownIssue(("ptxas",), Version(0, 0), Version(11, 8), "refused", "is older than 11.8, the oldest that works"),
    KnownIssue(("ptxas",), Version(12, 3, 103), Version(12, 3, 104), "excluded", "is known to miscompile"),
    KnownIssue(
        ("nvJitLink",),
        Version(12, 0),
        Version(12, 5),
        "excluded",
        "leaks memory with every link (12.0 to 12.4)",
    ),
    KnownIssue(
        ("ptxas", "nvptxcompiler", "nvJitLink"),
        Version(12, 0),
        Version(12, 6, 85),
        "warning",
        "can miscompile clamping on sm_90 and later; 12.6.85 is the first without the fault",
        first_target=90,
    ),
    KnownIssue(_ALL, Version(12, 0), _NEVER, "refused", "does not know targets before sm_50", last_target=49),
    KnownIssue(_ALL, Version(13, 0), _NEVER, "refused", "does not know targets before sm_75", last_target=74),
)


def known_issues(tool: str, version: Version, target: Target | None = None) -> list[KnownIssue]:
    """The faults of this version, for this target (None: for any target, but not that it does not know old ones)."""
    return [
        issue
        for issue in KNOWN_ISSUES
        if tool in issue.tools
        and issue.first <= version < issue.fixed
        and (target is None or target.number >= issue.first_target)
        and (issue.last_target is None or (target is not None and target.number <= issue.last_target))
    ]
