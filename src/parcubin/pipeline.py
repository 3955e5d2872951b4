"""The whole flow: sources, outline, plan, shards, PTX, modules, program. `_Build.run` is the page to read."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

from parcubin.errors import (
    InputError,
    InternalCompilerError,
    LinkCheckError,
    ParcubinError,
    SeveralInputsError,
    ToolchainError,
    UsageError,
)
from parcubin.inspect.ptx import PtxSummary, is_of_device_runtime
from parcubin.inspect.unresolved import Use, unresolved_error
from parcubin.lower.selection import select_llvm
from parcubin.model import (
    Assembly,
    CompilationOptions,
    DeferredModule,
    DeviceLibrary,
    Emit,
    Ptx,
    RelocatableModule,
    Target,
)
from parcubin.modules import Modules, check_not_empty, read_modules, unparsable
from parcubin.program import Program, Report, WrittenShard
from parcubin.providers.interface import CompilationProvider
from parcubin.providers.selection import Selection, ToolPaths, select
from parcubin.references import references
from parcubin.report.progress import ProgressCallback, ProgressEvent
from parcubin.report.summary import keep_failed_shards, keep_shards, kernel_infos, variable_infos, warnings_of
from parcubin.shards import ShardJob, ShardSettings, shard_jobs
from parcubin.sources import Input, Source, read_source
from parcubin.split.plan import Plan, PlanKind, plan_shards
from parcubin.toolchain.driver import parse_release
from parcubin.toolchain.locate import find, find_libdevice
from parcubin.workers.jobs import (
    AskVersions,
    CompileShard,
    LinkResult,
    LinkShards,
    Lowering,
    PrintShard,
    ShardResult,
)
from parcubin.workers.pool import WorkerPool, as_compiler_error, available_cores

_PLAN_KIND: dict[Emit, PlanKind] = {"bundle": "bundle", "ptx": "bundle", "cubin": "link", "relocatable": "relocatable"}


def compile(  # noqa: A001 - what it does
    inputs: Input | list[Input] | tuple[Input, ...],
    target: str | Target,
    *,
    options: CompilationOptions | None = None,
    output: Emit = "bundle",
    jobs: int | None = None,
    provider: str = "auto",
    llvm: str | PathLike[str] = "auto",
    keep_going: bool = False,
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

    Raises:
        ParcubinError: see `parcubin.errors`.
    """
    with Compiler(target, jobs=jobs, provider=provider, llvm=llvm) as compiler:
        return compiler.compile(inputs, options=options, output=output, keep_going=keep_going)


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
    ) -> None:
        """Chooses the LLVM and starts the workers.

        Args:
            target: `"sm_90a"`.
            jobs: worker processes; as many as cores by default. The output does not depend on it.
            provider: the compilation provider; `"auto"` takes the best that the machine has.
            llvm: the LLVM that lowers: `"llvmlite"`, or a folder with `opt`, `llc` and `llvm-link` of LLVM 22 or newer;
                `"auto"` takes such tools where the machine has them, else llvmlite.
            paths: explicit paths of tools.
            force: use toolchain versions with known faults all the same.
            driver: the CUDA release, "12.4", of the oldest driver that must be able to load the output.
            progress: called, from the thread that compiles, with each step forward.

        Raises:
            ToolchainError: the LLVM that was asked for cannot be used.
            UsageError: `target` is not a target's name, `driver` not a release, or `jobs` not positive.
        """
        self.target = target if isinstance(target, Target) else Target(target)
        if jobs is not None and jobs < 1:
            raise UsageError(f"The number of jobs is at least 1, not {jobs}.")
        self._provider = provider
        self._requested_llvm = llvm
        self._paths = paths
        self._force = force
        self._driver = driver
        self._driver_release = parse_release(driver) if driver else None
        self._progress = progress
        self._llvm = select_llvm(llvm, target=self.target)
        self._pool = WorkerPool(jobs or available_cores(), llvmlite=self._llvm.is_llvmlite)

    def compile(
        self,
        inputs: Input | list[Input] | tuple[Input, ...],
        *,
        options: CompilationOptions | None = None,
        output: Emit = "bundle",
        keep_going: bool = False,
        split: bool = True,
        keep: str | PathLike[str] | None = None,
    ) -> Program:
        """Compiles one program.

        Args:
            inputs: one input or several, which make one program: paths, `bytes`, `str` with the text itself, llvmlite
                modules.
            options: what reaches the compilers.
            output: "bundle": CUBINs that need no link, as good as a whole-program compile. "cubin": one linked CUBIN.
                "relocatable": one CUBIN that can be linked further. "ptx": only lowered.
            keep_going: leave out inputs and shards that do not compile instead of failing; the report names them.
            split: False compiles the program as a whole.
            keep: a folder for every shard's PTX, module and log.

        Raises:
            ParcubinError: see `parcubin.errors`.
        """
        if output not in _PLAN_KIND:
            raise UsageError(f"There is no output '{output}'. The outputs are {', '.join(_PLAN_KIND)}.")
        build = self._build(inputs, options or CompilationOptions())
        build = replace(build, keep_going=keep_going, split=split, keep=Path(keep) if keep is not None else None)
        return build.run(output)

    def _build(self, inputs: Input | list[Input] | tuple[Input, ...], options: CompilationOptions) -> _Build:
        return _Build(self, tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,), options)

    def split(
        self, inputs: Input | list[Input] | tuple[Input, ...], *, output: Emit = "cubin"
    ) -> tuple[WrittenShard, ...]:
        """The shards of a program, as text, in the order in which they are linked.

        Args:
            inputs: as for `compile`.
            output: what the plan is for.

        Raises:
            ParcubinError: see `parcubin.errors`.
        """
        return self._build(inputs, CompilationOptions()).split_only(output)

    def close(self) -> None:
        """Ends the workers. A compile that runs in another thread fails. Closing twice is fine."""
        self._pool.close()

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
        )

    def select_provider(self, output: Emit) -> Selection | None:
        """The provider for an output and why it was chosen; None for PTX, which needs none.

        Raises:
            ToolchainError: nothing fits.
            UsageError: PTX was to be held to a driver.
        """
        if output == "ptx":
            if self._driver:
                raise UsageError("PTX has no driver to be held to: compile to a CUBIN, or leave the driver out.")
            return None
        return select(
            self._provider,
            needs_link=output != "bundle",
            needs_relocatable_output=output == "relocatable",
            target=self.target,
            paths=self._paths,
            force=self._force,
            driver=self._driver_release,
        )


@dataclass
class _Build:
    """One program on its way from inputs to output; kept by the program, which can be asked for another output."""

    compiler: Compiler
    inputs: tuple[Input, ...]
    options: CompilationOptions
    keep_going: bool = False
    split: bool = True
    keep: Path | None = None
    modules: Modules | None = None
    lowered: dict[Lowering, Ptx] = field(default_factory=dict)

    def run(self, output: Emit) -> Program:
        start = time.monotonic()
        selection, no_linker = self._select(output)
        provider = selection.provider if selection else None
        versions = self.compiler._pool.submit(AskVersions(provider, self.compiler._llvm.llvm))
        modules = self.modules or self._read()
        ptx_version, llvm_version = versions.result()
        form: Emit = "bundle" if no_linker else output
        settings = self._settings(form, provider, ptx_version)
        shards = self._compile(modules, settings, _PLAN_KIND[form], no_linker)
        if shards.failures and not any(job.kernels for job in shards.jobs):
            raise _all_of(shards.failures)
        link = self._link(shards, settings) if settings.output == "module" and provider else None
        if self.keep is not None:
            keep_shards(self.keep, list(shards.done.values()))
        return self._program(output, shards, link, selection, llvm_version, start)

    def _select(self, output: Emit) -> tuple[Selection | None, ToolchainError | None]:
        """The provider; and, when nothing links here, the error for more than one shard: one needs no link."""
        try:
            return self.compiler.select_provider(output), None
        except ToolchainError as error:
            if output != "cubin":
                raise
            try:
                return self.compiler.select_provider("bundle"), error
            except ToolchainError:
                raise error from None

    def split_only(self, output: Emit) -> tuple[WrittenShard, ...]:
        """The shards as text, not compiled."""
        pool = self.compiler._pool
        modules = self._read()
        ptx_version, _ = pool.submit(AskVersions(None, self.compiler._llvm.llvm)).result()
        plan = plan_shards([m.outline for m in modules.all], _PLAN_KIND[output])
        jobs = shard_jobs(plan, modules.all, self._settings(output, None, ptx_version))
        lowerings = {j.job: j.job.source for j in jobs if isinstance(j.job.source, Lowering)}
        printed = {job: pool.submit(PrintShard(job.name, source)) for job, source in lowerings.items()}
        return tuple(
            WrittenShard(
                kernels=j.kernels,
                text=j.job.source.text if isinstance(j.job.source, Ptx) else printed[j.job].result(),
                format="ptx" if isinstance(j.job.source, Ptx) else "ll",
                cost=j.cost,
                constants=j.constants,
                pointers=j.pointers,
            )
            for j in jobs
        )

    def _settings(self, output: Emit, provider: CompilationProvider | None, ptx_version: int) -> ShardSettings:
        libdevice = find_libdevice()
        return ShardSettings(
            target=self.compiler.target,
            options=self.options,
            llvm=self.compiler._llvm.llvm,
            provider=provider,
            ptx_version=ptx_version,
            libdevice=Path(libdevice.path) if libdevice else None,
            output="assembly" if _PLAN_KIND[output] == "bundle" else "module",
            relocatable=output == "relocatable",
            lowered=self.lowered,
        )

    def _read(self) -> Modules:
        sources: list[Source] = []
        failures: list[ParcubinError] = []
        for number, source in enumerate(self.inputs, 1):
            try:
                sources.append(read_source(source, number))
            except ParcubinError as error:
                failures.append(error)
        modules = read_modules(
            sources, self.compiler._pool, self.compiler._llvm.llvm, debug_info=self.options.debug_info
        )
        modules = replace(modules, failures=(*failures, *modules.failures))
        self._give_up_unless_keep_going(modules.failures)
        if not modules.all:
            raise _all_of(modules.failures) if modules.failures else UsageError("There is no input.")
        check_not_empty(modules)
        self.modules = modules
        return modules

    def _compile(
        self, modules: Modules, settings: ShardSettings, kind: PlanKind, no_linker: ToolchainError | None
    ) -> _Shards:
        """Plans, compiles the shards, and plans again when what came of them says that the plan was wrong. What does
        not change is not compiled again.

        Raises:
            ToolchainError: `no_linker`, when there is more than one shard.
        """
        done: dict[CompileShard, ShardResult] = {}
        failed: dict[CompileShard, ParcubinError] = {}
        once: frozenset[str] = frozenset()
        halved: frozenset[tuple[str, ...]] = frozenset()
        while True:
            plan = plan_shards([m.outline for m in modules.all], kind, split=self.split, once=once, halved=halved)
            if no_linker and len(plan.shards) > 1:
                raise no_linker
            jobs = self._jobs(modules, plan, settings, failed)
            self._run([j for j in jobs if j.job not in done and j.job not in failed], len(jobs), done, failed)
            if better := self._without_faults(modules, [j.job for j in jobs if _unparsed(failed.get(j.job))]):
                modules = self.modules = better
                continue
            narrowed = {j.kernels for j in jobs if len(j.kernels) > 1 and self._is_narrowed(failed.get(j.job))}
            if self.split and narrowed - halved:
                halved |= narrowed
                continue
            if self.keep is not None:
                keep_failed_shards(self.keep, [j.job for j in jobs if j.job in failed])
            self._give_up_unless_keep_going([failed[j.job] for j in jobs if j.job in failed])
            survivors = _defined_twice(plan.mergeable, [done[j.job] for j in jobs if j.job in done])
            if kind == "bundle" and survivors - once:
                once |= survivors
                continue
            for job, result in done.items():
                if isinstance(job.source, Lowering):
                    self.lowered[job.source] = result.ptx
            return _Shards(
                jobs=tuple(j for j in jobs if j.job in done),
                done={j.job: done[j.job] for j in jobs if j.job in done},
                variables=plan.variables,
                failures=(*modules.failures, *(failed[j.job] for j in jobs if j.job in failed)),
            )

    def _jobs(
        self, modules: Modules, plan: Plan, settings: ShardSettings, failed: dict[CompileShard, ParcubinError]
    ) -> list[ShardJob]:
        """The shards' jobs. Those that use what nothing defines fail before a compiler is asked; so that all are found,
        shards that may be among them are lowered first."""
        jobs = shard_jobs(plan, modules.all, settings)
        if settings.provider is None or settings.relocatable:
            return jobs
        known = references(modules.all, linked=settings.output == "module")
        suspects = known.suspects(jobs)
        if not suspects:
            return jobs
        lowerings = {j.job: self.compiler._pool.submit(replace(j.job, provider=None)) for j in suspects}
        uses: dict[CompileShard, list[Use]] = {}
        for suspect in suspects:
            try:
                result = lowerings[suspect.job].result()
            except ParcubinError:
                continue  # it is said when the shard is compiled
            if isinstance(suspect.job.source, Lowering):
                self.lowered[suspect.job.source] = result.ptx
            uses[suspect.job] = known.uses(suspect, result)
        if any(uses.values()) and not self.keep_going:
            raise unresolved_error(use for several in uses.values() for use in several)
        with_ptx = shard_jobs(plan, modules.all, settings)
        for before, after in zip(jobs, with_ptx, strict=True):
            if missing := uses.get(before.job):
                failed[after.job] = unresolved_error(missing)
        return with_ptx

    def _is_narrowed(self, error: ParcubinError | None) -> bool:
        """Whether a shard's kernels are compiled apart after this, to find those at fault: when a compiler failed in a
        way that its parts may not share, and whatever the fault when the rest is wanted."""
        return isinstance(error, InternalCompilerError) or (error is not None and self.keep_going)

    def _run(
        self,
        jobs: Sequence[ShardJob],
        total: int,
        done: dict[CompileShard, ShardResult],
        failed: dict[CompileShard, ParcubinError],
    ) -> None:
        """Runs jobs in the workers. The first failure cancels what has not started, unless failures are collected."""
        self._report(total - len(jobs), total, "compile")
        futures = {self.compiler._pool.submit(j.job, j.cost): j for j in jobs}
        finished = total - len(jobs)
        try:
            for future in as_completed(futures):
                shard = futures[future]
                if future.cancelled():
                    continue
                try:
                    done[shard.job] = future.result()
                except ParcubinError as error:
                    located = shard.located(error)
                    failed[shard.job] = as_compiler_error(located, shard.job.name, shard.kernels)
                    if not self.keep_going:
                        return
                finished += 1
                self._report(finished, total, "compile", shard.kernels)
        finally:
            for future in futures:
                future.cancel()

    def _without_faults(self, modules: Modules, unparsed: Sequence[CompileShard]) -> Modules | None:
        """The modules without those that LLVM cannot parse. Where a module is sound and only its shards are not, it is
        compiled whole. None when all shards parsed, or nothing can be done about it.

        Raises:
            InputError: modules cannot be parsed, and `keep_going` is off; names each.
        """
        if not unparsed:
            return None
        faulty = unparsable(modules.all, self.compiler._pool, self.compiler._llvm.llvm)
        self._give_up_unless_keep_going(tuple(faulty.values()))
        names = {name for job in unparsed if isinstance(job.source, Lowering) for name, _ in job.source.parts}
        split = {m for m in modules.all if m.source.name in names and m.outline.whole_reason is None}
        if not faulty and not split:
            return None
        return replace(
            modules,
            all=tuple(
                m if m not in split or faulty else m.whole("a shard of it did not parse")
                for m in modules.all
                if m not in faulty
            ),
            failures=(*modules.failures, *faulty.values()),
        )

    def _link(self, shards: _Shards, settings: ShardSettings) -> LinkResult:
        self._report(len(shards.jobs), len(shards.jobs), "link")
        modules = []
        for shard in shards.jobs:
            module = shards.done[shard.job].module
            assert isinstance(module, RelocatableModule | DeferredModule)
            modules.append(module)
        assert settings.provider is not None
        summaries = [result.summary for result in shards.done.values()]
        needs_runtime = not settings.relocatable and any(is_of_device_runtime(n) for s in summaries for n in s.externs)
        job = LinkShards(
            provider=settings.provider,
            target=settings.target,
            modules=(*modules, *([_device_runtime()] if needs_runtime else [])),
            options=settings.options,
            kernels=tuple(k.name for s in summaries for k in s.kernels),
            variables=tuple(shards.variables | _host_variables(summaries)),
            relocatable=settings.relocatable,
        )
        try:
            return self.compiler._pool.submit(job).result()
        except ParcubinError as error:
            raise as_compiler_error(error, "the link") from None

    def _program(
        self,
        output: Emit,
        shards: _Shards,
        link: LinkResult | None,
        selection: Selection | None,
        llvm_version: str,
        start: float,
    ) -> Program:
        results = list(shards.done.values())
        kernels = kernel_infos(results, link)
        variables = variable_infos(results, link)
        assemblies = tuple(r.module for r in results if isinstance(r.module, Assembly))
        if output == "bundle":
            textures = {v.name for r in results for v in r.summary.variables if v.size is None}
            missing = sorted(shards.variables - variables.keys() - textures)
            if missing:
                raise LinkCheckError(f"The output lacks variables that the host may name: {', '.join(missing)}.")
        stages = dict.fromkeys(("parse", "optimize", "emit", "assemble", "link"), 0.0)
        for seconds in [*(r.seconds for r in results), *([link.seconds] if link else [])]:
            for stage, value in seconds.items():
                stages[stage] += value
        costs = [(j.kernels, sum(shards.done[j.job].seconds.values())) for j in shards.jobs]
        report = Report(
            kernels=len(kernels) if output != "ptx" else sum(len(r.summary.kernels) for r in results),
            shards=len(shards.jobs),
            jobs=self.compiler._pool.size,
            provider=selection.provider.name if selection else "none",
            toolchain=", ".join([llvm_version, *([selection.provider.identity] if selection else [])]),
            wall_s=time.monotonic() - start,
            stages=stages,
            slowest=tuple(sorted(costs, key=lambda c: -c[1])[:5]),
            warnings=(
                *(selection.warnings if selection else ()),
                *((*self.modules.warnings, *self.modules.ignored(self.options)) if self.modules else ()),
                *warnings_of(output, results, link, selection),
            ),
            failures=shards.failures,
            log="".join([*(r.log for r in results), *([link.log] if link else [])]) if self.options.keep_log else "",
        )
        return Program(
            target=self.compiler.target,
            output=output,
            kernels=kernels,
            variables=variables,
            assemblies=assemblies,
            ptx=tuple(r.ptx for r in results) if output == "ptx" else (),
            report=report,
            _image=link.cubin if link else assemblies[0].cubin if output == "cubin" else None,
            _link=self._link_later,
        )

    def _link_later(self) -> Program:
        if not self.compiler.closed:
            return self.run("cubin")
        with self.compiler.reopened() as compiler:
            return replace(self, compiler=compiler).run("cubin")

    def _report(self, done: int, total: int, stage: str, kernels: tuple[str, ...] = ()) -> None:
        if self.compiler._progress is not None:
            self.compiler._progress(ProgressEvent(done, total, stage, kernels))

    def _give_up_unless_keep_going(self, errors: Sequence[ParcubinError]) -> None:
        if errors and not self.keep_going:
            raise _all_of(errors)


@dataclass(frozen=True)
class _Shards:
    """The compiled shards, in the order in which they are linked."""

    jobs: tuple[ShardJob, ...]
    done: dict[CompileShard, ShardResult]
    variables: frozenset[str]
    failures: tuple[ParcubinError, ...]


def _all_of(errors: Sequence[ParcubinError]) -> ParcubinError:
    return errors[0] if len(errors) == 1 else SeveralInputsError(errors)


def _unparsed(error: ParcubinError | None) -> bool:
    return type(error) is InputError and bool(error.input_name)


def _defined_twice(names: frozenset[str], results: Sequence[ShardResult]) -> frozenset[str]:
    """Variables, of those named, that more than one shard defines after optimisation."""
    counts = Counter(v.name for r in results for v in r.summary.variables if v.linkage != "extern")
    return frozenset(name for name in names if counts[name] > 1)


def _device_runtime() -> DeviceLibrary:
    file = find("libcudadevrt")
    if file is None:
        raise ToolchainError(
            "Kernels that launch kernels are linked with libcudadevrt.a, which is not on this machine. Install it with "
            "pip install 'parcubin[cuda13]', or set CUDA_PATH to a CUDA toolkit."
        )
    return DeviceLibrary(Path(file.path).read_bytes(), "libcudadevrt.a")


def _host_variables(summaries: Sequence[PtxSummary]) -> frozenset[str]:
    """The variables that the host finds by name and that a link must keep: those defined visibly."""
    return frozenset(v.name for s in summaries for v in s.variables if v.space != "shared" and v.linkage == "visible")
