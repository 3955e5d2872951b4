"""What splitting costs: CPU time to read, outline and plan a case and to render all of its shards."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from benchmarks.cases import Inputs
from parcubin import CompilationOptions, Compiler
from parcubin.pipeline import Build
from parcubin.shards import shard_jobs
from parcubin.split.plan import plan_shards
from parcubin.workers.jobs import Lowering

REPETITIONS = 5
_PTX_VERSION = 90


@dataclass(frozen=True)
class Splitting:
    """Medians, in CPU seconds.

    Attributes:
        outline: reading the files included.
        plan: for a bundle.
        render: every shard as text.
        total: of all three.
    """

    outline: float
    plan: float
    render: float
    total: float


def splitting_cost(inputs: Inputs) -> Splitting:
    """Measures in this process, which is what a user's process spends on it."""
    with Compiler(inputs.case.arch, jobs=1) as compiler:
        times = [_split(compiler, inputs) for _ in range(REPETITIONS)]
    outline, plan, render = (statistics.median(stage) for stage in zip(*times, strict=True))
    return Splitting(outline, plan, render, statistics.median(map(sum, times)))


def _split(compiler: Compiler, inputs: Inputs) -> tuple[float, float, float]:
    build = Build(compiler, inputs.files, CompilationOptions(line_info=inputs.case.line_info))
    build.pool = compiler._pool.group()
    start = time.process_time()
    modules = build._read()
    outlined = time.process_time()
    plan = plan_shards([module.outline for module in modules.all], "bundle")
    planned = time.process_time()
    for shard in shard_jobs(plan, modules.all, build._settings("bundle", None, _PTX_VERSION, modules)):
        source = shard.job.source
        for part in (*source.parts, source.libdevice) if isinstance(source, Lowering) else [source]:
            _ = part and part.text
    return outlined - start, planned - outlined, time.process_time() - planned
