"""How far a compile is: the event that the pipeline sends, and what shows it on a terminal or in a log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from parcubin.report.text import shorten

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@dataclass(frozen=True)
class ProgressEvent:
    """One step forward.

    Attributes:
        done: shards finished so far.
        total: shards in all; 0 while that is not known.
        stage: what runs now: `plan`, `compile`, `link`.
        kernels: kernels of the shard that was just finished; empty when the event is not a shard's.
    """

    done: int
    total: int
    stage: str
    kernels: tuple[str, ...] = ()


ProgressCallback = Callable[[ProgressEvent], None]


@contextmanager
def show_progress(stream: TextIO | None = None) -> Iterator[ProgressCallback]:
    """Shows the events sent to the callback: a bar when the stream is a terminal, plain lines otherwise.

    Args:
        stream: where to write; standard error when None.
    """
    stream = stream or sys.stderr
    if not stream.isatty():
        yield PlainLines(stream)
        return

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<8}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[kernel]}", markup=False),
    )
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        yield _Bar(progress, progress.add_task("plan", total=None, kernel=""))


@dataclass(frozen=True)
class _Bar:
    progress: Progress
    task: TaskID

    def __call__(self, event: ProgressEvent) -> None:
        room = max(self.progress.console.width - 70, 0)
        self.progress.update(
            self.task,
            completed=event.done,
            total=event.total or None,
            description=event.stage,
            kernel=shorten(event.kernels[0], room) if event.kernels else "",
        )


class PlainLines:
    """Writes a line when the stage changes and at every tenth of the shards, so that a log stays short."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = ("", 0)

    def __call__(self, event: ProgressEvent) -> None:
        step = (event.stage, event.done * 10 // event.total if event.total else 0)
        if step != self._last:
            self._last = step
            count = f": {event.done} of {event.total} shards" if event.total else ""
            print(f"{event.stage}{count}", file=self._stream, flush=True)
