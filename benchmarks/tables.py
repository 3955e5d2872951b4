"""Results as aligned text, and as the README has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.scaling import Growth, Scaling
from benchmarks.summary import CaseResult, Figures, Row

_HEADINGS = (
    "",
    "wall s",
    "speed",
    "range",
    "CPU s",
    "CPU",
    "main MB",
    "all MB",
    "wall/limit",
    "registers",
    "worst",
    "stack B",
    "more stack",
    "missing",
)

_LEGEND = """\
speed, CPU: against serial, in the same repetition. main MB: peak of the main process. all MB: of all processes at one
moment, without the pages of files, which they share. registers, stack B: sums over all kernels. worst: registers more
than serial in one kernel. more stack: kernels with a larger stack frame, which is where spills are. missing: kernels
that are not in the output. limit: the larger of the longest shard and the work over the throughput of serial copies on
all cores; the work is serial's, so what does less work can beat it."""


def text_table(results: Sequence[CaseResult]) -> str:
    """The one table, with what belongs to each case below it."""
    cells = [_HEADINGS, *(_cells(row) for result in results for row in result.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [_aligned(_HEADINGS, widths), "-" * len(_aligned(_HEADINGS, widths))]
    for result in results:
        lines += [f"{result.title}, {result.arch}", *(_aligned(_cells(row), widths) for row in result.rows)]
        lines += [f"    {row.name}: {row.note}" for row in result.rows if row.note]
        lines += [f"    {line}" for line in _facts(result)]
    return "\n".join([*lines, "", _LEGEND])


def _facts(result: CaseResult) -> Iterator[str]:
    if limit := result.limit:
        yield (
            f"limit {limit.limit_s:.2f} s: longest shard {limit.longest_shard_s:.2f} s, serial copies at once "
            f"{limit.throughput_s:.2f} s each"
        )
    cost = result.splitting
    yield (
        f"splitting {cost.total:.2f} s of CPU time, {result.splitting_share:.1%} of serial's: outline "
        f"{cost.outline:.2f}, plan {cost.plan:.2f}, shards as text {cost.render:.2f}"
    )


def _cells(row: Row) -> tuple[str, ...]:
    name, figures = f"  {row.name}", row.figures
    if figures is None:
        return (name, row.note.partition(":")[0], *[""] * (len(_HEADINGS) - 2))
    low, high = figures.speedup_range
    quality = figures.quality
    return (
        name,
        f"{figures.wall_s:.2f}",
        f"{figures.speedup:.2f}x",
        f"{low:.2f}-{high:.2f}",
        f"{figures.cpu_s:.2f}",
        f"{figures.cpu_ratio:.2f}x",
        f"{figures.main_peak / 1e6:.0f}",
        f"{figures.tree_peak / 1e6:.0f}",
        _of_limit(figures),
        f"{quality.registers:,}",
        f"{quality.most_more_registers:+d}",
        f"{quality.stack:,}",
        str(quality.more_stack),
        str(quality.missing),
    )


def markdown_table(results: Sequence[CaseResult]) -> str:
    """The README's table."""
    headings = ["input", "how", "wall", "speed", "CPU time", "wall / limit", "memory, main", "memory, all"]
    headings += ["registers", "worst kernel"]
    lines = [f"| {' | '.join(headings)} |", f"| --- | --- |{' --: |' * (len(headings) - 2)}"]
    notes = []
    for result in results:
        for row in result.rows:
            start = f"| {result.title}, {result.arch} | {row.name} |"
            if row.figures is None:
                lines.append(f"{start} {row.note.partition(':')[0]} | | | | | | | |")
                notes.append(f"{result.title}, {row.name}: {row.note}")
                continue
            figures, quality = row.figures, row.figures.quality
            missing = f" ({quality.missing} kernels missing)" if quality.missing else ""
            lines.append(
                f"{start} {figures.wall_s:.1f} s | {figures.speedup:.2f}x | {figures.cpu_ratio:.2f}x "
                f"| {_of_limit(figures)} | {figures.main_peak / 1e6:.0f} MB | {figures.tree_peak / 1e6:.0f} MB "
                f"| {quality.registers:,}{missing} | {quality.most_more_registers:+d} |"
            )
    return "\n".join([*lines, *(["", *(f"- {note}" for note in notes)] if notes else [])])


def scaling_table(points: Sequence[Scaling], *, markdown: bool = False) -> str:
    cells = [(p.case, str(p.jobs), f"{p.wall_s:.2f} s", f"{p.speedup:.2f}x") for p in points]
    return _table(("parcubin, bundle", "cores", "wall", "speed"), cells, markdown=markdown)


def growth_table(points: Sequence[Growth], *, markdown: bool = False) -> str:
    cells = [
        (
            p.case,
            str(p.copies),
            f"{p.bytes / 1e6:.0f} MB",
            f"{p.wall_s:.1f} s",
            f"{p.wall_ratio:.3f}",
            f"{p.cpu_ratio:.3f}",
            f"{p.memory_ratio:.3f}",
        )
        for p in points
    ]
    headings = ("parcubin, bundle", "copies", "input", "wall", "wall / copies", "CPU / copies", "main memory / copies")
    return _table(headings, cells, markdown=markdown)


def _of_limit(figures: Figures) -> str:
    return "" if figures.of_limit is None else f"{figures.of_limit:.2f}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, markdown: bool) -> str:
    if markdown:
        dashes = ("---", *["--:"] * (len(headings) - 1))
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, dashes, *rows))
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    return "\n".join(_aligned(cells, widths) for cells in (headings, *rows))


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]).rstrip()
