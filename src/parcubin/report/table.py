"""The tables that the command line prints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from parcubin.report.text import seconds, shorten

if TYPE_CHECKING:
    from rich.console import Console

    from parcubin.model import KernelInfo
    from parcubin.pipeline import Report

MAX_SLOWEST = 5


def stdout_console() -> Console:
    """A console for tables: as wide as the terminal, or as wide as the table where the output is no terminal."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = 100_000
    return console


def print_summary(report: Report, output: str, console: Console) -> None:
    """Prints what a compile did: the totals, CPU seconds a stage and the slowest shards by their kernels."""
    from rich.table import Table
    from rich.text import Text

    console.print(
        f"{output}: {report.kernels} kernels, {report.shards} shards, {report.jobs} jobs, {report.provider}, "
        f"{seconds(report.wall_s)} s",
        markup=False,
    )
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("stage")
    table.add_column("CPU s", justify="right")
    table.add_column("slowest shards")
    slowest = report.slowest[:MAX_SLOWEST]
    for index in range(max(len(report.stages), len(slowest))):
        stage, cpu = list(report.stages.items())[index] if index < len(report.stages) else ("", None)
        row = [stage, "" if cpu is None else seconds(cpu)]
        if index < len(slowest):
            names, time = slowest[index]
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            row.append(f"{seconds(time)} s  {shorten(names[0], console.width - 40)}{more}")
        table.add_row(*map(Text, row))
    console.print(table)


def print_kernels(kernels: Iterable[KernelInfo], console: Console) -> None:
    """Prints one line a kernel; what the file does not say is a dash."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    headings = ("registers", "shared", "stack", "spills", "code")
    for heading in headings:
        table.add_column(heading, justify="right")
    table.add_column("kernel")
    room = console.width - sum(len(heading) + 2 for heading in headings) - 6
    for kernel in kernels:
        numbers = (
            kernel.registers,
            kernel.shared_bytes,
            kernel.stack_bytes,
            kernel.spill_bytes,
            kernel.code_bytes,
        )
        cells = ["-" if number is None else str(number) for number in numbers]
        table.add_row(*map(Text, cells), Text(shorten(kernel.name, room)))
    console.print(table)
