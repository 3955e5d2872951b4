"""What LLVM can emit PTX for; of the LLVM 22 of llvmlite, as a table (llvm/lib/Target/NVPTX/NVPTX.td).

LLVM answers an unknown target with a note and goes on, and ends the process over a PTX ISA version that is too old for
the target.
"""

from __future__ import annotations

from collections.abc import Iterable

from parcubin.errors import TargetUnsupportedError
from parcubin.model import Target

LATEST_PTX_VERSION = 90
"""Newest PTX ISA version: 90 for 9.0."""

FIRST_PTX_VERSIONS = {
    **dict.fromkeys(("sm_20", "sm_21", "sm_30", "sm_35"), 32),
    **dict.fromkeys(("sm_32", "sm_50"), 40),
    **dict.fromkeys(("sm_37", "sm_52"), 41),
    "sm_53": 42,
    **dict.fromkeys(("sm_60", "sm_61", "sm_62"), 50),
    "sm_70": 60,
    "sm_72": 61,
    "sm_75": 63,
    "sm_80": 70,
    "sm_86": 71,
    "sm_87": 74,
    **dict.fromkeys(("sm_89", "sm_90"), 78),
    "sm_90a": 80,
    **dict.fromkeys(("sm_100", "sm_100a", "sm_101", "sm_101a"), 86),
    **dict.fromkeys(("sm_120", "sm_120a"), 87),
    **dict.fromkeys(("sm_100f", "sm_101f", "sm_120f"), 88),
    **dict.fromkeys(("sm_103", "sm_103a", "sm_103f", "sm_121", "sm_121a", "sm_121f"), 88),
    **dict.fromkeys(("sm_88", "sm_110", "sm_110a", "sm_110f"), 90),
}
"""The targets, and the oldest PTX ISA version for each."""


def unknown_target(target: Target, known: Iterable[str], llvm: str) -> TargetUnsupportedError:
    """The error for a target that an LLVM does not know.

    Args:
        target: the architecture.
        known: names of those that it knows.
        llvm: what messages call it.
    """
    newest = max(known, key=lambda name: (Target(name).number, name))
    return TargetUnsupportedError(
        f"{llvm} does not know the target {target}. The newest that it knows is {newest}; "
        "use PTX as the input, or an older target."
    )


def too_old_ptx(target: Target, first: int, ptx_version: int) -> TargetUnsupportedError:
    """The error for a PTX ISA version that is older than the first for a target."""
    return TargetUnsupportedError(
        f"{target} needs PTX ISA {_dotted(first)}, and {_dotted(ptx_version)} is the newest that the toolchain "
        "knows. Use a newer toolchain, or an older target."
    )


def _dotted(version: int) -> str:
    return f"{version // 10}.{version % 10}"
