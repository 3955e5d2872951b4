"""Worker processes on this machine, and which job runs when."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import queue
import select
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self, TypeVar

from parcubin.errors import ParcubinError, WorkerError
from parcubin.log import logger
from parcubin.workers.jobserver import Jobserver
from parcubin.workers.machine import available_memory
from parcubin.workers.memory import WORKER_BYTES, memory_in_use, predicted_memory
from parcubin.workers.process import Job
from parcubin.workers.worker import TimeLimit, Worker

_log = logger("pool")

ResultT = TypeVar("ResultT")

_CLOSED = "The compiler is closed."
_CANCELLED = "The compile was cancelled."

_no_fork = threading.Lock()
"""Held by what holds a lock of a library, which the child of a fork would wait for in vain."""
os.register_at_fork(before=_no_fork.acquire, after_in_parent=_no_fork.release, after_in_child=_no_fork.release)

_SHARE_OF_AVAILABLE = 0.9
"""Of the memory that is there, what is planned with."""

_LOOK_AGAIN = 0.2
"""Seconds after which a job that found no room tries again: others come and go on this machine, too."""


class WorkerPool:
    """Runs jobs in worker processes, costliest first. Safe to use from several threads.

    Workers are started with `python -m` and spoken to over pipes, never with `multiprocessing`: the host may be a
    script without a main guard, a notebook or a process with threads and a GPU context. They lead process groups of
    their own and die when the pool is closed, collected, or its process ends.

    A job starts when a worker is free, there is memory for what it is predicted to take, and the jobserver, if there is
    one, has a token for it. One job may always run.
    """

    def __init__(
        self,
        size: int,
        *,
        max_memory: int | None = None,
        nice: int = 0,
        jobserver: Jobserver | None = None,
        llvmlite: bool = False,
        starts_early: bool = True,
    ) -> None:
        """Makes a pool.

        Args:
            size: how many, at most.
            max_memory: bytes that they and their compilers may take; None for what the machine has.
            nice: what is added to their niceness.
            jobserver: where a token is taken for each job.
            llvmlite: whether they load it while the caller prepares the first jobs.
            starts_early: whether workers start now; otherwise `start_early`, or a job, starts them.
        """
        self.size = size
        self._state = _State(size, max_memory, nice, jobserver, llvmlite)
        self._finalizer = weakref.finalize(self, self._state.close)
        self._state.start()
        if starts_early:
            self.start_early()

    def start_early(self) -> None:
        """Starts workers before there are jobs."""
        self._state.start_early()

    def group(self, total_timeout: float | None = None) -> JobGroup:
        """A group for the jobs of one compile.

        Args:
            total_timeout: seconds from now after which they are ended.
        """
        deadline = None if total_timeout is None else time.monotonic() + total_timeout
        return JobGroup(self._state, TimeLimit(None, deadline, total_timeout))

    def submit(self, job: Job[ResultT]) -> JobFuture[ResultT]:
        """Queues a job that belongs to no group; see `JobGroup.submit`."""
        return self.group().submit(job)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._state.closed

    def check_open(self) -> None:
        """Checks that jobs can be queued.

        Raises:
            WorkerError: the pool is closed, or belongs to the process that this one was forked from.
        """
        self._state.check_open()

    def close(self) -> None:
        """Ends all workers at once. Waiting and running jobs fail. Closing twice is fine."""
        self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class JobFuture(Future[ResultT]):
    """The result of a job, which is there at the group's deadline at the latest."""

    def __init__(self, limit: TimeLimit) -> None:
        super().__init__()
        self._limit = limit

    def result(self, timeout: float | None = None) -> ResultT:
        """The result. Without a timeout, the deadline is it.

        Raises:
            ParcubinError: what the job raised, `ProcessCrashedError`, or `CompilationTimeoutError`.
        """
        if timeout is not None:
            return super().result(timeout)
        with contextlib.suppress(TimeoutError):
            return super().result(_seconds_until(self._limit.deadline))
        if self.cancel():
            raise self._limit.error()
        return super().result()  # it runs, and is being ended


@dataclass
class _Task:
    """A job on its way: waiting, running, or waiting for a second try."""

    rank: tuple[bool, float, int]
    job: Job[Any]
    future: JobFuture[Any]
    group: JobGroup
    limit: TimeLimit
    memory: float
    is_second_try: bool = False
    started: float = 0.0
    had_company: bool = False

    def __lt__(self, other: _Task) -> bool:
        return self.rank < other.rank


class JobGroup:
    """The jobs of one compile: they have one deadline, and what happened to them is told together."""

    def __init__(self, state: _State, limit: TimeLimit) -> None:
        self._state = state
        self._limit = limit
        self.cancelled = False
        self._warnings: list[str] = []
        self._use: list[tuple[float, float, int]] = []

    def submit(
        self, job: Job[ResultT], cost: float = float("inf"), *, size: float = 0, timeout: float | None = None
    ) -> JobFuture[ResultT]:
        """Queues a job.

        Args:
            job: the work.
            cost: of the waiting jobs the costliest runs first; without a cost, before all others.
            size: what its memory is predicted from: CPU microseconds that it is predicted to take, or characters of a
                module that it only parses.
            timeout: seconds that it may take once it runs.

        Raises:
            WorkerError: the pool is closed, or belongs to the process that this one was forked from.
        """
        return self._state.submit(job, cost, size, self, replace(self._limit, seconds=timeout))

    def result_of(self, future: JobFuture[ResultT]) -> ResultT:
        """The result of another group's job, by this group's deadline.

        Raises:
            ParcubinError: as `JobFuture.result`.
        """
        try:
            return future.result(_seconds_until(self._limit.deadline))
        except TimeoutError:
            raise self._limit.error() from None

    def completed(self, futures: Sequence[JobFuture[ResultT]]) -> Iterator[JobFuture[ResultT]]:
        """The futures as they are completed; at the deadline, all that are left. None of them waits any longer."""
        left = dict.fromkeys(futures)
        try:
            for future in as_completed(futures, timeout=_seconds_until(self._limit.deadline)):
                assert isinstance(future, JobFuture)
                del left[future]
                yield future
        except TimeoutError:
            yield from left

    def cached(self, jobs: Iterable[Job[Any]]) -> int:
        """How many of these jobs were not run, because a cache had their results."""
        del jobs
        return 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What happened to workers, each thing once."""
        return tuple(dict.fromkeys(self._warnings))

    @property
    def peak_memory(self) -> int:
        """Bytes that the workers and their compilers took at one time, at most: of jobs that ran at the same time the
        peaks are added up."""
        peak = current = 0
        ends = [(end, -memory) for _, end, memory in self._use]
        for _, change in sorted([(start, memory) for start, _, memory in self._use] + ends):
            current += change
            peak = max(peak, current)
        return peak

    def cancel(self) -> None:
        """Ends the group's jobs. They, and those that are still submitted, fail with a `WorkerError`."""
        self._state.cancel(self)

    def warn(self, message: str) -> None:
        _log.warning(message)
        self._warnings.append(message)

    def used(self, start: float, end: float, memory: int) -> None:
        """Notes that a job took so many bytes from one `time.monotonic()` to another."""
        self._use.append((start, end, memory))


@dataclass(eq=False)
class _Hand:
    """A worker, the thread that uses it, and what it does.

    Attributes:
        memory: bytes that the worker takes while it has nothing to do.
    """

    worker: Worker
    tasks: queue.SimpleQueue[_Task | None] = field(default_factory=queue.SimpleQueue)
    thread: threading.Thread | None = None
    task: _Task | None = None
    memory: int = 0


class _State:
    """What a pool, the thread that starts jobs and the threads that use workers share. It does not hold the pool, so
    that an unreferenced pool is collected."""

    def __init__(
        self, size: int, max_memory: int | None, nice: int, jobserver: Jobserver | None, llvmlite: bool
    ) -> None:
        self.closed = False
        self._size = size
        self._max_memory = max_memory
        self._nice = nice
        self._jobserver = jobserver
        self._llvmlite = llvmlite
        self._starts_early = False
        self._owner = os.getpid()
        self._lock = threading.RLock()  # the garbage collector may close a pool at any point
        self._numbers = itertools.count()
        self._waiting: list[_Task] = []
        self._hands: list[_Hand] = []
        self._idle: list[_Hand] = []
        self._failure = WorkerError(_CLOSED)
        self._change = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread = threading.Thread(target=self._live, name="parcubin-pool", daemon=True)

    def __del__(self) -> None:
        self._close_change()

    def _close_change(self) -> None:
        with self._lock:
            if self._change >= 0:
                os.close(self._change)
                self._change = -1

    def start(self) -> None:
        _states.add(self)
        self._thread.start()

    def start_early(self) -> None:
        self._starts_early = True
        self._wake()

    def submit(
        self, job: Job[ResultT], cost: float, size: float, group: JobGroup, limit: TimeLimit
    ) -> JobFuture[ResultT]:
        self._check_owner()  # before the lock, which a child may have got locked
        future: JobFuture[ResultT] = JobFuture(limit)
        with self._lock:
            self.check_open()
            if group.cancelled:
                raise WorkerError(_CANCELLED)
            rank = (True, -cost, next(self._numbers))
            heapq.heappush(self._waiting, _Task(rank, job, future, group, limit, predicted_memory(size)))
        self._wake()
        return future

    def check_open(self) -> None:
        self._check_owner()
        if self.closed:
            raise self._failure

    def _check_owner(self) -> None:
        if os.getpid() != self._owner:
            raise WorkerError(
                "This compiler belongs to the process that this one was forked from. Make a new one here."
            )

    def close(self) -> None:
        if os.getpid() != self._owner:
            return
        self.closed = True
        self._wake()
        if self._thread.ident is not None and threading.current_thread() not in self._threads():
            self._thread.join()
            self._close_change()  # programs keep their compilers

    def cancel(self, group: JobGroup) -> None:
        with self._lock:
            group.cancelled = True
            for hand in self._hands:
                if hand.task is not None and hand.task.group is group:
                    hand.worker.interrupt()
        self._wake()

    def disown(self) -> None:
        """Lets go of the pipes in a forked process, so that workers see when their parent is gone."""
        for hand in self._hands:
            hand.worker.disown()

    def _threads(self) -> list[threading.Thread]:
        return [self._thread, *(hand.thread for hand in self._hands if hand.thread is not None)]

    def _wake(self) -> None:
        with self._lock:
            if self._change >= 0:
                os.eventfd_write(self._change, 1)

    def _live(self) -> None:
        """Makes everything, starts jobs, and removes everything, in a thread of its own, which no Ctrl-C interrupts."""
        try:
            with _no_fork:
                temporary = tempfile.mkdtemp(prefix="parcubin-")
        except OSError as error:
            self._failure = WorkerError(f"There is no folder for temporary files: {error.strerror or error}.")
            self._end()
            return
        try:
            self._hands = [_Hand(Worker(temporary, self._nice, llvmlite=self._llvmlite)) for _ in range(self._size)]
            self._idle = self._hands[::-1]
            while not self.closed:
                if self._starts_early:
                    self._starts_early = False
                    for hand in self._hands[: self._first_workers()]:
                        if hand.thread is None:
                            self._give_thread(hand)
                self._wait(*self._start_jobs())
        finally:
            self._end()
            shutil.rmtree(temporary, ignore_errors=True)

    def _first_workers(self) -> int:
        """How many to start before there is work: under a jobserver, no more than one may do anything."""
        if self._jobserver is not None:
            return 1
        room = min(available_memory() * _SHARE_OF_AVAILABLE, self._max_memory or float("inf"))
        return max(1, min(self._size, int(room / WORKER_BYTES)))

    def _give_thread(self, hand: _Hand) -> None:
        hand.thread = threading.Thread(target=self._serve, args=(hand,), name="parcubin-worker", daemon=True)
        hand.thread.start()

    def _start_jobs(self) -> tuple[float | None, bool]:
        """Starts what can start.

        Returns:
            After how many seconds to look again if nothing changes, and whether only a token is missing.
        """
        with self._lock:
            while self._waiting and self._idle and not self.closed:
                task = self._waiting[0]
                if not self._is_wanted(task):
                    heapq.heappop(self._waiting)
                    continue
                if not self._has_memory_for(task):
                    return _LOOK_AGAIN, False
                if self._jobserver is not None and not self._jobserver.acquire():
                    return _LOOK_AGAIN, True
                heapq.heappop(self._waiting)
                if not task.is_second_try and not task.future.set_running_or_notify_cancel():
                    self._release_token()
                    continue
                self._start_job(task, self._idle.pop())
        return None, False

    def _is_wanted(self, task: _Task) -> bool:
        if task.future.cancelled():
            task.future.set_running_or_notify_cancel()
            return False
        error: ParcubinError
        if task.group.cancelled:
            error = WorkerError(_CANCELLED)
        elif task.limit.deadline is not None and time.monotonic() >= task.limit.deadline:
            error = task.limit.error()
        else:
            return True
        if task.is_second_try or task.future.set_running_or_notify_cancel():
            task.future.set_exception(error)
        return False

    def _start_job(self, task: _Task, hand: _Hand) -> None:
        company = [h.task for h in self._hands if h.task is not None]
        for other in company:
            other.had_company = True
        task.had_company = bool(company)
        hand.task = task
        hand.tasks.put(task)
        if hand.thread is None:
            self._give_thread(hand)

    def _has_memory_for(self, task: _Task) -> bool:
        running = [(h, h.task) for h in self._hands if h.task is not None]
        if not running:
            return True
        needed = task.memory - self._idle[-1].memory
        predicted = sum(t.memory for _, t in running)
        if self._max_memory is not None:
            idle = sum(h.memory for h in self._idle)
            if predicted + idle + needed > self._max_memory:
                return False
        available = available_memory() * _SHARE_OF_AVAILABLE
        if predicted + needed <= available:
            return True
        in_use = [(memory_in_use(h.worker.pid) if h.worker.pid else 0) for h, _ in running]
        growth = sum(max(0, t.memory - used) for (_, t), used in zip(running, in_use, strict=True))
        return growth + needed <= available

    def _wait(self, seconds: float | None, for_token: bool) -> None:
        poll = select.poll()
        poll.register(self._change, select.POLLIN)
        if for_token and self._jobserver is not None:
            poll.register(self._jobserver, select.POLLIN)
        poll.poll(None if seconds is None else seconds * 1000)
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._change)

    def _serve(self, hand: _Hand) -> None:
        """Uses one worker, in a thread of its own."""
        while True:
            with contextlib.suppress(WorkerError):  # the job will say it
                hand.worker.start()
            task = hand.tasks.get()
            if task is None:
                break
            _log.debug("%s starts in worker %s", name_of(task.job), hand.worker.pid)
            value, error = self._run(hand.worker, task)
            _log.debug("%s %s", name_of(task.job), "is done" if error is None else f"failed: {error.message}")
            again = error is not None and self._is_worth_a_second_try(task, error)
            pid = hand.worker.pid
            with self._lock:
                hand.memory = memory_in_use(pid) if pid else 0
                hand.task = None
                self._idle.append(hand)
                if again:
                    task.is_second_try, task.memory, task.rank = True, float("inf"), (False, *task.rank[1:])
                    heapq.heappush(self._waiting, task)
            self._release_token()
            self._wake()
            if again:
                continue
            if error is None:
                task.future.set_result(value)
            else:
                task.future.set_exception(error)
        hand.worker.stop()

    def _run(self, worker: Worker, task: _Task) -> tuple[Any, ParcubinError | None]:
        start = time.monotonic()
        if crash := worker.died():
            task.group.warn(f"{crash.message} It had nothing to do, and another one was started.")
        try:
            if task.group.cancelled:
                return None, WorkerError(_CANCELLED)
            outcome = worker.run(task.job, task.limit)
        except ParcubinError as error:
            if task.group.cancelled:
                return None, WorkerError(_CANCELLED)
            return None, self._failure if self.closed else error
        except BaseException as error:
            return None, WorkerError(f"A worker could not be used: {error!r}.")
        task.group.used(start, time.monotonic(), outcome.memory)
        return outcome.value, outcome.error

    def _is_worth_a_second_try(self, task: _Task, error: ParcubinError) -> bool:
        """Whether a job may succeed now that did not before: when its worker was ended by somebody else, or when it ran
        out of memory while others ran. It is tried alone, and once."""
        from parcubin.workers.failures import is_from_outside, is_shortage_of_memory

        worth = is_from_outside(error) or (task.had_company and is_shortage_of_memory(error))
        if not worth or task.is_second_try or self.closed or task.group.cancelled:
            return False
        task.group.warn(f"{name_of(task.job)} is tried a second time, because the first failed: {error.message}")
        return True

    def _release_token(self) -> None:
        if self._jobserver is not None:
            self._jobserver.release()

    def _end(self) -> None:
        with self._lock:
            self.closed = True
        for hand in self._hands:
            hand.worker.kill()
            hand.tasks.put(None)
        for hand in self._hands:
            if hand.thread is not None:
                hand.thread.join()
        for task in self._waiting:
            if task.is_second_try or task.future.set_running_or_notify_cancel():
                task.future.set_exception(self._failure)


_states: weakref.WeakSet[_State] = weakref.WeakSet()


def _disown_all() -> None:
    for state in list(_states):
        state.disown()


os.register_at_fork(after_in_child=_disown_all)


def name_of(job: Job[Any]) -> str:
    """What messages call a job."""
    name: str = getattr(job, "name", type(job).__name__)
    return name


def _seconds_until(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
