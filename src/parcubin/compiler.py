"""`Compiler`, which keeps the workers, and `compile`.

What is imported here is what starts the workers; the rest is imported while they start.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

from parcubin.configuration import read_configuration
from parcubin.errors import ParcubinError, ToolchainError, UsageError
from parcubin.log import show_log_as_configured
from parcubin.model import CompilationOptions, Emit, Target
from parcubin.toolchain.llvm_tools import folders
from parcubin.workers.jobserver import JobserverUnavailableError, jobserver
from parcubin.workers.machine import available_cores
from parcubin.workers.pool import JobFuture, JobGroup, WorkerPool

if TYPE_CHECKING:
    from parcubin.cache.answers import Answers
    from parcubin.cache.cache import Cache
    from parcubin.cache.jobs import Running
    from parcubin.cache.key import Toolchain
    from parcubin.configuration import ToolPaths
    from parcubin.lower.interface import Llvm
    from parcubin.pipeline import Build
    from parcubin.program import Program, WrittenShard
    from parcubin.providers.interface import CompilationProvider
    from parcubin.providers.selection import Selection
    from parcubin.report.progress import ProgressCallback
    from parcubin.sources import Input, LoadedInput

    Inputs = Input | list[Input | LoadedInput] | tuple[Input | LoadedInput, ...]


_MOST_JOBS = 4096


def compile(  # noqa: A001 - what it does
    inputs: Inputs,
    target: str | Target,
    *,
    options: CompilationOptions | None = None,
    output: Emit = "bundle",
    jobs: int | None = None,
    provider: str = "auto",
    llvm: str | PathLike[str] = "auto",
    keep_going: bool = False,
    timeout: float | None = None,
    total_timeout: float | None = None,
    max_memory: int | None = None,
    cache: str | PathLike[str] = "auto",
) -> Program:
    """Compiles LLVM IR or PTX in parallel. For more than one compile, a `Compiler` keeps its workers.

    Args:
        inputs: one input or several, which make one program: paths, `bytes`, `str` with the text itself, llvmlite
            modules.
        target: `"sm_90a"`.
        options: what reaches the compilers.
        output: see `Compiler.compile`.
        jobs: worker processes; as many as cores by default.
        provider: the compilation provider; `"auto"` takes the best that the machine has.
        llvm: see `Compiler`.
        keep_going: see `Compiler.compile`.
        timeout: see `Compiler.compile`.
        total_timeout: see `Compiler.compile`.
        max_memory: see `Compiler`.
        cache: see `Compiler`.

    Raises:
        ParcubinError: see `parcubin.errors`.
    """
    with Compiler(target, jobs=jobs, provider=provider, llvm=llvm, max_memory=max_memory, cache=cache) as compiler:
        return compiler.compile(
            inputs,
            options=options,
            output=output,
            keep_going=keep_going,
            timeout=timeout,
            total_timeout=total_timeout,
        )


class Compiler:
    """Compiles programs, keeping its worker processes between them. Safe to use from several threads."""

    def __init__(
        self,
        target: str | Target,
        *,
        jobs: int | None = None,
        provider: str = "auto",
        llvm: str | PathLike[str] = "auto",
        paths: ToolPaths | None = None,
        force: bool = False,
        driver: str | None = None,
        progress: ProgressCallback | None = None,
        max_memory: int | None = None,
        nice: int = 0,
        cache: str | PathLike[str] = "auto",
        cache_size: int | None = None,
    ) -> None:
        """Starts the workers; with a cache, that waits for the first compile whose inputs it has not seen.

        Args:
            target: `"sm_90a"`.
            jobs: worker processes; by default as many as this process may use cores. The output does not depend on it.
                Under GNU make, each of its jobs takes a token of make's jobserver.
            provider: the compilation provider; `"auto"` takes the best that the machine has.
            llvm: the LLVM that lowers: `"llvmlite"`, or a folder with `opt`, `llc` and `llvm-link` of LLVM 22 or newer;
                `"auto"` takes such tools where the machine has them, else llvmlite. `"none"` is for programs of PTX
                alone, which start sooner.
            paths: explicit paths of tools.
            force: use toolchain versions with known faults all the same.
            driver: the CUDA release, "12.4", of the oldest driver that must be able to load the output.
            progress: called, from the thread that compiles, with each step forward.
            max_memory: bytes that the workers and their compilers may take together; by default what the machine, or
                this process's control group, has. Fewer jobs run at a time where more would not fit. One always runs.
            nice: what is added to the niceness of the workers.
            cache: the folder that keeps results, for this process's memory to be on top; "off" for neither; "auto" for
                what is configured, and by default a folder of the user's.
            cache_size: bytes that the folder keeps at most; by default what is configured.

        Raises:
            UsageError: `target` is not a target's name, `driver` not a release, or `jobs`, `max_memory`, `nice` or
                `cache_size` is not positive.
        """
        show_log_as_configured()
        self.target = target if isinstance(target, Target) else Target(target)
        if jobs is not None and not (isinstance(jobs, int) and 1 <= jobs <= _MOST_JOBS):
            raise UsageError(f"The number of jobs is a number from 1 to {_MOST_JOBS}, not {jobs!r}.")
        if max_memory is not None and not (isinstance(max_memory, int) and max_memory >= 1):
            raise UsageError(f"The memory for the workers is a number of bytes, at least 1, not {max_memory!r}.")
        if not isinstance(nice, int) or nice < 0:
            raise UsageError(f"The niceness of the workers is raised by at least 0, not {nice}.")
        if cache_size is not None and cache_size < 1:
            raise UsageError(f"The cache keeps at least 1 byte, not {cache_size}.")
        self._provider = provider
        self._requested_llvm = llvm
        self._paths = paths
        self._force = force
        self._driver = driver
        self._driver_release = _release(driver) if driver else None
        self._progress = progress
        self._max_memory = max_memory
        self._nice = nice
        self._requested_cache = cache
        self._cache_size = cache_size
        self._cache = _opened(cache, cache_size)
        self._warnings: tuple[str, ...] = ()
        # What is asked once, so that a small program costs little more than its compiler.
        self._selections: dict[Emit, Selection] = {}
        self._versions: dict[CompilationProvider | None, JobFuture[tuple[int, str]]] = {}
        tokens = None
        try:
            tokens = jobserver()
        except JobserverUnavailableError as error:
            if jobs is None:
                jobs, self._warnings = 1, (error.message,)
        self._pool = WorkerPool(
            jobs or available_cores(),
            max_memory=max_memory,
            nice=nice,
            jobserver=tokens,
            llvmlite=_is_llvmlite_likely(llvm),
            starts_early=self._cache is None,
        )

    def compile(
        self,
        inputs: Inputs,
        *,
        options: CompilationOptions | None = None,
        output: Emit = "bundle",
        keep_going: bool = False,
        split: bool = True,
        keep: str | PathLike[str] | None = None,
        timeout: float | None = None,
        total_timeout: float | None = None,
        in_parts_only: bool = False,
    ) -> Program:
        """Compiles one program.

        Args:
            inputs: one input or several, which make one program: paths, `bytes`, `str` with the text itself, llvmlite
                modules.
            options: what reaches the compilers.
            output: "bundle": CUBINs that need no link, as good as a whole-program compile. "cubin": one linked CUBIN.
                "relocatable": one CUBIN that can be linked further. "ptx": only lowered.
            keep_going: leave out inputs and shards that do not compile instead of failing; the report names them. A
                symbol that two inputs define is an error all the same.
            split: False compiles the program as a whole.
            keep: a folder for every shard's PTX, module and log: a new one, an empty one, or one of an earlier
                compile.
            timeout: seconds that one shard may take. A shard that takes longer is ended and its kernels are compiled
                apart, so that those at fault are found; then it is a failure as any other.
            total_timeout: seconds that the whole compile may take. What is not compiled then fails; with `keep_going`
                the rest is the program.
            in_parts_only: raise `NotInPartsError`, before anything is compiled where that can be told, unless every
                kernel of a "cubin" gets the code of a whole-program compile, and that of a "relocatable" one the code
                of `ptxas -c`, and there is something to gain.

        Raises:
            ParcubinError: see `parcubin.errors`.
        """
        return self._compile(
            self._pool.group(_checked_limit(total_timeout)),
            inputs,
            options=options,
            output=output,
            keep_going=keep_going,
            split=split,
            keep=keep,
            timeout=timeout,
            total_timeout=total_timeout,
            in_parts_only=in_parts_only,
        )

    async def compile_async(self, inputs: Inputs, **settings: Any) -> Program:
        """Compiles one program while the event loop goes on.

        When the task is cancelled, its jobs end; the compiler can be used on.

        Args:
            inputs: as for `compile`.
            settings: the keyword arguments of `compile`.

        Raises:
            ParcubinError: see `parcubin.errors`.
        """
        import asyncio

        group = self._pool.group(_checked_limit(settings.get("total_timeout")))
        work = asyncio.ensure_future(asyncio.to_thread(self._compile, group, inputs, **settings))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            group.cancel()
            with suppress(ParcubinError):
                await work
            raise

    def _compile(
        self,
        group: JobGroup,
        inputs: Inputs,
        *,
        options: CompilationOptions | None = None,
        output: Emit = "bundle",
        keep_going: bool = False,
        split: bool = True,
        keep: str | PathLike[str] | None = None,
        timeout: float | None = None,
        total_timeout: float | None = None,
        in_parts_only: bool = False,
    ) -> Program:
        """Compiles one program; see `compile`."""
        self._pool.check_open()
        if output not in get_args(Emit):
            raise UsageError(f"There is no output '{output}'. The outputs are {', '.join(get_args(Emit))}.")
        options = CompilationOptions() if options is None else options
        if not isinstance(options, CompilationOptions):
            raise UsageError(f"The options are CompilationOptions, not {type(options).__name__}.")
        timeout, total_timeout = _checked_limit(timeout), _checked_limit(total_timeout)
        if keep is not None:
            _check_keep(Path(keep), inputs)
        kept = None
        if self._cache is not None:
            from parcubin.cache.lookup import ProgramLookup

            kept = ProgramLookup(self, self._cache, inputs, options, output, split=split, in_parts_only=in_parts_only)
            inputs = kept.inputs
            if not kept.is_known:
                self._pool.start_early()
            elif keep is None and (program := kept.program()):
                return program
        with suppress(ToolchainError):  # the build says what it means
            self._ask_versions(self.select_provider(output))
        build = self._build(
            inputs,
            options,
            keep_going=keep_going,
            split=split,
            keep=Path(keep) if keep is not None else None,
            timeout=timeout,
            total_timeout=total_timeout,
            in_parts_only=in_parts_only,
        )
        program = build.run(output, group)
        if kept is not None:
            kept.keep(program, build)
        return program

    def _build(self, inputs: Inputs, options: CompilationOptions, **settings: Any) -> Build:
        from parcubin.pipeline import Build

        return Build(self, tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,), options, **settings)

    def split(self, inputs: Inputs, *, output: Emit = "cubin") -> tuple[WrittenShard, ...]:
        """The shards of a program, as text, in the order in which they are linked.

        Args:
            inputs: as for `compile`.
            output: what the plan is for.

        Raises:
            ParcubinError: see `parcubin.errors`.
        """
        self._pool.check_open()
        return self._build(inputs, CompilationOptions()).split_only(output)

    def close(self) -> None:
        """Ends the workers. A compile that runs in another thread fails. Closing twice is fine."""
        self._pool.close()
        if self._cache is not None:
            self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._pool.closed

    def reopened(self) -> Compiler:
        """A new compiler with the same settings."""
        return Compiler(
            self.target,
            jobs=self._pool.size,
            provider=self._provider,
            llvm=self._requested_llvm,
            paths=self._paths,
            force=self._force,
            driver=self._driver,
            progress=self._progress,
            max_memory=self._max_memory,
            nice=self._nice,
            cache=self._requested_cache,
            cache_size=self._cache_size,
        )

    def select_provider(self, output: Emit) -> Selection | None:
        """The provider for an output and why it was chosen; None for PTX, which needs none. It is chosen once.

        Raises:
            ToolchainError: nothing fits.
            UsageError: PTX was to be held to a driver.
        """
        if output == "ptx":
            if self._driver:
                raise UsageError("PTX has no driver to be held to: compile to a CUBIN, or leave the driver out.")
            return None
        from parcubin.providers.selection import select

        if output not in self._selections:
            self._selections[output] = select(
                self._provider,
                needs_link=output != "bundle",
                needs_relocatable_output=output == "relocatable",
                target=self.target,
                paths=self._paths,
                force=self._force,
                driver=self._driver_release,
                answers=self._answers,
            )
        return self._selections[output]

    def _ask_versions(self, selection: Selection | None) -> JobFuture[tuple[int, str]]:
        """The answer to `AskVersions`. A worker looks for it while the pipeline is imported; it is asked once, unless
        there was no answer."""
        from parcubin.workers.jobs import AskVersions

        provider = selection.provider if selection else None
        known = self._versions.get(provider)
        if known is None or (known.done() and known.exception() is not None):
            group = self._cached(self._pool.group(), selection)
            known = self._versions[provider] = group.submit(AskVersions(provider, self._llvm))
        return known

    def _cached(self, group: JobGroup, selection: Selection | None) -> JobGroup:
        """The group, through the cache where there is one."""
        if self._cache is None:
            return group
        from parcubin.cache.jobs import CachedJobGroup, JobCache

        return CachedJobGroup(group, JobCache(self._cache, self._toolchain(selection), self._running))

    def _toolchain(self, selection: Selection | None) -> Toolchain:
        """What tells what compiles from others."""
        from parcubin.cache.key import Toolchain

        provider, tools = (selection.provider, selection.tools) if selection else (None, ())
        return Toolchain.of(self._llvm, provider, tools)

    @property
    def _cache_warnings(self) -> tuple[str, ...]:
        return self._cache.warnings if self._cache else ()

    @cached_property
    def _answers(self) -> Answers | None:
        from parcubin.cache.answers import Answers

        return Answers(self._cache) if self._cache else None

    @cached_property
    def _running(self) -> Running:
        from parcubin.cache.jobs import Running

        return Running()

    @cached_property
    def _llvm(self) -> Llvm:
        """What lowers. It is chosen once, while the workers start."""
        from parcubin.lower.selection import select_llvm

        return select_llvm(self._requested_llvm, target=self.target, answers=self._answers).llvm

    @cached_property
    def _libdevice(self) -> Path | None:
        from parcubin.toolchain.locate import find_libdevice

        found = find_libdevice()
        return Path(found.path) if found else None


def _checked_limit(seconds: float | None) -> float | None:
    if seconds is None:
        return None
    if not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError(f"A time limit is more than 0 seconds, not {seconds!r}.")
    return None if seconds == float("inf") else seconds


def _check_keep(folder: Path, inputs: Inputs) -> None:
    from parcubin.output_paths import check_folder
    from parcubin.report.summary import is_kept

    several = inputs if isinstance(inputs, list | tuple) else (inputs,)
    paths = [Path(i) for i in several if isinstance(i, PathLike) or (isinstance(i, str) and "\n" not in i)]
    check_folder(folder, paths, is_kept)


def _opened(requested: str | PathLike[str], size: int | None) -> Cache | None:
    from parcubin.cache.opening import open_cache

    return open_cache(requested, max_bytes=size)


def _is_llvmlite_likely(requested: str | PathLike[str]) -> bool:
    """Whether workers should load llvmlite before it is known what lowers, which takes some processes to find out."""
    if requested == "auto":
        requested = read_configuration().llvm
    return requested == "llvmlite" or (requested == "auto" and next(folders(), None) is None)


def _release(text: str) -> tuple[int, int]:
    from parcubin.toolchain.driver import parse_release

    return parse_release(text)
