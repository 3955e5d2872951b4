"""Plots of results, as SVG and PNG. Imported where plots are drawn, because matplotlib is for them alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from benchmarks.scaling import Scaling
from benchmarks.summary import CaseResult

_OWN, _OTHER, _LIMIT = "#76b900", "#8c8c8c", "#c0392b"
_COLUMNS = 2

matplotlib.rcParams["svg.hashsalt"] = "parcubin"  # the same file for the same data


def draw(
    cases: Sequence[CaseResult], scaling: Sequence[Scaling], machine: Mapping[str, str], stem: Path
) -> Iterator[Path]:
    """Writes the plots that there is data for, and says where."""
    about = f"{machine['cpu']}, {machine['cores']} cores"
    if cases:
        yield from _save(_wall_times(cases, about), stem.with_name(f"{stem.name}-wall"))
    if scaling:
        yield from _save(_scaling(scaling, about), stem.with_name(f"{stem.name}-scaling"))


def _wall_times(cases: Sequence[CaseResult], about: str) -> Figure:
    """A bar for every contender, labelled with what its code costs in registers."""
    columns = min(_COLUMNS, len(cases))
    lines = -(-len(cases) // columns)
    figure = Figure(figsize=(6 * columns, 3 * lines + 0.5), layout="constrained")
    figure.suptitle(f"Wall time in seconds, and registers of all kernels against serial\n{about}", fontsize=11)
    all_axes = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axes, result in zip(all_axes, cases, strict=False):
        rows = [(row.name, row.figures) for row in result.rows if row.figures]
        serial = rows[0][1].quality.registers
        bars = axes.barh(
            [name for name, _ in rows],
            [figures.wall_s for _, figures in rows],
            color=[_OWN if name.startswith("parcubin") else _OTHER for name, _ in rows],
        )
        labels = [f"{f.wall_s:.1f} s, {f.quality.registers / serial - 1:+.1%}" for _, f in rows]
        axes.bar_label(bars, labels, padding=3, fontsize=8)
        if result.limit:
            axes.axvline(result.limit.limit_s, color=_LIMIT, linestyle="--", linewidth=1, label="limit")
            axes.legend(loc="lower right", fontsize=8, frameon=False)
        axes.set_title(f"{result.title}, {result.arch}", fontsize=10)
        axes.invert_yaxis()
        axes.margins(x=0.25)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in all_axes[len(cases) :]:
        axes.set_visible(False)
    return figure


def _scaling(points: Sequence[Scaling], about: str) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    by_case: dict[str, list[Scaling]] = defaultdict(list)
    for point in points:
        by_case[point.case].append(point)
    cores = sorted({point.jobs for point in points})
    axes.plot(cores, [count / cores[0] for count in cores], color=_LIMIT, linestyle="--", linewidth=1, label="ideal")
    for case, own in by_case.items():
        axes.plot([p.jobs for p in own], [p.speedup for p in own], marker="o", label=f"parcubin, bundle: {case}")
        for point in own:
            axes.annotate(
                f"{point.wall_s:.1f} s",
                (point.jobs, point.speedup),
                textcoords="offset points",
                xytext=(6, -11),
                fontsize=8,
            )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(cores, [str(count) for count in cores])
    axes.set_yticks(cores, [f"{count / cores[0]:g}x" for count in cores])
    axes.set_xlabel("cores")
    axes.set_ylabel("speed")
    axes.set_title(about, fontsize=10)
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _save(figure: Figure, stem: Path) -> Iterator[Path]:
    for suffix, metadata in ((".svg", {"Date": None}), (".png", {})):
        path = stem.with_name(stem.name + suffix)
        figure.savefig(path, dpi=150, metadata=metadata)
        yield path
