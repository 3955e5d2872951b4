"""From runs to the lines of the table: medians over repetitions, ratios within a repetition."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.code_quality import Quality
from benchmarks.lineup import AT_ONCE, BASELINE
from benchmarks.splitting import Splitting


@dataclass(frozen=True)
class Run:
    """What one run of a contender took.

    Attributes:
        contender: its key.
        repetition: counts from 0.
        wall_s, cpu_s, main_peak, tree_peak: see `measure.Measurement`.
        longest_shard_s: CPU seconds of the shard that took longest, where parcubin says so.
    """

    contender: str
    repetition: int
    wall_s: float
    cpu_s: float
    main_peak: int
    tree_peak: int
    longest_shard_s: float | None = None


@dataclass(frozen=True)
class Figures:
    """Medians over the repetitions; memory is the most of all.

    Attributes:
        wall_s: wall time.
        speedup: the baseline's wall time by this one's, of the same repetition.
        speedup_range: least and greatest.
        cpu_s: CPU time.
        cpu_ratio: CPU time by the baseline's of the same repetition.
        main_peak: bytes, of the main process.
        tree_peak: bytes, of all processes at one moment.
        of_limit: wall time by the limit of the same repetition, where it applies.
        quality: the code.
    """

    wall_s: float
    speedup: float
    speedup_range: tuple[float, float]
    cpu_s: float
    cpu_ratio: float
    main_peak: int
    tree_peak: int
    of_limit: float | None
    quality: Quality


@dataclass(frozen=True)
class Row:
    """A line of the table: figures, or in `note` why there are none."""

    contender: str
    name: str
    figures: Figures | None = None
    note: str = ""


@dataclass(frozen=True)
class Limit:
    """What no way of splitting can beat on this machine: the longest shard, or the total work over the throughput of
    independent serial copies, one for each job, whichever is larger. Medians, in seconds.

    Attributes:
        limit_s: the larger, in each repetition.
        throughput_s: wall time of the copies by their number.
        longest_shard_s: of parcubin's bundle.
    """

    limit_s: float
    throughput_s: float
    longest_shard_s: float


@dataclass(frozen=True)
class CaseResult:
    """All about one case.

    Attributes:
        case, title, arch: see `cases.Case`.
        rows: the table's lines.
        limit: None when parcubin's bundle or the copies did not run.
        splitting: what splitting costs.
        splitting_share: its CPU time by the baseline's.
        runs: every run.
    """

    case: str
    title: str
    arch: str
    rows: tuple[Row, ...]
    limit: Limit | None
    splitting: Splitting
    splitting_share: float
    runs: tuple[Run, ...]


def figures_of(contender: str, runs: Sequence[Run], quality: Quality, jobs: int, *, has_limit: bool) -> Figures:
    """The figures of a contender that ran in every repetition."""
    serial = _by_repetition(runs, BASELINE)
    own = _by_repetition(runs, contender)
    speedups = [serial[r].wall_s / run.wall_s for r, run in own.items()]
    limits = _limits(runs, contender, jobs) if has_limit else {}
    return Figures(
        wall_s=statistics.median(run.wall_s for run in own.values()),
        speedup=statistics.median(speedups),
        speedup_range=(min(speedups), max(speedups)),
        cpu_s=statistics.median(run.cpu_s for run in own.values()),
        cpu_ratio=statistics.median(run.cpu_s / serial[r].cpu_s for r, run in own.items()),
        main_peak=max(run.main_peak for run in own.values()),
        tree_peak=max(run.tree_peak for run in own.values()),
        of_limit=statistics.median(own[r].wall_s / limit for r, limit in limits.items()) if limits else None,
        quality=quality,
    )


def limit_of(contender: str, runs: Sequence[Run], jobs: int) -> Limit | None:
    """The limit, with the longest shard of one of parcubin's contenders."""
    limits = _limits(runs, contender, jobs)
    if not limits:
        return None
    copies, own = _by_repetition(runs, AT_ONCE), _by_repetition(runs, contender)
    return Limit(
        limit_s=statistics.median(limits.values()),
        throughput_s=statistics.median(copies[r].wall_s / jobs for r in limits),
        longest_shard_s=statistics.median(own[r].longest_shard_s or 0.0 for r in limits),
    )


def _limits(runs: Sequence[Run], contender: str, jobs: int) -> dict[int, float]:
    """The limit in each repetition that has all that it takes."""
    copies, own = _by_repetition(runs, AT_ONCE), _by_repetition(runs, contender)
    return {
        r: max(copies[r].wall_s / jobs, own[r].longest_shard_s or 0.0)
        for r in sorted(copies.keys() & own.keys())
        if own[r].longest_shard_s is not None
    }


def _by_repetition(runs: Sequence[Run], contender: str) -> dict[int, Run]:
    return {run.repetition: run for run in runs if run.contender == contender}


def case_result_of(data: Mapping[str, Any]) -> CaseResult:
    """What `dataclasses.asdict` made of a result, read from JSON."""
    rows = tuple(Row(**{**row, "figures": _figures_of(row["figures"])}) for row in data["rows"])
    return CaseResult(
        **{
            **data,
            "rows": rows,
            "limit": Limit(**data["limit"]) if data["limit"] else None,
            "splitting": Splitting(**data["splitting"]),
            "runs": tuple(Run(**run) for run in data["runs"]),
        }
    )


def _figures_of(data: Mapping[str, Any] | None) -> Figures | None:
    if data is None:
        return None
    changed = {"speedup_range": tuple(data["speedup_range"]), "quality": Quality(**data["quality"])}
    return Figures(**{**data, **changed})
