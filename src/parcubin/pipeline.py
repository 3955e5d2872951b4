"""The whole flow: sources, outline, plan, shards, PTX, modules, program. `Build.run` is the page to read."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parcubin.compiler import Compiler
from parcubin.errors import (
    CompilationTimeoutError,
    InputError,
    InternalCompilerError,
    LinkCheckError,
    NotInPartsError,
    OutOfMemoryError,
    ParcubinError,
    SeveralInputsError,
    ToolchainError,
    UsageError,
)
from parcubin.inspect.ptx import PtxSummary, is_of_device_runtime
from parcubin.inspect.unresolved import Use, unresolved_error
from parcubin.log import logger
from parcubin.model import (
    Assembly,
    CompilationOptions,
    DeferredModule,
    DeviceLibrary,
    Emit,
    Ptx,
    RelocatableModule,
)
from parcubin.modules import Module, Modules, check_not_empty, check_rest, read_modules, unparsable
from parcubin.program import Program, Report, WrittenShard
from parcubin.providers.interface import CompilationProvider
from parcubin.providers.selection import Selection
from parcubin.references import references
from parcubin.report.progress import ProgressEvent
from parcubin.report.summary import keep_failed_shards, keep_shards, kernel_infos, variable_infos, warnings_of
from parcubin.shards import ShardJob, ShardSettings, shard_jobs
from parcubin.sources import Input, LoadedInput, Source, read_source
from parcubin.split.plan import Plan, PlanKind, plan_shards
from parcubin.split.worth import FIRST_WHOLE_PROGRAM_LINK, why_not_in_parts
from parcubin.toolchain.locate import find
from parcubin.workers.failures import as_compiler_error
from parcubin.workers.jobs import (
    AskVersions,
    CompileShard,
    LinkResult,
    LinkShards,
    Lowering,
    PrintShard,
    ShardResult,
)
from parcubin.workers.pool import JobFuture, JobGroup

_log = logger("pipeline")

_PLAN_KIND: dict[Emit, PlanKind] = {"bundle": "bundle", "ptx": "bundle", "cubin": "link", "relocatable": "relocatable"}


@dataclass
class Build:
    """One program on its way from inputs to output; kept by the program, which can be asked for another output.

    Attributes:
        is_reproducible: of a build that has run: nothing of the output is due to the names of the inputs, to what else
            the machine has, or to a compiler that failed.
        llvm_version: of a build that has run: what LLVM calls itself.
        output_warnings: of a build that has run: what there is to know of the output.
    """

    compiler: Compiler
    inputs: tuple[Input | LoadedInput, ...]
    options: CompilationOptions
    keep_going: bool = False
    split: bool = True
    keep: Path | None = None
    timeout: float | None = None
    total_timeout: float | None = None
    in_parts_only: bool = False
    modules: Modules | None = None
    lowered: dict[Lowering, Ptx] = field(default_factory=dict)
    pool: JobGroup = field(init=False)
    is_reproducible: bool = field(default=True, init=False)
    llvm_version: str = field(default="", init=False)
    output_warnings: tuple[str, ...] = field(default=(), init=False)

    def run(self, output: Emit, group: JobGroup | None = None) -> Program:
        start = time.monotonic()
        if self.in_parts_only and output == "cubin" and self.compiler.target.number < FIRST_WHOLE_PROGRAM_LINK:
            raise NotInPartsError(
                f"For {self.compiler.target}, linked code calls helper routines, which costs registers."
            )
        group = group or self.compiler._pool.group(self.total_timeout)
        selection, no_linker = self._select(output)
        self.pool = self.compiler._cached(group, selection)
        provider = selection.provider if selection else None
        versions = self.compiler._ask_versions(selection)
        modules = self.modules or self._read()
        ptx_version, self.llvm_version = self.pool.result_of(versions)
        form: Emit = "bundle" if no_linker else output
        settings = self._settings(form, provider, ptx_version, modules)
        tools = provider and provider.identity, self.llvm_version
        _log.info("%d modules, provider %s, LLVM %s", len(modules.all), *tools)
        shards = self._compile(modules, settings, _PLAN_KIND[form], no_linker)
        if shards.failures and not any(job.kernels for job in shards.jobs):
            raise _all_of(shards.failures)
        link = self._link(shards, settings) if settings.output == "module" and provider else None
        if self.keep is not None:
            keep_shards(self.keep, shards.with_ptx())
        return self._program(output, shards, link, selection, start)

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
        pool = self.pool = self.compiler._pool.group()
        modules = self._read()
        ptx_version, _ = pool.submit(AskVersions(None, self.compiler._llvm)).result()
        plan = plan_shards([m.outline for m in modules.all], _PLAN_KIND[output])
        jobs = shard_jobs(plan, modules.all, self._settings(output, None, ptx_version, modules))
        lowerings = {j.job: j.job.source for j in jobs if isinstance(j.job.source, Lowering)}
        printed = {job: pool.submit(PrintShard(job.name, source)) for job, source in lowerings.items()}
        return tuple(
            WrittenShard(
                kernels=j.kernels,
                text=printed[j.job].result() if isinstance(j.job.source, Lowering) else j.job.source.text,
                format="ll" if isinstance(j.job.source, Lowering) else "ptx",
                cost=j.cost,
                constants=j.constants,
                pointers=j.pointers,
            )
            for j in jobs
        )

    def _settings(
        self, output: Emit, provider: CompilationProvider | None, ptx_version: int, modules: Modules
    ) -> ShardSettings:
        return ShardSettings(
            target=self.compiler.target,
            options=self.options,
            llvm=self.compiler._llvm,
            provider=provider,
            ptx_version=ptx_version,
            libdevice=modules.libdevice,
            output="assembly" if _PLAN_KIND[output] == "bundle" else "module",
            relocatable=output == "relocatable",
            extensible_only=self.in_parts_only and output == "cubin",
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
            sources,
            self.pool,
            self.compiler._llvm,
            self.compiler._libdevice,
            debug_info=self.options.debug_info,
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
        rest: dict[Module, JobFuture[str]] | None = None
        while True:
            plan = plan_shards(
                [m.outline for m in modules.all],
                kind,
                split=self.split,
                once=once,
                halved=halved,
                constants_together=settings.extensible_only,
            )
            if self.in_parts_only and (reason := why_not_in_parts(plan, kind)):
                raise NotInPartsError(f"The program is not compiled in parts: {reason}.")
            if no_linker and len(plan.shards) > 1:
                raise no_linker
            _log.info("planned %d shards for %d kernels", len(plan.shards), sum(len(s.kernels) for s in plan.shards))
            jobs = self._jobs(modules, plan, settings, failed)
            if rest is None:
                rest = check_rest(modules.all, plan, self.pool, self.compiler._llvm)
            self._run([j for j in jobs if j.job not in done and j.job not in failed], len(jobs), done, failed)
            if better := self._without_faults(modules, [j.job for j in jobs if _unparsed(failed.get(j.job))]):
                modules = self.modules = better
                continue
            narrowed = {j.kernels for j in jobs if len(j.kernels) > 1 and self._is_narrowed(failed.get(j.job))}
            if self.split and narrowed - halved:
                halved |= narrowed
                self.is_reproducible = False
                continue
            failures = [(j.job, failed[j.job]) for j in jobs if j.job in failed]
            if self.keep is not None:
                keep_failed_shards(self.keep, [job for job, error in failures if not _is_late(error)])
            self._give_up_unless_keep_going(_with_one_for_late([error for _, error in failures]))
            faulty = [m for m, check in rest.items() if m in modules.all and isinstance(check.exception(), InputError)]
            faults = tuple(unparsable(faulty, self.pool, self.compiler._llvm).values())
            self._give_up_unless_keep_going(faults)
            survivors = _defined_twice(plan.mergeable, [done[j.job] for j in jobs if j.job in done])
            if kind == "bundle" and survivors - once:
                once |= survivors
                continue
            for job, result in done.items():
                if isinstance(job.source, Lowering) and result.ptx is not None:
                    self.lowered[job.source] = result.ptx
            return _Shards(
                jobs=tuple(j for j in jobs if j.job in done),
                done={j.job: done[j.job] for j in jobs if j.job in done},
                variables=plan.variables,
                unsplit_reason=plan.unsplit_reason,
                failures=(*modules.failures, *faults, *_with_one_for_late([error for _, error in failures])),
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
        lowerings = {
            j.job: self.pool.submit(replace(j.job, provider=None), size=j.cost, timeout=self.timeout) for j in suspects
        }
        uses: dict[CompileShard, list[Use]] = {}
        for suspect in suspects:
            try:
                result = lowerings[suspect.job].result()
            except ParcubinError:
                continue  # it is said when the shard is compiled
            if isinstance(suspect.job.source, Lowering) and result.ptx is not None:
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
        if error is None or _is_late(error):
            return False
        narrowed = (InternalCompilerError, CompilationTimeoutError, OutOfMemoryError)
        return isinstance(error, narrowed) or self.keep_going

    def _run(
        self,
        jobs: Sequence[ShardJob],
        total: int,
        done: dict[CompileShard, ShardResult],
        failed: dict[CompileShard, ParcubinError],
    ) -> None:
        """Runs jobs in the workers. The first failure cancels what has not started, unless failures are collected."""
        finished = total - len(jobs)
        self._report(finished, total, "compile")
        # The costliest first: until a job is known not to be in the cache, it takes some time.
        costliest = sorted(jobs, key=lambda j: -j.cost)
        futures = {self.pool.submit(j.job, j.cost, size=j.cost, timeout=self.timeout): j for j in costliest}
        left = list(futures)
        try:
            while left:
                for future in self.pool.completed(left):
                    shard = futures.pop(future)
                    try:
                        done[shard.job] = future.result()
                    except ParcubinError as error:
                        located = shard.located(error)
                        failed[shard.job] = as_compiler_error(located, shard.job.name, shard.kernels)
                        if not self.keep_going and not _is_late(error):
                            break
                    finished += 1
                    self._report(finished, total, "compile", shard.kernels)
                # What runs is worth waiting for when it is used: when the plan is made again.
                left = [f for f in futures if not f.cancel()] if self._is_narrowed(failed.get(shard.job)) else []
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
        faulty = unparsable(modules.all, self.pool, self.compiler._llvm)
        self._give_up_unless_keep_going(tuple(faulty.values()))
        names = {part.name for job in unparsed if isinstance(job.source, Lowering) for part in job.source.parts}
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
        if needs_runtime:
            self.is_reproducible = False
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
            return self.pool.submit(job, timeout=self.timeout).result()
        except ParcubinError as error:
            raise as_compiler_error(error, "the link") from None

    def _program(
        self,
        output: Emit,
        shards: _Shards,
        link: LinkResult | None,
        selection: Selection | None,
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
        costs = [(j.kernels, sum(s.values())) for j in shards.jobs if (s := shards.done[j.job].seconds)]
        of_inputs = (*self.modules.warnings, *self.modules.ignored(self.options)) if self.modules else ()
        if of_inputs:
            self.is_reproducible = False
        whole = (f"The program is compiled whole: {shards.unsplit_reason}.",) if shards.unsplit_reason else ()
        self.output_warnings = (*whole, *warnings_of(output, results, link, selection))
        logs = (*shards.logs(), link.log if link else "") if self.options.keep_log else ()
        if logs and logs[:-1] != tuple(result.log for result in results):  # messages name an input
            self.is_reproducible = False
        report = Report(
            kernels=len(kernels) if output != "ptx" else sum(len(r.summary.kernels) for r in results),
            shards=len(shards.jobs),
            cached=self.pool.cached(j.job for j in shards.jobs),
            jobs=self.compiler._pool.size,
            provider=selection.provider.name if selection else "none",
            toolchain=", ".join([self.llvm_version, *([selection.provider.identity] if selection else [])]),
            wall_s=time.monotonic() - start,
            peak_memory=self.pool.peak_memory,
            stages=stages,
            slowest=tuple(sorted(costs, key=lambda c: -c[1])[:5]),
            helper_calls={kernel: calls for r in results for kernel, calls in r.helper_calls.items()},
            warnings=(
                *self.compiler._warnings,
                *self.compiler._cache_warnings,
                *(selection.warnings if selection else ()),
                *self.pool.warnings,
                *of_inputs,
                *self.output_warnings,
            ),
            failures=shards.failures,
            logs=logs,
        )
        return Program(
            target=self.compiler.target,
            output=output,
            kernels=kernels,
            variables=variables,
            assemblies=assemblies,
            ptx=tuple(ptx for ptx, _ in shards.with_ptx()) if output == "ptx" else (),
            report=report,
            _image=link.cubin if link else assemblies[0].cubin if output == "cubin" else None,
            _link=self.link_later,
        )

    def link_later(self) -> Program:
        """The program as one linked CUBIN, after it was compiled to something else."""
        if not self.compiler.closed:
            return self.run("cubin")
        with self.compiler.reopened() as compiler:
            return replace(self, compiler=compiler).run("cubin")

    def _report(self, done: int, total: int, stage: str, kernels: tuple[str, ...] = ()) -> None:
        _log.debug("%s: %d of %d", stage, done, total)
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
    unsplit_reason: str | None
    failures: tuple[ParcubinError, ...]

    def logs(self) -> Iterator[str]:
        return (shard.located_log(self.done[shard.job].log) for shard in self.jobs)

    def with_ptx(self) -> Iterator[tuple[Ptx, ShardResult]]:
        for shard in self.jobs:
            result = self.done[shard.job]
            yield shard.ptx(result), result


def _all_of(errors: Sequence[ParcubinError]) -> ParcubinError:
    return errors[0] if len(errors) == 1 else SeveralInputsError(errors)


def _is_late(error: ParcubinError) -> bool:
    """Whether nothing is wrong with a shard but that the time for the whole compile was up."""
    return isinstance(error, CompilationTimeoutError) and error.total


def _with_one_for_late(errors: Sequence[ParcubinError]) -> list[ParcubinError]:
    """The errors; those of shards for which there was no time become one."""
    late = [e for e in errors if isinstance(e, CompilationTimeoutError) and e.total]
    if len(late) < 2:
        return list(errors)
    seconds = late[0].seconds
    one = CompilationTimeoutError(
        f"{len(late)} shards were not compiled when the time limit of the whole compile, {seconds:g} s, was reached. "
        "Raise the limit, or use more cores.",
        seconds=seconds,
        total=True,
        kernels=[kernel for error in late for kernel in error.kernels],
    )
    return [*(e for e in errors if not _is_late(e)), one]


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
