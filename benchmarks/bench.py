"""`make bench`: parcubin beside everything else, on the same machine, in paired runs.

Every repetition runs each contender once, and every other repetition runs them in reverse order, so that a machine that
gets slower or faster meanwhile does so for all. Ratios are taken within a repetition; the table shows medians. Time,
CPU time and memory are those of the whole process with everything that it started, seen from outside. Registers and
stack frames come from the CUBINs that were written, through cuobjdump. The raw data goes to `bench-results` as JSON,
and the plots beside it as SVG and PNG when matplotlib is there; `--load` shows and plots what another machine measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import parcubin
from benchmarks.cases import CASES, ROOT, Case, Inputs, unpack, write_single_kernels
from benchmarks.code_quality import Usage, compare, usage_of
from benchmarks.incremental import Incremental, incremental
from benchmarks.incremental import table as incremental_table
from benchmarks.lineup import AT_ONCE, BASELINE, Contender, lineup
from benchmarks.measure import Measurement, become_subreaper, measure
from benchmarks.scaling import Growth, Scaling, scaling_of, write_copies
from benchmarks.splitting import splitting_cost
from benchmarks.summary import CaseResult, Row, Run, case_result_of, figures_of, limit_of
from benchmarks.tables import growth_table, markdown_table, scaling_table, text_table
from benchmarks.tools import Tools, find_tools, version_of
from parcubin.workers.machine import available_cores

RESULTS = ROOT / "bench-results"
BUNDLE = "bundle"
_MOST_OF_A_REASON = 300
_LONG_WORD = re.compile(r"\S{60,}")


@dataclass(frozen=True)
class Results:
    """What is written as JSON.

    Attributes:
        machine: what was measured on, and with which versions.
        cases: the table.
        scaling: wall time by cores.
        growth: wall time and memory by the size of the input.
        incremental: what the cache saves.
    """

    machine: dict[str, str]
    cases: tuple[CaseResult, ...] = ()
    scaling: tuple[Scaling, ...] = ()
    growth: tuple[Growth, ...] = ()
    incremental: tuple[Incremental, ...] = ()


def main() -> None:
    arguments = parse_arguments()
    if arguments.load:
        results = merged([load(path) for path in arguments.load])
        show(results, markdown=arguments.readme)
        draw(results, arguments.load[0].with_suffix(""))
        return
    become_subreaper()
    tools, jobs = find_tools(), available_cores()
    contenders = chosen(lineup(tools, jobs), arguments.contenders)
    results = Results(described_machine(tools, jobs))
    for case in arguments.cases:
        with tempfile.TemporaryDirectory() as folder:
            inputs = unpack(case, Path(folder))
            if arguments.scaling:
                points = measure_scaling(inputs, contenders, arguments.scaling, arguments.repetitions, Path(folder))
                results = replace(results, scaling=results.scaling + points)
            elif arguments.incremental:
                rows = incremental(inputs, arguments.repetitions, Path(folder))
                results = replace(results, incremental=results.incremental + rows)
            elif arguments.copies:
                point = measure_growth(inputs, contenders, arguments.copies, arguments.repetitions, Path(folder))
                results = replace(results, growth=(*results.growth, point))
            else:
                result = run_case(inputs, contenders, tools, jobs, arguments.repetitions, Path(folder))
                results = replace(results, cases=(*results.cases, result))
    show(results, markdown=arguments.readme)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps(asdict(results), indent=2) + "\n")
    print(f"\nraw data: {path.relative_to(ROOT)}")
    draw(results, path.with_suffix(""))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--quick", action="store_const", const=1, dest="repetitions", help="one repetition")
    names = ",".join(case.key for case in CASES)
    parser.add_argument("--cases", type=keys, help=f"of {names}; default: all, and for --scaling and --copies 'all'")
    parser.add_argument("--contenders", type=keys, help="by the names that an unknown one lists; serial always runs")
    parser.add_argument("--scaling", type=numbers, metavar="N,N", help="instead, parcubin on so many cores")
    parser.add_argument("--copies", type=int, metavar="K", help="instead, parcubin on an input and K times the input")
    parser.add_argument("--incremental", action="store_true", help="instead, parcubin with and without its cache")
    parser.add_argument("--load", type=Path, nargs="+", metavar="JSON", help="instead, show and plot earlier results")
    parser.add_argument("--readme", action="store_true", help="print tables as the README has them")
    arguments = parser.parse_args()
    selected = arguments.cases or (["all"] if arguments.scaling or arguments.copies else [c.key for c in CASES])
    if unknown := set(selected) - {case.key for case in CASES}:
        parser.error(f"there is no case {', '.join(sorted(unknown))}; the cases are {names}")
    arguments.cases = [case for case in CASES if case.key in selected]
    return arguments


def keys(text: str) -> list[str]:
    return text.split(",")


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def chosen(contenders: Sequence[Contender], names: list[str] | None) -> tuple[Contender, ...]:
    """The contenders asked for, and those that the ratios and the limit need."""
    known = [contender.key for contender in contenders]
    if unknown := set(names or ()) - set(known):
        sys.exit(f"there is no contender {', '.join(sorted(unknown))}; the contenders are {', '.join(known)}")
    return tuple(c for c in contenders if names is None or c.key in (*names, BASELINE, AT_ONCE))


def run_case(
    inputs: Inputs, contenders: Sequence[Contender], tools: Tools, jobs: int, repetitions: int, folder: Path
) -> CaseResult:
    """Runs all contenders on one case. One that fails does not run again."""
    contenders = [c for c in contenders if c.takes_part(inputs)]
    ready = [c for c in contenders if not c.absent]
    single: tuple[Path, ...] = ()
    if any(c.per_kernel for c in ready):
        single = write_single_kernels(inputs, folder / "single-kernels")
    runs: list[Run] = []
    failures: dict[str, str] = {}
    usages: dict[str, dict[str, Usage]] = {}
    for repetition in range(repetitions):
        for contender in ready if repetition % 2 == 0 else ready[::-1]:
            if contender.key in failures:
                continue
            output = folder / f"{contender.key}-{repetition}"
            output.mkdir()
            files = single if contender.per_kernel else inputs.files
            done = measure(contender.arguments(inputs, files, output), ROOT)
            progress(inputs.case, repetition, repetitions, contender.name, done)
            if done.status:
                failures[contender.key] = reason_of(done)
                if contender.key == BASELINE:
                    sys.exit(f"serial, to which all are compared, fails: {failures[BASELINE]}")
                continue
            runs.append(run_of(contender, repetition, done))
            if contender.key not in usages:
                usages[contender.key] = usage_of(output, inputs.kernels, tools.cuobjdump, jobs)
    rows = []
    for contender in contenders:
        note = f"not run: {contender.absent}" if contender.absent else failures.get(contender.key, "")
        if contender.key == AT_ONCE:
            continue
        if note:
            rows.append(Row(contender.key, contender.name, None, note))
            continue
        quality = compare(usages[contender.key], usages[BASELINE], inputs.kernels)
        figures = figures_of(contender.key, runs, quality, jobs, has_limit=contender.has_limit)
        rows.append(Row(contender.key, contender.name, figures))
    splitting = splitting_cost(inputs)
    serial_cpu = statistics.median(run.cpu_s for run in runs if run.contender == BASELINE)
    case = inputs.case
    return CaseResult(
        case=case.key,
        title=case.title,
        arch=case.arch,
        rows=tuple(rows),
        limit=limit_of(BUNDLE, runs, jobs),
        splitting=splitting,
        splitting_share=splitting.total / serial_cpu,
        runs=tuple(runs),
    )


def run_of(contender: Contender, repetition: int, done: Measurement) -> Run:
    longest = json.loads(done.output)["slowest"][0]["seconds"] if contender.has_limit else None
    return Run(
        contender.key, repetition, done.wall_s, done.cpu_s, done.main_peak, done.tree_peak, longest_shard_s=longest
    )


def reason_of(done: Measurement) -> str:
    """Why a run failed: the last line that speaks of an error, of what it printed."""
    lines = [line.strip() for line in (done.log.strip() or done.output).splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"error|fatal|undefined", line, re.IGNORECASE)]
    said = (errors or lines or [f"status {done.status}"])[-1]
    said = _LONG_WORD.sub(lambda word: f"{word[0][:25]}...{word[0][-25:]}", said)  # mangled names
    return f"failed: {said[:_MOST_OF_A_REASON]}"


def measure_scaling(
    inputs: Inputs, contenders: Sequence[Contender], counts: Sequence[int], repetitions: int, folder: Path
) -> tuple[Scaling, ...]:
    """parcubin's bundle on the first cores of this machine, with as many jobs."""
    cores = sorted(os.sched_getaffinity(0))
    usable = [count for count in counts if count <= len(cores)]
    if usable != counts:
        print(f"this process may use {len(cores)} cores: the larger numbers are left out")
    walls = []
    for repetition in range(repetitions):
        for count in usable if repetition % 2 == 0 else usable[::-1]:
            done = run_bundle(inputs, inputs.files, contenders, folder / f"{count}-{repetition}", cores[:count])
            progress(inputs.case, repetition, repetitions, f"{count} cores", done)
            walls.append((repetition, count, done.wall_s))
    return scaling_of(inputs.case.title, walls)


def measure_growth(
    inputs: Inputs, contenders: Sequence[Contender], copies: int, repetitions: int, folder: Path
) -> Growth:
    """parcubin's bundle of a case once, and of as much as so many copies of it."""
    more = folder / "copies"
    more.mkdir()
    sizes = {1: inputs.files, copies: write_copies(inputs, copies, more)}
    measured: list[dict[int, Measurement]] = []
    for repetition in range(repetitions):
        measured.append({})
        for count in sizes if repetition % 2 == 0 else reversed(sizes):
            done = run_bundle(inputs, sizes[count], contenders, folder / f"{count}-{repetition}")
            progress(inputs.case, repetition, repetitions, f"{count} times the input", done)
            measured[-1][count] = done

    def ratio(value: Callable[[Measurement], float]) -> float:
        return statistics.median(value(of[copies]) / value(of[1]) / copies for of in measured)

    return Growth(
        case=inputs.case.title,
        copies=copies,
        bytes=sum(path.stat().st_size for path in sizes[copies]),
        wall_s=statistics.median(of[copies].wall_s for of in measured),
        wall_ratio=ratio(lambda done: done.wall_s),
        cpu_ratio=ratio(lambda done: done.cpu_s),
        memory_ratio=ratio(lambda done: done.main_peak),
    )


def run_bundle(
    inputs: Inputs,
    files: Sequence[Path],
    contenders: Sequence[Contender],
    output: Path,
    cores: Sequence[int] | None = None,
) -> Measurement:
    """Runs parcubin's bundle, on some cores with as many jobs; it ends the benchmark when it fails."""
    output.mkdir()
    bundle = next(contender for contender in contenders if contender.key == BUNDLE)
    jobs = ["-j", str(len(cores))] if cores else []  # the last one counts
    done = measure([*bundle.arguments(inputs, files, output), *jobs], ROOT, cores=set(cores) if cores else None)
    if done.status:
        sys.exit(f"parcubin {reason_of(done)}")
    return done


def progress(case: Case, repetition: int, repetitions: int, name: str, done: Measurement) -> None:
    what = f"{done.wall_s:.2f} s" if not done.status else reason_of(done)
    print(f"{case.key}, repetition {repetition + 1} of {repetitions}: {name}: {what}", file=sys.stderr, flush=True)


def described_machine(tools: Tools, jobs: int) -> dict[str, str]:
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "jobs": str(jobs),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": platform.platform(),
        "python": platform.python_version(),
        "llvmlite": version("llvmlite"),
        "ptxas": version_of(tools.ptxas),
        "nvlink": version_of(tools.nvlink),
        "nvJitLink": Path(tools.nvjitlink).resolve().name if tools.nvjitlink else "none",
        "LLVM": version_of(tools.llvm / "opt") if tools.llvm else "none",
        "parcubin": parcubin.__version__,
    }


def show(results: Results, *, markdown: bool) -> None:
    tables = ["\n".join(f"{key}: {value}" for key, value in results.machine.items())]
    if results.cases:
        tables.append(markdown_table(results.cases) if markdown else text_table(results.cases))
    if results.scaling:
        tables.append(scaling_table(results.scaling, markdown=markdown))
    if results.growth:
        tables.append(growth_table(results.growth, markdown=markdown))
    if results.incremental:
        tables.append(incremental_table(results.incremental))
    print("\n" + "\n\n".join(tables))


def load(path: Path) -> Results:
    data: dict[str, Any] = json.loads(path.read_text())
    return Results(
        machine=data["machine"],
        cases=tuple(map(case_result_of, data["cases"])),
        scaling=tuple(Scaling(**point) for point in data["scaling"]),
        growth=tuple(Growth(**point) for point in data["growth"]),
        incremental=tuple(Incremental(**row) for row in data.get("incremental", ())),
    )


def merged(parts: Sequence[Results]) -> Results:
    """The results of several runs on one machine, as one."""
    return Results(
        machine=parts[0].machine,
        cases=tuple(case for part in parts for case in part.cases),
        scaling=tuple(point for part in parts for point in part.scaling),
        growth=tuple(point for part in parts for point in part.growth),
        incremental=tuple(row for part in parts for row in part.incremental),
    )


def draw(results: Results, stem: Path) -> None:
    """Writes `STEM-speed` and `STEM-scaling` as SVG and PNG, where there is something to show."""
    try:
        from benchmarks import plots
    except ModuleNotFoundError:
        print("no plots: they take matplotlib; --load draws them from the raw data, on any machine")
        return
    for path in plots.draw(results.cases, results.scaling, results.machine, stem):
        print(f"plot: {path}")


if __name__ == "__main__":
    main()
