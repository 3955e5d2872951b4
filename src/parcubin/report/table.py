"""The tables that the command line prints, as text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from parcubin.report.text import count, seconds, shorten

if TYPE_CHECKING:
    from parcubin.model import KernelInfo
    from parcubin.program import Report

MAX_SLOWEST = 5


def output_width() -> int:
    """Columns of the terminal that standard output is; without one, lines may be as long as they like."""
    return get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def summary_table(report: Report, output: str, width: int) -> str:
    """What a compile did: the totals, CPU seconds a stage, and the slowest shards by their kernels."""
    stages = [(stage, seconds(cpu)) for stage, cpu in report.stages.items()]
    slowest = [_shard(names, time, width - 24) for names, time in report.slowest[:MAX_SLOWEST]]
    rows = [(*stage, shard) for stage, shard in zip(stages, [*slowest, *[""] * len(stages)], strict=False)]
    cached = f" ({report.cached} from the cache)" if report.cached else ""
    kernels, shards, jobs = count(report.kernels, "kernel"), count(report.shards, "shard"), count(report.jobs, "job")
    totals = f"{kernels}, {shards}{cached}, {jobs}, {report.provider}"
    return f"{output}: {totals}, {seconds(report.wall_s)} s\n" + _columns(
        ("stage", "CPU s", "slowest shards"), rows, "lrl"
    )


def kernel_table(kernels: Iterable[KernelInfo], width: int) -> str:
    """One line a kernel; what the file does not say is a dash."""
    headings = ("registers", "shared", "stack", "spills", "code", "kernel")
    rows = [
        (
            *(
                "-" if number is None else str(number)
                for number in (
                    kernel.registers,
                    kernel.shared_bytes,
                    kernel.stack_bytes,
                    kernel.spill_bytes,
                    kernel.code_bytes,
                )
            ),
            shorten(kernel.name, width - 50),
        )
        for kernel in kernels
    ]
    return _columns(headings, rows, "rrrrrl")


def _shard(names: Sequence[str], time: float, width: int) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    first = names[0] if names else "variables"
    return f"{seconds(time)} s  {shorten(first, width - len(more) - 8)}{more}"


def _columns(headings: Sequence[str], rows: Sequence[Sequence[str]], alignment: str) -> str:
    """Aligned columns, two spaces apart; alignment is `l` or `r` for each."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, alignment, strict=True)
        ).rstrip()
        for row in (headings, *rows)
    )
