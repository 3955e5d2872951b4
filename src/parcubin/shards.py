"""From a plan to the jobs of its shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from parcubin.model import CompilationOptions, Ptx, Target
from parcubin.modules import LlvmModule, PtxModule
from parcubin.providers.interface import CompilationProvider
from parcubin.split.outline import Binding, SymbolKind
from parcubin.split.plan import Plan, Shard
from parcubin.workers.jobs import CompileShard, Lowering

_PTX_COST_FACTOR = 1.0
"""A character of PTX takes about as long to compile as one of LLVM IR to lower and compile (corpus, ptxas 13.5)."""


@dataclass(frozen=True)
class ShardJob:
    """A shard's job and what the plan says of it.

    Attributes:
        job: the work.
        kernels: names of its kernels.
        cost: predicted work; jobs start costliest first.
        constants: it refers to the constant bank.
        pointers: it handles function pointers.
    """

    job: CompileShard
    kernels: tuple[str, ...]
    cost: float
    constants: bool
    pointers: bool


@dataclass(frozen=True)
class ShardSettings:
    """What the jobs of all shards have in common."""

    target: Target
    options: CompilationOptions
    provider: CompilationProvider | None
    ptx_version: int
    libdevice: Path | None
    output: Literal["assembly", "module"]
    relocatable: bool
    lowered: Mapping[Lowering, Ptx] = field(repr=False)


def shard_jobs(
    plan: Plan, llvm: Sequence[LlvmModule], ptx: Sequence[PtxModule], settings: ShardSettings
) -> list[ShardJob]:
    """The jobs of all shards, in the order in which they are linked."""
    needed = needed_of_ptx(llvm, ptx)
    jobs = [_llvm_job(shard, plan, llvm, settings) for shard in plan.shards]
    jobs += [_ptx_job(module, needed, settings) for module in ptx]
    # Variables that no kernel holds come first, then kernels by name.
    jobs.sort(key=lambda j: j.kernels)
    if settings.output == "module":
        jobs = _with_link_facts(jobs)
    return jobs


def needed_of_ptx(llvm: Sequence[LlvmModule], ptx: Sequence[PtxModule]) -> frozenset[str]:
    """Symbols that an input refers to and does not define, so that a PTX module has to keep them callable."""
    needed = {name for module in ptx for name in module.summary.externs}
    for module in llvm:
        needed |= {
            module.outline.plain_name(s.name)
            for s in module.outline.symbols.values()
            if not s.defined and not s.name.startswith(("llvm.", "__nv_"))
        }
    return frozenset(needed)


def needed_of_llvm(ptx: Sequence[PtxModule]) -> frozenset[str]:
    """Symbols that PTX modules refer to and do not define."""
    return frozenset(name for module in ptx for name in module.summary.externs)


def _llvm_job(shard: Shard, plan: Plan, llvm: Sequence[LlvmModule], settings: ShardSettings) -> ShardJob:
    lowering = Lowering(
        parts=tuple(
            (
                llvm[part.module].source.name,
                llvm[part.module].outline.render(part.define, part.declare, plan.rename[part.module]),
            )
            for part in shard.parts
        ),
        target=settings.target,
        options=settings.options,
        ptx_version=settings.ptx_version,
        keep=frozenset((*shard.kernels, *shard.exports)),
        libdevice=settings.libdevice,
    )
    must_be_plain = "functions stay callable" if settings.relocatable or shard.exports else None
    job = CompileShard(
        name=shard_name(shard.kernels or shard.exports),
        source=settings.lowered.get(lowering, lowering),
        target=settings.target,
        options=settings.options,
        provider=settings.provider,
        output=settings.output,
        must_be_plain=must_be_plain,
    )
    return ShardJob(job, shard.kernels, shard.cost, shard.constants, shard.pointers)


def _ptx_job(module: PtxModule, needed: frozenset[str], settings: ShardSettings) -> ShardJob:
    summary = module.summary
    defined = {s.name for s in (*summary.functions, *summary.variables) if s.linkage in ("visible", "weak", "common")}
    callable_functions = settings.relocatable or needed & {f.name for f in summary.functions} & defined
    job = CompileShard(
        name=module.ptx.name,
        source=module.ptx,
        target=settings.target,
        options=settings.options,
        provider=settings.provider,
        output=settings.output,
        must_be_plain="functions stay callable" if callable_functions else None,
    )
    return ShardJob(
        job,
        tuple(sorted(k.name for k in summary.kernels)),
        len(module.ptx.text) * _PTX_COST_FACTOR,
        summary.has_const,
        summary.indirect_calls or bool(summary.address_taken),
    )


def _with_link_facts(jobs: Sequence[ShardJob]) -> list[ShardJob]:
    """Tells each job what decides how it may be compiled and only all of them know."""
    holders = [j for j in jobs if j.constants]
    sole = holders[0] if len(holders) == 1 else None
    pointers = sum(j.pointers for j in jobs)
    facts = [
        replace(
            j, job=replace(j.job, sole_constants=j is sole, other_pointers=pointers > j.pointers and j.pointers)
        )
        for j in jobs
    ]
    if sole is not None:
        # `-ewp` code addresses the constant bank without relocations, from its start.
        position = jobs.index(sole)
        facts.insert(0, facts.pop(position))
    return facts


def shard_name(kernels: Sequence[str]) -> str:
    """What messages call a shard: "softmax and 3 more"."""
    if not kernels:
        return "the shard of variables"
    more = f" and {len(kernels) - 1} more" if len(kernels) > 1 else ""
    return kernels[0] + more
