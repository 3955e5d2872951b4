"""Whether a program is compiled in parts where the alternative is to compile it whole."""

from __future__ import annotations

from parcubin.split.plan import Plan, PlanKind

FIRST_WHOLE_PROGRAM_LINK = 90
"""The lowest `Target.number` for which linked code is as good as that of a whole program (docs/correctness.md)."""

LARGEST_SHARE = 0.8
"""Of the predicted work, what the costliest shard may have."""


def why_not_in_parts(plan: Plan, kind: PlanKind) -> str | None:
    """Why a program is better compiled whole; None when it is not.

    Args:
        plan: its shards.
        kind: what they were planned for.
    """
    costs = [shard.cost for shard in plan.shards if shard.kernels or shard.exports]
    if len(costs) < 2:
        return "it is one shard"
    if max(costs) > LARGEST_SHARE * sum(costs):
        return "one shard takes most of the time"
    if kind == "relocatable" and any(plan.rename):
        # Under one name in several files, they would clash in the link to come.
        return "local variables that shards share would become visible"
    return None
