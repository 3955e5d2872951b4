"""Worker processes on this machine."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

from parcubin.errors import InternalCompilerError, ParcubinError, WorkerError
from parcubin.workers.process import Job, receive, send

ResultT = TypeVar("ResultT")

_LOG_TAIL = 8192
_SIGNALS_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FATAL = re.compile(r"(?:LLVM ERROR: |(?=Assertion ))(.*)")
_FUNCTION_AT_FAULT = re.compile(r"^In function: (\S+)$", re.M)


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


class WorkerCrashedError(WorkerError):
    """A worker died while it ran a job.

    Attributes:
        signal: the signal that ended it; None when it exited.
    """

    def __init__(self, message: str, *, signal: int | None, log: str) -> None:
        super().__init__(message, log=log)
        self.signal = signal


def as_compiler_error(error: ParcubinError, what: str, kernels: Sequence[str] = ()) -> ParcubinError:
    """The error; the crash of a worker becomes that of the compiler that ran in it.

    Args:
        error: what a job failed with.
        what: what was compiled.
        kernels: those in it; if LLVM names the one at fault, that one is the error's.
    """
    if not isinstance(error, WorkerCrashedError) or error.signal in _SIGNALS_FROM_OUTSIDE:
        return error
    complaint = _FATAL.search(error.log)
    function = _FUNCTION_AT_FAULT.search(error.log)
    how = f" ({signal.Signals(error.signal).name})" if error.signal else ""
    return InternalCompilerError(
        f"The compiler crashed on {what}{how}" + (f": {complaint[1]}" if complaint else "."),
        kernels=[function[1]] if function and function[1] in kernels else kernels,
        log=error.log,
    )


@dataclass(order=True)
class _Task:
    priority: float
    number: int
    job: Job[Any] = field(compare=False)
    future: Future[Any] = field(compare=False)


class WorkerPool:
    """Runs jobs in worker processes, costliest first. Safe to use from several threads.

    Workers are started with `python -m` and spoken to over pipes, never with `multiprocessing`: the host may be a
    script without a main guard, a notebook or a process with threads and a GPU context. They lead process groups of
    their own and die when the pool is closed, collected, or its process ends.
    """

    def __init__(self, size: int) -> None:
        """Starts `size` workers; they load LLVM while the caller prepares the first jobs."""
        self.size = size
        self._tasks: queue.PriorityQueue[_Task] = queue.PriorityQueue()
        self._lock = threading.Lock()
        self._count = 0
        self._closed = threading.Event()
        self._workers: list[_Worker] = []
        self._finalizer = weakref.finalize(self, _stop, self._workers, self._closed, self._tasks, size)
        for _ in range(size):
            worker = _Worker()
            self._workers.append(worker)
            threading.Thread(
                target=_serve, args=(worker, self._tasks, self._closed), name="parcubin-worker", daemon=True
            ).start()

    def submit(self, job: Job[ResultT], cost: float = float("inf")) -> Future[ResultT]:
        """Queues a job. Of the waiting jobs the costliest runs first; without a cost, before all others.

        The future's exception is the `ParcubinError` that the job raised, or `WorkerCrashedError`.
        """
        future: Future[ResultT] = Future()
        with self._lock:
            if self._closed.is_set():
                raise WorkerError("The compiler is closed.")
            self._count += 1
            self._tasks.put(_Task(-cost, self._count, job, future))
        return future

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed.is_set()

    def close(self) -> None:
        """Ends all workers at once. Waiting and running jobs fail. Closing twice is fine."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Worker:
    """One worker process, restarted after it died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._start()

    def _start(self) -> None:
        with self._lock:
            if self._stopped:
                raise WorkerError("The compiler is closed.")
            self._stderr = os.memfd_create("parcubin-worker")
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "parcubin.workers.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=environment,
                start_new_session=True,
            )

    def run(self, job: Job[Any]) -> Any:
        if self._process is not None and self._process.poll() is not None:
            self._crash(self._process)  # it died while it was idle
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, job)
            succeeded, value = receive(process.stdout)
        except (EOFError, OSError):
            raise self._crash(process) from None
        if not succeeded:
            raise value
        return value

    def _crash(self, process: subprocess.Popen[bytes]) -> WorkerCrashedError:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its children too
        status = process.wait()
        size = os.fstat(self._stderr).st_size
        log = os.pread(self._stderr, _LOG_TAIL, max(0, size - _LOG_TAIL)).decode(errors="replace").strip()
        self._release(process)
        with self._lock:
            self._process = None
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
        return WorkerCrashedError(f"A worker process {how}.", signal=-status if status < 0 else None, log=log)

    def stop(self) -> None:
        """Kills the process and its children."""
        with self._lock:
            self._stopped = True
            process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._release(process)

    def _release(self, process: subprocess.Popen[bytes]) -> None:
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        with contextlib.suppress(OSError):
            os.close(self._stderr)


def _serve(worker: _Worker, tasks: queue.PriorityQueue[_Task], closed: threading.Event) -> None:
    """A thread that feeds one worker. It must not hold the pool, so that an unreferenced pool is collected."""
    while True:
        task = tasks.get()
        if closed.is_set():
            task.future.cancel()
            return
        if not task.future.set_running_or_notify_cancel():
            continue
        try:
            result = worker.run(task.job)
        except ParcubinError as error:
            task.future.set_exception(error)
        except BaseException as error:
            task.future.set_exception(WorkerError(f"A worker could not be used: {error!r}."))
        else:
            task.future.set_result(result)
        del task


def _stop(workers: list[_Worker], closed: threading.Event, tasks: queue.PriorityQueue[_Task], size: int) -> None:
    closed.set()
    for worker in workers:
        worker.stop()
    for number in range(size):
        tasks.put(_Task(float("-inf"), -number, _Nothing(), Future()))


class _Nothing:
    def run(self) -> None: ...
