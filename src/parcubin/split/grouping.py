"""Which kernels make a shard.

Kernels that share code should be compiled together, since every shard compiles its own copy of what it reaches. And the
grouping must be local: adding, removing or changing a member may change two shards at most, whatever the others are.

So each kernel gets a lineage: of all functions that it reaches, one is drawn by a hash of its name, in proportion to
its cost; then one of what that one does not reach, and so on. Two kernels draw the same function with the probability
of their similarity (consistent weighted sampling). Kernels are ordered by lineage, which makes relatives neighbours,
and the sequence is cut in front of a kernel with a probability in proportion to the cost that starts there, again by a
hash of names. What decides about a cut belongs to the kernel and its lineage alone, hence the locality; the costs of
shards are spread around their mean like waiting times.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache

MEAN_SHARD_COST = 500_000
"""Mean cost of a shard, in CPU microseconds; a ptxas process takes some 20,000 before it does anything."""

ALONE_COST = 2 * MEAN_SHARD_COST
"""Kernels that cost more stand alone."""

LINEAGE_LENGTH = 8
"""More makes no shard of the corpus smaller."""


@dataclass(frozen=True)
class Member:
    """Kernels that must be in one shard; usually one.

    Attributes:
        name: its first kernel. What that one reaches decides where the member stands, so that another kernel which
            joins moves nothing.
        reached: nodes that it reaches, its kernels included.
        reached_by_first: those that its first kernel reaches and other shards copy.
        own: the kernels' nodes.
    """

    name: str
    reached: frozenset[int]
    reached_by_first: frozenset[int]
    own: frozenset[int]


@dataclass(frozen=True)
class _Ancestor:
    name: str
    cost: int


@dataclass(frozen=True)
class Grouping:
    """Groups members into shards.

    Attributes:
        name_of: a node's name.
        cost_of: a node's cost, in CPU microseconds.
        closure_of: everything that a node reaches.
    """

    name_of: Callable[[int], str]
    cost_of: Callable[[int], int]
    closure_of: Callable[[int], Set[int]]

    def cost(self, nodes: Set[int]) -> int:
        return sum(map(self.cost_of, nodes))

    def groups(self, members: Sequence[Member]) -> Iterator[list[Member]]:
        """Every member in exactly one group."""
        rank = cache(self._rank)
        closure = cache(self.closure_of)
        cost = {m.name: self.cost(m.reached) for m in members}
        lineages = {m.name: self._lineage(m, rank, closure) for m in members if cost[m.name] <= ALONE_COST}
        group: list[Member] = []
        previous: list[_Ancestor] = []
        for member in sorted(members, key=lambda m: ([a.name for a in lineages.get(m.name, ([], 0))[0]], m.name)):
            if cost[member.name] > ALONE_COST:
                yield [member]
                continue
            lineage, rest = lineages[member.name]
            if group and _is_cut(member.name, lineage, rest, previous):
                yield group
                group = []
            group.append(member)
            previous = lineage
        if group:
            yield group

    def _rank(self, node: int) -> float:
        """Draws the node with the least rank in proportion to the nodes' costs."""
        return -math.log(drawn("draw", self.name_of(node))) / max(1, self.cost_of(node))

    def _lineage(
        self, member: Member, rank: Callable[[int], float], closure: Callable[[int], Set[int]]
    ) -> tuple[list[_Ancestor], int]:
        """The lineage, and the cost of what it does not cover."""
        rest = set(member.reached_by_first - member.own)
        lineage: list[_Ancestor] = []
        for node in sorted(rest, key=rank):
            if len(lineage) == LINEAGE_LENGTH or not rest:
                break
            if node in rest and self.cost_of(node):
                covered = rest & closure(node)
                lineage.append(_Ancestor(self.name_of(node), self.cost(covered)))
                rest -= covered
        return lineage, self.cost(member.own & member.reached_by_first | rest)


def _is_cut(name: str, lineage: Sequence[_Ancestor], rest: int, previous: Sequence[_Ancestor]) -> bool:
    """Whether a shard starts with the member, by its own cost or by the cost of what it is the first to have."""
    if drawn("cut", name) < rest / MEAN_SHARD_COST:
        return True
    common = 0
    while common < min(len(lineage), len(previous)) and lineage[common].name == previous[common].name:
        common += 1
    return any(
        drawn("cut", *(a.name for a in lineage[: i + 1])) < lineage[i].cost / MEAN_SHARD_COST
        for i in range(common, len(lineage))
    )


def drawn(*key: str) -> float:
    """A number in (0, 1], as if by chance, that depends on the key alone."""
    digest = hashlib.sha256("\0".join(key).encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 1) / 2**64
