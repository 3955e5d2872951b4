"""How a shard may be compiled when it is going to be linked.

`-ewp` code is as good as whole-program code from sm_90 on and nearly so before; `-c` code is slower. What follows is
each case in which `-ewp` gives wrong code or loses something, found by experiment with 13.5 (docs/correctness.md).
"""

from __future__ import annotations

from parcubin.inspect.ptx import SYSTEM_CALLS, PtxSummary
from parcubin.model import CompilationOptions


def why_not_extensible_whole_program(
    ptx: PtxSummary, options: CompilationOptions, *, sole_constants: bool, other_pointers: bool
) -> str | None:
    """Why a shard must be compiled with `-c`; None when `-ewp` is right.

    Args:
        ptx: the shard.
        options: `-g` corrupts the DWARF of every `-ewp` module but the first.
        sole_constants: this shard alone of the link defines constants, and it is linked first.
        other_pointers: other shards of the link take the addresses of functions or call through pointers.
    """
    if options.debug_info:
        return "full debug info"
    if not ptx.kernels:
        return "no kernels"
    if ptx.has_const and not sole_constants:
        return "constants"
    if set(ptx.externs) - SYSTEM_CALLS - {v.name for v in ptx.variables}:
        return "calls functions of other shards"
    if other_pointers and (ptx.indirect_calls or ptx.address_taken):
        return "function pointers"
    if not set(ptx.aliases).isdisjoint(ptx.address_taken):
        return (
            "the address of an alias"  # "Cannot take address of function 'a' in extensible whole program compilation"
        )
    if any(v.linkage == "extern" and v.size is None and v.space != "shared" for v in ptx.variables):
        return "extern array without a size"
    return None
