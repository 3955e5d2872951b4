"""Compiles generated programs on all cores and compares what they compute on a GPU.

    python -m tests.generated.gpu_run --count 2000 --jobs 16 --time-limit 480 --failures failures

The last line says what came of it: "3900 modules compared, 18213 shards, 0 differences; 60 whose whole program fails,
40 on which a compiler crashes". A module that differs, or that did not compile, is written to the folder of failures
with its seed and what was wrong. What the tools alone make of the whole program can be unusable: ptxas 13.0 crashes on
some, and the linker of LLVM renames a local variable that the host may name when another module has one of its name.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import parcubin
from parcubin.errors import InternalCompilerError
from tests.generated.compiled import WHOLE, compile_split, compile_whole, static_differences, texts_of
from tests.generated.description import Format
from tests.generated.draw import draw
from tests.generated.running import Plan, differences, plan_of, prepare_gpu
from tests.gpu.replaceable_process import ReplaceableProcess

_FORMATS: tuple[Format, ...] = ("ll", "ptx")
_SECONDS_OF_A_MODULE = 60
"""A GPU that has not finished a module's kernels by then is taken to hang."""

_compiler: parcubin.Compiler


@dataclass(frozen=True)
class Case:
    """A module to try."""

    format: Format
    seed: int


@dataclass(frozen=True)
class Compiled:
    """A module that was compiled in all ways, or what was wrong with it.

    Attributes:
        images: the CUBINs by the way in which they were made; the whole program first.
        plan: what to run.
        shards: of the bundle and of the link.
        cpu_s: seconds that it took this process and its children.
        wrong: what is wrong with it already.
        crashed: a compiler crashed on a shard.
    """

    images: dict[str, list[bytes]]
    plan: Plan | None
    shards: int
    cpu_s: float
    wrong: tuple[str, ...] = ()
    crashed: bool = False


@dataclass
class Summary:
    """What came of all modules."""

    modules: int = 0
    shards: int = 0
    split: int = 0
    cpu_s: float = 0.0
    differences: int = 0
    unusable: int = 0
    crashes: int = 0

    def __str__(self) -> str:
        compared = self.modules - self.unusable - self.crashes
        return (
            f"{compared} modules compared, {self.shards} shards, {self.differences} differences; "
            f"{self.unusable} whose whole program fails, {self.crashes} on which a compiler crashes"
        )


def run(
    cases: Sequence[Case],
    target: str,
    *,
    jobs: int,
    time_limit: float,
    failures: Path,
    gpu: bool,
) -> Summary:
    """Tries modules until all are done or the time is over.

    Args:
        cases: the modules.
        target: the architecture.
        jobs: processes that compile.
        time_limit: seconds after which no more modules are begun.
        failures: the folder for what went wrong.
        gpu: False only compiles.
    """
    end = time.monotonic() + time_limit
    summary = Summary()
    context = get_context("spawn")
    runner = _Runner() if gpu else None
    with ProcessPoolExecutor(jobs, context, _start_compiling, (target,)) as pool:
        pending: dict[Future[Compiled], Case] = {}
        remaining = iter(cases)

        def finished() -> Iterator[tuple[Case, Compiled]]:
            for case in remaining:
                pending[pool.submit(_compile, case)] = case
                if time.monotonic() > end:
                    break
                if len(pending) >= 3 * jobs:
                    yield from some()
            while pending:
                yield from some()

        def some() -> Iterator[tuple[Case, Compiled]]:
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                yield pending.pop(future), future.result()

        for case, compiled in finished():
            summary.modules += 1
            summary.shards += compiled.shards
            summary.split += compiled.shards > 2
            summary.cpu_s += compiled.cpu_s
            wrong = list(compiled.wrong)
            if runner and compiled.plan:
                wrong += runner.differences(compiled)
            if wrong:
                unusable = wrong[0].startswith(WHOLE)
                summary.unusable += unusable
                summary.crashes += compiled.crashed
                summary.differences += not unusable and not compiled.crashed
                print(f"{case.format} {case.seed}: {wrong[0]}", flush=True)
                _write(failures, case, wrong)
    if runner:
        runner.close()
    return summary


def _start_compiling(target: str) -> None:
    global _compiler
    _compiler = parcubin.Compiler(target, jobs=1)


def _compile(case: Case) -> Compiled:
    before = _cpu_seconds()
    program = draw(case.seed, case.format)
    try:
        whole = compile_whole(program, _compiler)
    except Exception:  # whatever it is, it is reported and the others go on
        return Compiled({}, None, 0, _cpu_seconds() - before, (f"{WHOLE}: {traceback.format_exc()}",))
    try:
        split = compile_split(program, _compiler)
    except Exception as error:
        crashed = isinstance(error, InternalCompilerError)
        return Compiled({}, None, 0, _cpu_seconds() - before, (traceback.format_exc(),), crashed)
    stages = sum(split.bundle.report.stages.values()) + sum(split.linked.report.stages.values())
    return Compiled(
        images={WHOLE: [whole], **split.images},
        plan=plan_of(program),
        shards=split.bundle.report.shards + split.linked.report.shards,
        cpu_s=_cpu_seconds() - before + stages,
        wrong=tuple(static_differences(program, whole, split)),
    )


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


class _Runner:
    """A process with the GPU, replaced when a program spoils it."""

    def __init__(self) -> None:
        self._process = ReplaceableProcess(prepare_gpu)

    def differences(self, compiled: Compiled) -> list[str]:
        assert compiled.plan
        try:
            found = self._process.run(_SECONDS_OF_A_MODULE, differences, compiled.images, compiled.plan)
        except TimeoutError:
            found = ["the GPU hangs"]
        except BrokenExecutor as error:
            found = [f"the process with the GPU ended: {error}"]
        except Exception:  # reported, and the others go on
            found = [traceback.format_exc()]
        if found:
            self.close()
        return found

    def close(self) -> None:
        self._process.replace()


def _write(folder: Path, case: Case, wrong: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    texts = texts_of(draw(case.seed, case.format))
    comment = ";" if case.format == "ll" else "//"
    lines = "\n".join(wrong).splitlines()
    header = "".join(f"{comment} {line}\n" for line in [f"seed {case.seed}", *lines])
    (folder / f"{case.seed}.{case.format}").write_text("\n".join([header, *texts]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="modules of each format")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--format", choices=_FORMATS, action="append", help="both by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--time-limit", type=float, default=480, help="seconds after which no more modules are begun")
    parser.add_argument("--target", help="this GPU's by default; sm_90 without one")
    parser.add_argument("--compile-only", action="store_true", help="needs no GPU")
    parser.add_argument("--failures", type=Path, default=Path("failures"), help="the folder for what went wrong")
    arguments = parser.parse_args()
    from tests.gpu.launch import compute_capability

    capability = None if arguments.compile_only else compute_capability()
    if capability is None and not arguments.compile_only:
        print("There is no GPU. --compile-only needs none.")
        return 2
    start = time.monotonic()
    seeds = range(arguments.first, arguments.first + arguments.count)
    summary = run(
        [Case(format_, seed) for seed in seeds for format_ in arguments.format or _FORMATS],
        arguments.target or f"sm_{capability or 90}",
        jobs=arguments.jobs,
        time_limit=arguments.time_limit,
        failures=arguments.failures,
        gpu=not arguments.compile_only,
    )
    print(
        f"{time.monotonic() - start:.0f} s, {summary.cpu_s / max(1, summary.modules):.2f} CPU seconds a module, "
        f"{summary.split} modules in several shards"
    )
    print(summary)
    return 1 if summary.differences else 0


if __name__ == "__main__":
    sys.exit(main())
