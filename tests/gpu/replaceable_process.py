"""A process for what may spoil it, such as a GPU's context."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


class ReplaceableProcess:
    """A process that runs one function after the other, started when it is needed. After `replace` the next function
    gets another."""

    def __init__(self, prepare: Callable[[], None] | None = None) -> None:
        """Starts nothing.

        Args:
            prepare: what the process runs first.
        """
        self._prepare = prepare
        self._pool: ProcessPoolExecutor | None = None

    def run(self, seconds: float, function: Callable[P, ResultT], *arguments: P.args, **options: P.kwargs) -> ResultT:
        """Runs a function.

        Raises:
            TimeoutError: it is not done after so many seconds.
            BrokenExecutor: the process ended.
        """
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), self._prepare)
        return self._pool.submit(function, *arguments, **options).result(seconds)

    def replace(self) -> None:
        """Ends the process."""
        if self._pool:
            for process in list(self._pool._processes.values()):
                process.kill()
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None
