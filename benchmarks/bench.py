"""`make bench`: parcubin against the serial whole-program pipeline, on the same machine, in paired runs.

Every repetition runs each contender once, and every other repetition runs them in reverse order, so that a machine that
gets slower or faster meanwhile does so for all. Ratios are taken within a repetition; the table shows medians. Time,
CPU time and memory are those of the whole process with everything that it started, seen from outside. Registers and
stack frames (which is where spills show) come from the CUBINs that were written, through cuobjdump.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import lzma
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from resource import struct_rusage

from cuda.pathfinder import find_nvidia_binary_utility
from rich.console import Console
from rich.table import Table

import parcubin
from parcubin.lower.selection import select_llvm

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench-results"
BASELINE = "serial"
PR_SET_CHILD_SUBREAPER = 36
RESOURCES = re.compile(r"^ Function (\S+):\n\s+REG:(\d+) STACK:(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One input and the options that every contender gets."""

    file: str
    arch: str
    options: tuple[str, ...] = ()


CASES = (Case("inductor.ll", "sm_90a", ("--lineinfo",)), Case("cub.ll", "sm_80"))


@dataclass(frozen=True)
class Contender:
    """A way to compile: the command up to the input, and what follows the options."""

    name: str
    command: tuple[str, ...]
    output: str
    extra: tuple[str, ...] = ()

    def arguments(self, case: Case, source: Path, output: Path) -> list[str]:
        return [*self.command, str(source), "--arch", case.arch, "-o", str(output), *case.options, *self.extra]


@dataclass(frozen=True)
class Run:
    """What one run took. Memory in bytes: `main_peak` of the process started, `largest_peak` of the largest of all."""

    contender: str
    repetition: int
    wall_s: float
    cpu_s: float
    main_peak: int
    largest_peak: int


@dataclass(frozen=True)
class Kernel:
    registers: int
    stack: int


@dataclass(frozen=True)
class Row:
    """One line of the table: medians over the repetitions, ratios to the baseline of the same repetition.

    `most_more_registers` is by how many registers the worst kernel exceeds the baseline's, `more_stack` how many
    kernels have a larger stack frame, `missing` how many of its kernels are not there.
    """

    file: str
    contender: str
    wall_s: float
    speedup: float
    speedup_range: tuple[float, float]
    cpu_ratio: float
    main_peak: int
    largest_peak: int
    registers: int
    most_more_registers: int
    more_stack: int
    kernels: int
    missing: int


def contenders(jobs: int, llvm: str) -> tuple[Contender, ...]:
    serial = (sys.executable, str(ROOT / "benchmarks" / "serial.py"))
    parcubin = (sys.executable, "-m", "parcubin", "compile")
    shared = ("-j", str(jobs), "--llvm", llvm, "--quiet", "--json")
    return (
        Contender(BASELINE, serial, "serial.cubin"),
        Contender("serial, ptxas split", serial, "split.cubin", (f"--split-compile={jobs}",)),
        Contender("parcubin, linked", parcubin, "linked.cubin", ("--emit", "cubin", *shared)),
        Contender("parcubin, bundle", parcubin, "bundle", ("--emit", "bundle", *shared)),
    )


def measure(contender: Contender, repetition: int, arguments: list[str], log: Path) -> Run:
    """Runs the command. It ends the benchmark when the command fails."""
    with log.open("wb") as stream:
        start = time.perf_counter()
        process = subprocess.Popen(arguments, stdout=stream, stderr=subprocess.STDOUT, cwd=ROOT)
        peak = 0
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            peak = max(peak, peak_memory(process.pid))
            time.sleep(0.02)
        wall = time.perf_counter() - start
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)}\nfailed with status {process.returncode}:\n{log.read_text()}")
    usages = [usage, *reap_orphans()]
    return Run(
        contender.name,
        repetition,
        wall_s=wall,
        cpu_s=sum(usage.ru_utime + usage.ru_stime for usage in usages),
        main_peak=peak,
        largest_peak=max(usage.ru_maxrss for usage in usages) * 1024,
    )


def reap_orphans() -> Iterable[struct_rusage]:
    """Waits for what the command left running, so that its CPU time counts; this process is the subreaper."""
    while True:
        try:
            yield os.wait4(-1, 0)[2]
        except ChildProcessError:
            return


def peak_memory(pid: int) -> int:
    """Peak resident memory so far, in bytes; 0 once the process has ended."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(found[1]) * 1024 if found else 0


def kernels_of(output: Path) -> dict[str, Kernel]:
    """The kernels of a CUBIN, or of all CUBINs in a folder."""
    cubins = sorted(output.rglob("*.cubin")) if output.is_dir() else [output]
    found: dict[str, Kernel] = {}
    for cubin in cubins:
        command = [find_nvidia_binary_utility("cuobjdump"), "-res-usage", cubin]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found |= {name: Kernel(int(reg), int(stack)) for name, reg, stack in RESOURCES.findall(text)}
    return found


def run_case(case: Case, ways: tuple[Contender, ...], repetitions: int, folder: Path) -> tuple[list[Run], list[Row]]:
    source = folder / case.file
    source.write_bytes(lzma.decompress((ROOT / "corpus" / f"{case.file}.xz").read_bytes()))
    runs = []
    for repetition in range(repetitions):
        outputs = folder / str(repetition)
        outputs.mkdir()
        for way in ways if repetition % 2 == 0 else reversed(ways):
            run = measure(way, repetition, way.arguments(case, source, outputs / way.output), folder / "log.txt")
            runs.append(run)
            print(
                f"{case.file}, repetition {repetition + 1} of {repetitions}: {way.name} {run.wall_s:.2f} s", flush=True
            )
    found = {way.name: kernels_of(outputs / way.output) for way in ways}
    return runs, [summarize(case, way, runs, found[BASELINE], found[way.name]) for way in ways]


def summarize(
    case: Case, way: Contender, runs: list[Run], baseline: dict[str, Kernel], kernels: dict[str, Kernel]
) -> Row:
    serial = {run.repetition: run for run in runs if run.contender == BASELINE}
    own = [run for run in runs if run.contender == way.name]
    common = kernels.keys() & baseline.keys()
    speedups = [serial[run.repetition].wall_s / run.wall_s for run in own]
    return Row(
        case.file,
        way.name,
        wall_s=statistics.median(run.wall_s for run in own),
        speedup=statistics.median(speedups),
        speedup_range=(min(speedups), max(speedups)),
        cpu_ratio=statistics.median(run.cpu_s / serial[run.repetition].cpu_s for run in own),
        main_peak=max(run.main_peak for run in own),
        largest_peak=max(run.largest_peak for run in own),
        registers=sum(kernel.registers for kernel in kernels.values()),
        most_more_registers=max(kernels[name].registers - baseline[name].registers for name in common),
        more_stack=sum(kernels[name].stack > baseline[name].stack for name in common),
        kernels=len(kernels),
        missing=len(baseline.keys() - kernels.keys()),
    )


def machine(jobs: int, llvm: str) -> dict[str, str]:
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    ptxas = subprocess.run(
        [find_nvidia_binary_utility("ptxas"), "--version"], capture_output=True, text=True, check=True
    )
    return {
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "jobs": str(jobs),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": platform.platform(),
        "python": platform.python_version(),
        "llvmlite": version("llvmlite"),
        "parcubin lowers with": select_llvm(llvm).decisions[-1].candidate,
        "ptxas": ptxas.stdout.strip().splitlines()[-1],
        "parcubin": parcubin.__version__,
    }


HEADINGS = (
    "",
    "wall s",
    "speed",
    "range",
    "CPU",
    "main MB",
    "largest MB",
    "registers",
    "worst",
    "more stack",
    "kernels",
    "missing",
)


def cells(row: Row) -> tuple[str, ...]:
    low, high = row.speedup_range
    return (
        row.contender,
        f"{row.wall_s:.2f}",
        f"{row.speedup:.2f}x",
        f"{low:.2f}-{high:.2f}",
        f"{row.cpu_ratio:.2f}x",
        f"{row.main_peak / 1e6:.0f}",
        f"{row.largest_peak / 1e6:.0f}",
        f"{row.registers:,}",
        f"{row.most_more_registers:+d}",
        str(row.more_stack),
        str(row.kernels),
        str(row.missing),
    )


def print_table(rows: list[Row], described: dict[str, str]) -> None:
    print("\n" + "\n".join(f"{key}: {value}" for key, value in described.items()))
    table = Table()
    for index, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if index else "left", no_wrap=True)
    for row in rows:
        if row.contender == BASELINE:
            table.add_section()
            table.add_row(row.file, style="bold")
        table.add_row(*cells(row))
    console = Console()
    if not console.is_terminal:
        console.width = 160
    console.print(table)


def print_markdown(rows: list[Row]) -> None:
    """The README's table."""
    print("| input | how | wall | speed | CPU time | peak memory, main process | registers, all kernels |")
    print("| --- | --- | --: | --: | --: | --: | --: |")
    for row in rows:
        print(
            f"| `{row.file}` | {row.contender} | {row.wall_s:.1f} s | {row.speedup:.2f}x | {row.cpu_ratio:.2f}x "
            f"| {row.main_peak / 1e6:.0f} MB | {row.registers:,} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_const", const=1, dest="repetitions", help="one repetition")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    parser.add_argument(
        "--llvm",
        default="llvmlite",
        metavar="DIR",
        help="the LLVM that parcubin lowers with; default: llvmlite, as the baseline does",
    )
    parser.add_argument("--readme", action="store_true", help="also print the table as the README has it")
    arguments = parser.parse_args()

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    described = machine(arguments.jobs, arguments.llvm)
    runs: dict[str, list[Run]] = {}
    rows: list[Row] = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            runs[case.file], case_rows = run_case(
                case, contenders(arguments.jobs, arguments.llvm), arguments.repetitions, Path(folder)
            )
            rows += case_rows

    print_table(rows, described)
    if arguments.readme:
        print_markdown(rows)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    raw = {
        "machine": described,
        "rows": [asdict(row) for row in rows],
        "runs": {file: [asdict(run) for run in case_runs] for file, case_runs in runs.items()},
    }
    path.write_text(json.dumps(raw, indent=2) + "\n")
    print(f"raw data: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
