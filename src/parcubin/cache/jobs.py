"""Jobs through a cache: what it has is not run, and what is run it gets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

from parcubin.cache.cache import Cache
from parcubin.cache.entry import Entry
from parcubin.cache.key import (
    Key,
    Toolchain,
    key_of,
    libdevice_key,
    link_key,
    lowering_key,
    module_key,
    printing_key,
    ptx_hash,
)
from parcubin.cache.results import (
    LoweredPtx,
    entry_of_link,
    entry_of_ptx,
    entry_of_shard,
    entry_of_text,
    entry_of_versions,
    read_link,
    read_ptx,
    read_shard,
    read_text,
    read_versions,
)
from parcubin.inspect.ptx import PtxSummary
from parcubin.model import Ptx
from parcubin.workers.jobs import (
    AskVersions,
    CompileShard,
    LinkShards,
    Lowering,
    PrintModule,
    ReadLibdevice,
    ShardResult,
)
from parcubin.workers.pool import JobFuture, JobGroup
from parcubin.workers.process import Job

ResultT = TypeVar("ResultT")


class Running:
    """Jobs that run, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[Key, Future[Any]] = {}

    def join(self, key: Key, future: Future[Any]) -> Future[Any] | None:
        """The future of whoever computes a key already; None when that is `future`, from now on."""
        with self._lock:
            other = self._futures.setdefault(key, future)
        return None if other is future else other

    def leave(self, key: Key) -> None:
        """Forgets a key: it is in the cache now, or was not computed."""
        with self._lock:
            self._futures.pop(key, None)


@dataclass(frozen=True)
class JobCache:
    """What the jobs of one `Compiler` have in common.

    Attributes:
        cache: where results are kept.
        toolchain: what compiles.
        running: the jobs that run, by key, so that no thread compiles what another one is compiling.
    """

    cache: Cache
    toolchain: Toolchain
    running: Running = field(default_factory=Running, repr=False)


@dataclass(frozen=True)
class _Work:
    """A job that is to be run.

    Attributes:
        job: the job.
        key: of its result.
        save: keeps what came of it and returns what the caller gets.
        look: finds the result, where another one has put it meanwhile.
    """

    job: Job[Any]
    key: Key
    save: Callable[[Any], Any]
    look: Callable[[], Any]


class CachedJobGroup(JobGroup):
    """The jobs of one compile, through a cache. Those that run are the other group's, which is cancelled with them."""

    def __init__(self, group: JobGroup, jobs: JobCache) -> None:
        super().__init__(group._state, group._limit)
        self._group = group
        self._from_cache: set[CompileShard] = set()
        self._jobs = jobs
        self._cache = jobs.cache

    def cached(self, jobs: Iterable[Job[Any]]) -> int:
        return sum(job in self._from_cache for job in jobs)

    def submit(
        self, job: Job[ResultT], cost: float = float("inf"), *, size: float = 0, timeout: float | None = None
    ) -> JobFuture[ResultT]:
        work = self._work(job)
        if work is None:
            return self._group.submit(job, cost, size=size, timeout=timeout)
        known = work.look()
        future: _CachedFuture[ResultT] = _CachedFuture(self._limit)
        if known is not None:
            if isinstance(job, CompileShard):
                self._from_cache.add(job)
            future.set_running_or_notify_cancel()
            future.set_result(known)
            return future
        submit = cast(
            "Callable[[Job[Any]], JobFuture[Any]]", partial(self._group.submit, cost=cost, size=size, timeout=timeout)
        )
        self._start(work, submit, future)
        return future

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._group.warnings

    @property
    def peak_memory(self) -> int:
        return self._group.peak_memory

    def cancel(self) -> None:
        self._group.cancel()

    def warn(self, message: str) -> None:
        self._group.warn(message)

    def _start(self, work: _Work, submit: Callable[[Job[Any]], JobFuture[Any]], future: _CachedFuture[Any]) -> None:
        """Runs a job, or waits for whoever runs it already."""
        other = self._jobs.running.join(work.key, future)
        if other is not None:
            other.add_done_callback(lambda _: self._after_other(work, submit, future))
            return
        try:
            inner = submit(work.job)
        except BaseException:
            self._jobs.running.leave(work.key)
            future.cancel()
            future.set_running_or_notify_cancel()
            raise
        future.runs = inner
        inner.add_done_callback(lambda done: self._finish(work, future, done))

    def _after_other(
        self, work: _Work, submit: Callable[[Job[Any]], JobFuture[Any]], future: _CachedFuture[Any]
    ) -> None:
        """When somebody else's job has ended: what it kept is taken, and when that is nothing, the job is run here."""
        if future.cancelled():
            future.set_running_or_notify_cancel()
            return
        try:
            known = work.look()
            if known is None:
                self._start(work, submit, future)
            elif future.set_running_or_notify_cancel():
                future.set_result(known)
        except BaseException as error:
            if not future.done():
                future.set_exception(error)

    def _finish(self, work: _Work, future: _CachedFuture[Any], inner: Future[Any]) -> None:
        """When the job has run, and before the caller knows, so that nothing is lost when the caller ends."""
        if inner.cancelled():
            self._jobs.running.leave(work.key)
            Future.cancel(future)
            future.set_running_or_notify_cancel()
            return
        error = inner.exception()
        result: Any = None
        if error is None:
            try:
                result = work.save(inner.result())
            except Exception as failure:
                self.warn(f"A result could not be put into the cache: {failure!r}.")
                result = inner.result()
        self._jobs.running.leave(work.key)
        if not future.set_running_or_notify_cancel():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _work(self, job: Job[Any]) -> _Work | None:
        """What to do for a job; None when it is not cached."""
        toolchain = self._jobs.toolchain
        if isinstance(job, CompileShard):
            return self._shard(job)
        if isinstance(job, LinkShards):
            return self._plain(job, link_key(job, toolchain), entry_of_link, read_link)
        if isinstance(job, PrintModule):
            return self._plain(job, printing_key(job, toolchain), entry_of_text, read_text)
        if isinstance(job, ReadLibdevice):
            return self._plain(job, libdevice_key(job, toolchain), entry_of_text, read_text)
        if isinstance(job, AskVersions):
            places = [str(path) for path in job.llvm.files()]  # what it calls itself may hold them
            key = key_of("versions", {"llvm": toolchain.llvm, "provider": toolchain.provider, "places": places})
            return self._plain(job, key, entry_of_versions, read_versions)
        return None

    def _plain(
        self,
        job: Job[ResultT],
        key: Key,
        entry_of: Callable[[ResultT], Entry],
        read: Callable[[Entry], ResultT],
    ) -> _Work:
        def save(result: ResultT) -> ResultT:
            self._cache.put(key, entry_of(result))
            return result

        return _Work(job, key, save, lambda: self._cache.get(key, read))

    def _shard(self, job: CompileShard) -> _Work:
        """A shard's PTX and its module are kept apart: another compiler of PTX finds the PTX."""
        if not isinstance(job.source, Lowering):
            return self._module(job, job.source.text)
        key = lowering_key(job.source, self._jobs.toolchain)
        known = self._cache.get(key, read_ptx)
        if known is not None:
            return self._module(job, known.text, known)

        def save(result: ShardResult) -> ShardResult:
            assert result.ptx is not None
            self._cache.put(key, entry_of_ptx(LoweredPtx(result.ptx.text, result.summary)))
            if result.module is not None:
                self._cache.put(self._module_key(job, result.ptx.text), entry_of_shard(result))
            return result

        def look() -> ShardResult | None:
            known = self._cache.get(key, read_ptx)
            if known is None:
                return None
            found: ShardResult | None = self._module(job, known.text, known).look()
            return found

        return _Work(job, module_key(job, key, self._jobs.toolchain), save, look)

    def _module(self, job: CompileShard, text: str, lowered: LoweredPtx | None = None) -> _Work:
        """For PTX. Its text is not kept in mind where the job can make it again."""
        key = self._module_key(job, text)
        own = Ptx(lowered.text, job.name) if lowered else None

        def save(result: ShardResult) -> ShardResult:
            if result.module is not None:
                self._cache.put(key, entry_of_shard(result))
            elif own is None:
                self._cache.put(key, entry_of_ptx(LoweredPtx("", result.summary)))
            return replace(result, ptx=own)

        def look() -> ShardResult | None:
            if job.provider is not None:
                return self._cache.get(key, lambda entry: read_shard(entry, job.name, own))
            found = lowered or self._cache.get(key, read_ptx)
            return _only_lowered(own, found.summary) if found else None

        return _Work(replace(job, source=own) if own else job, key, save, look)

    def _module_key(self, job: CompileShard, text: str) -> Key:
        return module_key(job, ptx_hash(text, job.options), self._jobs.toolchain)


class _CachedFuture(JobFuture[ResultT]):
    """The result of a job of the cache's.

    Attributes:
        runs: the job in the pool, once it is there.
    """

    runs: JobFuture[ResultT] | None = None

    def cancel(self) -> bool:
        """Cancels the job unless it runs."""
        return super().cancel() if self.runs is None else self.runs.cancel()


def _only_lowered(ptx: Ptx | None, summary: PtxSummary) -> ShardResult:
    return ShardResult(
        ptx=ptx,
        summary=summary,
        module=None,
        warnings=(),
        helper_calls={},
        kernels={},
        variables={},
        why_plain=None,
        seconds={},
    )
