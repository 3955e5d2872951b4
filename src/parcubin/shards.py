"""From a plan to the jobs of its shards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Literal

from parcubin.errors import ParcubinError, PtxSyntaxError
from parcubin.lower.interface import Llvm
from parcubin.lower.libdevice import part_of_libdevice
from parcubin.model import CompilationOptions, Ptx, Target
from parcubin.modules import Module
from parcubin.providers.interface import CompilationProvider
from parcubin.split.llvm_ir import LlvmOutline
from parcubin.split.llvm_shard import LlvmPart
from parcubin.split.plan import Plan, Shard, ShardPart
from parcubin.split.ptx import PtxOutline
from parcubin.split.ptx_shard import PtxPart, PtxShard
from parcubin.workers.jobs import CompileShard, Lowering, ShardResult

_PLACE = re.compile(r"^ptxas [^\n]+?, line (\d+);", re.M)


@dataclass(frozen=True)
class ShardJob:
    """A shard's job and what the plan says of it.

    Attributes:
        job: the work.
        kernels: names of its kernels.
        cost: predicted work; jobs start costliest first.
        constants: it refers to the constant bank.
        defines_constants: it defines what is in the constant bank.
        pointers: it handles function pointers.
    """

    job: CompileShard
    kernels: tuple[str, ...]
    cost: float
    constants: bool
    defines_constants: bool
    pointers: bool

    def ptx(self, result: ShardResult) -> Ptx:
        """The shard's PTX."""
        source = self.job.source
        if result.ptx is not None:
            return result.ptx
        assert not isinstance(source, Lowering)
        return Ptx(source.text, source.name)

    def located_log(self, log: str) -> str:
        """The compiler's log, with name and line of the input in messages that have the shard's."""
        if not isinstance(self.job.source, PtxShard) or not _PLACE.search(log):
            return log
        origins = self.job.source.rendered().origins

        def place(match: re.Match[str]) -> str:
            line = int(match[1])
            origin = next((o for o in reversed(origins) if o.shard_line <= line), None)
            return match[0] if origin is None else f"ptxas {origin.input_name}, line {origin.line_of(line)};"

        return _PLACE.sub(place, log)

    def located(self, error: ParcubinError) -> ParcubinError:
        """An error of the job, with the line of the input in place of the shard's."""
        source = self.job.source
        if not isinstance(error, PtxSyntaxError) or error.line is None or not isinstance(source, PtxShard):
            return error
        line = error.line
        origin = next((o for o in reversed(source.rendered().origins) if o.shard_line <= line), None)
        if origin is None:
            return error
        located = copy(error)
        located.line = origin.line_of(line)
        located.message = error.message.replace(f"line {line}", f"line {located.line} of {origin.input_name}")
        return located


@dataclass(frozen=True)
class ShardSettings:
    """What the jobs of all shards have in common."""

    target: Target
    options: CompilationOptions
    llvm: Llvm
    provider: CompilationProvider | None
    ptx_version: int
    libdevice: LlvmOutline | None = field(repr=False)
    output: Literal["assembly", "module"]
    relocatable: bool
    extensible_only: bool
    lowered: Mapping[Lowering, Ptx] = field(repr=False)


def shard_jobs(plan: Plan, modules: Sequence[Module], settings: ShardSettings) -> list[ShardJob]:
    """The jobs of all shards, in the order in which they are linked."""
    jobs = [_shard_job(shard, plan, modules, settings) for shard in plan.shards]
    return _with_link_facts(jobs) if settings.output == "module" else jobs


def _shard_job(shard: Shard, plan: Plan, modules: Sequence[Module], settings: ShardSettings) -> ShardJob:
    name = shard_name(shard.kernels or shard.exports)
    source: Lowering | Ptx | PtxShard
    if isinstance(modules[shard.parts[0].module].outline, PtxOutline):
        source = PtxShard(name, tuple(_ptx_parts(shard, plan, modules)), frozenset(shard.exports))
    else:
        lowering = _lowering(shard, plan, modules, settings)
        source = settings.lowered.get(lowering, lowering)
    job = CompileShard(
        name=name,
        source=source,
        target=settings.target,
        options=settings.options,
        provider=settings.provider,
        output=settings.output,
        must_be_plain="functions stay callable" if settings.relocatable or shard.exports else None,
        extensible_only=settings.extensible_only,
    )
    return ShardJob(job, shard.kernels, shard.cost, shard.constants, shard.defines_constants, shard.pointers)


def _ptx_parts(shard: Shard, plan: Plan, modules: Sequence[Module]) -> Iterator[PtxPart]:
    for part in shard.parts:
        outline = modules[part.module].outline
        assert isinstance(outline, PtxOutline)
        yield PtxPart(outline, part.define, part.declare, _names(part, plan))


def _lowering(shard: Shard, plan: Plan, modules: Sequence[Module], settings: ShardSettings) -> Lowering:
    parts = []
    for part in shard.parts:
        outline = modules[part.module].outline
        assert isinstance(outline, LlvmOutline)
        parts.append(LlvmPart(outline, part.define, part.declare, _names(part, plan)))
    return Lowering(
        llvm=settings.llvm,
        parts=tuple(parts),
        target=settings.target,
        options=settings.options,
        ptx_version=settings.ptx_version,
        keep=frozenset((*shard.kernels, *shard.exports)),
        libdevice=part_of_libdevice(parts, settings.libdevice),
    )


def _names(part: ShardPart, plan: Plan) -> Mapping[str, str]:
    """The new names of what the part holds."""
    rename = plan.rename[part.module]
    return {name: rename[name] for name in rename.keys() & (part.define | part.declare)}


def _with_link_facts(jobs: Sequence[ShardJob]) -> list[ShardJob]:
    """Tells each job what decides how it may be compiled and only all of them know."""
    definers = [j for j in jobs if j.defines_constants]
    sole = definers[0] if len(definers) == 1 else None
    pointers = sum(j.pointers for j in jobs)
    facts = [
        replace(j, job=replace(j.job, sole_constants=j is sole, other_pointers=pointers > j.pointers and j.pointers))
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
