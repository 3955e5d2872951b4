"""Worker processes on this machine."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

from parcubin.errors import InternalCompilerError, ParcubinError, ProcessCrashedError, WorkerError
from parcubin.workers.process import Job, receive, send

ResultT = TypeVar("ResultT")

_LOG_TAIL = 8192
_SIGNALS_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FATAL = re.compile(r"(?:LLVM ERROR: |(?=Assertion ))(.*)")
_FUNCTION_AT_FAULT = re.compile(r"^In function: (\S+)$", re.M)


_CLOSED = "The compiler is closed."


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def as_compiler_error(error: ParcubinError, what: str, kernels: Sequence[str] = ()) -> ParcubinError:
    """The error; the crash of a worker becomes that of the compiler that ran in it.

    Args:
        error: what a job failed with.
        what: what was compiled.
        kernels: those in it; if LLVM names the one at fault, that one is the error's.
    """
    if not isinstance(error, ProcessCrashedError) or error.signal in _SIGNALS_FROM_OUTSIDE:
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
    job: Job[Any] | None = field(compare=False)
    future: Future[Any] = field(compare=False)


class WorkerPool:
    """Runs jobs in worker processes, costliest first. Safe to use from several threads.

    Workers are started with `python -m` and spoken to over pipes, never with `multiprocessing`: the host may be a
    script without a main guard, a notebook or a process with threads and a GPU context. They lead process groups of
    their own and die when the pool is closed, collected, or its process ends.
    """

    def __init__(self, size: int, *, llvmlite: bool = False) -> None:
        """Starts `size` workers. With `llvmlite` they load it while the caller prepares the first jobs.

        Raises:
            WorkerError: a worker cannot be started, or there is no folder for temporary files.
        """
        self.size = size
        try:
            temporary = tempfile.mkdtemp(prefix="parcubin-")
        except OSError as error:
            raise WorkerError(f"There is no folder for temporary files: {error.strerror or error}.") from None
        self._state = _State(temporary, llvmlite)
        self._finalizer = weakref.finalize(self, self._state.close)
        try:
            for _ in range(size):
                self._state.add_worker()
        except BaseException:
            self.close()
            raise

    def submit(self, job: Job[ResultT], cost: float = float("inf")) -> Future[ResultT]:
        """Queues a job. Of the waiting jobs the costliest runs first; without a cost, before all others.

        The future's exception is the `ParcubinError` that the job raised, or `ProcessCrashedError`.

        Raises:
            WorkerError: the pool is closed, or belongs to the process that this one was forked from.
        """
        return self._state.submit(job, cost)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._state.closed

    def close(self) -> None:
        """Ends all workers at once. Waiting and running jobs fail. Closing twice is fine."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _State:
    """What a pool and the threads that feed its workers share. It does not hold the pool, so that an unreferenced pool
    is collected."""

    def __init__(self, temporary: str, llvmlite: bool) -> None:
        self.closed = False
        self._temporary = temporary
        self._llvmlite = llvmlite
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._tasks: queue.PriorityQueue[_Task] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._workers: list[_Worker] = []

    def add_worker(self) -> None:
        worker = _Worker(self._temporary, self._llvmlite)
        self._workers.append(worker)
        threading.Thread(target=self._serve, args=(worker,), name="parcubin-worker", daemon=True).start()

    def submit(self, job: Job[ResultT], cost: float) -> Future[ResultT]:
        future: Future[ResultT] = Future()
        if os.getpid() != self._owner:
            raise WorkerError(
                "This compiler belongs to the process that this one was forked from. Make a new one here."
            )
        with self._lock:
            if self.closed:
                raise WorkerError(_CLOSED)
            self._tasks.put(_Task(-cost, next(self._numbers), job, future))
        return future

    def close(self) -> None:
        if os.getpid() != self._owner:
            return
        with self._lock:
            self.closed = True
            waiting = self._take_all()
            for _ in self._workers:
                self._tasks.put(_Task(0, next(self._numbers), None, Future()))
        for task in waiting:
            if task.future.set_running_or_notify_cancel():
                task.future.set_exception(WorkerError(_CLOSED))
        for worker in self._workers:
            worker.stop()
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _take_all(self) -> list[_Task]:
        tasks = []
        with contextlib.suppress(queue.Empty):
            while True:
                tasks.append(self._tasks.get_nowait())
        return tasks

    def _serve(self, worker: _Worker) -> None:
        """Feeds one worker, in a thread of its own."""
        while (task := self._tasks.get()).job is not None:
            if not task.future.set_running_or_notify_cancel():
                continue
            try:
                result = worker.run(task.job)
            except ParcubinError as error:
                task.future.set_exception(WorkerError(_CLOSED) if self.closed else error)
            except BaseException as error:
                task.future.set_exception(WorkerError(f"A worker could not be used: {error!r}."))
            else:
                task.future.set_result(result)


class _Worker:
    """One worker process, restarted after it died."""

    def __init__(self, temporary: str, llvmlite: bool) -> None:
        self._arguments = [temporary, *(["llvmlite"] if llvmlite else [])]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._start()

    def _start(self) -> None:
        with self._lock:
            if self._stopped:
                raise WorkerError(_CLOSED)
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
            try:
                self._stderr = os.memfd_create("parcubin-worker")
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "parcubin.workers.process", *self._arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    env=environment,
                    start_new_session=True,
                )
            except OSError as error:
                raise WorkerError(f"A worker process cannot be started: {error.strerror or error}.") from None

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

    def _crash(self, process: subprocess.Popen[bytes]) -> ProcessCrashedError:
        with self._lock:
            if self._process is not process:  # `stop` has it, and closes what belongs to it
                return ProcessCrashedError(_CLOSED, signal=None, log="")
            self._process = None
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its children too
        status = process.wait()
        size = os.fstat(self._stderr).st_size
        log = os.pread(self._stderr, _LOG_TAIL, max(0, size - _LOG_TAIL)).decode(errors="replace").strip()
        self._release(process)
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
        return ProcessCrashedError(f"A worker process {how}.", signal=-status if status < 0 else None, log=log)

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
