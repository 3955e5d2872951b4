"""`parcubin-ptxas` beside ptxas, on the command lines of real build systems.

    python -m benchmarks.in_place_of_ptxas [--inputs cub,inductor,xla] [--options nvcc,triton] [--repetitions N]

For every input and set of options it runs ptxas, ptxas with --split-compile=0 and parcubin-ptxas, in turns, and prints
a table in Markdown: how parcubin-ptxas did it, whether exit status, kernels and messages are those of ptxas, what
registers and stack frames are more or less, and the times, of which the ratios are medians over the repetitions.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.cases import CORPUS, XLA, kernels_of
from benchmarks.code_quality import Usage, usage_of
from benchmarks.tools import find_tools

FRONT = [sys.executable, "-c", "from parcubin.ptxas.main import main; main()"]

OPTION_SETS = {
    "nvcc": "-arch={arch} -m64",
    "nvcc -Xptxas -v": "-arch={arch} -m64 -v",
    "nvcc -lineinfo": "-arch={arch} -m64 --generate-line-info",
    "nvcc -G": "-arch={arch} -m64 -g --dont-merge-basicblocks --return-at-end",
    "nvcc -rdc": "-arch={arch} -m64 --compile-only",
    "nvcc -maxrregcount": "-arch={arch} -m64 -v -maxrregcount=64",
    "nvcc -O1": "-arch={arch} -m64 -v -O1",
    "nvcc -O0": "-arch={arch} -m64 -v -O0",
    "nvcc -dlcm": "-arch={arch} -m64 -dlcm=cg -dscm=wb",
    "nvcc warnings": "-arch={arch} -m64 -warn-spills -warn-lmem-usage -warn-double-usage",
    "nvcc -Werror": "-arch={arch} -m64 -Werror -suppress-stack-size-warning",
    "nvcc --split-compile": "-split-compile=0 -arch={arch} -m64 -split-compile=0",
    "nvcc --Ofast-compile": "-arch={arch} -m64 -v --Ofast-compile=max",
    "nvcc -arch=sm_80": "-arch=sm_80 -m64 -v",
    "nvcc -arch=sm_120": "-arch=sm_120 -m64 -v",
    "clang": "-m64 -O3 -v --gpu-name {arch}",
    "Triton": "-lineinfo -v --gpu-name={arch}",
    "Triton, no line info": "-lineinfo -suppress-debug-info --fmad=false -v --gpu-name={arch}",
    "XLA": "-arch={arch} --warn-on-spills -v",
    "CUTLASS": "-arch={arch} -m64 -v --register-usage-level=10 --allow-expensive-optimizations=true",
    "CUDA.jl": "--verbose --gpu-name {arch} --generate-line-info --compile-only",
}
"""By who writes it; CUTLASS and others pass theirs through nvcc."""


@dataclass(frozen=True)
class Input:
    """What one command compiles; several files are compiled one after the other."""

    title: str
    files: tuple[Path, ...]
    arch: str


@dataclass
class Outcome:
    """What the runs of one way gave.

    Attributes:
        seconds: of all files together, by repetition.
        status: exit statuses.
        messages: lines of the last repetition, without compile times.
        usage: registers and stack by kernel.
    """

    seconds: list[float] = field(default_factory=list)
    status: list[int] = field(default_factory=list)
    messages: Counter[str] = field(default_factory=Counter)
    usage: dict[str, Usage] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A line of the table. What is more or less is so in parcubin-ptxas's output."""

    input: str
    options: str
    how: str
    same_status: bool
    kernels: int
    missing: int
    more_registers: int
    less_registers: int
    registers: int
    registers_of_ptxas: int
    more_stack: int
    other_messages: int
    seconds: tuple[float, ...]
    seconds_of_ptxas: tuple[float, ...]
    seconds_of_split_compile: tuple[float, ...]


def inputs(folder: Path, names: Sequence[str]) -> Iterator[Input]:
    """The inputs, unpacked; the PTX of inductor.ll is made by parcubin."""
    if "cub" in names:
        path = folder / "cub.ptx"
        path.write_bytes(lzma.decompress((CORPUS / "cub.ptx.xz").read_bytes()))
        yield Input("cub.ptx", (path,), "sm_90")
    if "inductor" in names:
        path = folder / "inductor.ptx"
        command = ["compile", str(CORPUS / "inductor.ll.xz"), "--arch", "sm_90a", "--emit", "ptx", "--no-split", "-q"]
        subprocess.run([sys.executable, "-m", "parcubin", *command, "-o", str(path)], check=True)
        yield Input("inductor.ptx", (path,), "sm_90a")
    if "xla" in names:
        with tarfile.open(CORPUS / f"{XLA}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        yield Input("XLA, 75 files", tuple(sorted(folder.rglob("step.*.ptx"))), "sm_90a")


def compare(given: Input, options: str, ptxas: str, cuobjdump: str, folder: Path, repetitions: int) -> Row:
    """Runs the three ways in turns."""
    arguments = OPTION_SETS[options].format(arch=given.arch).split()
    log = folder / "log"
    log.unlink(missing_ok=True)
    ways = {"ptxas": [ptxas], "split": [ptxas, "--split-compile=0"], "parcubin": FRONT}
    outcomes = {name: Outcome() for name in ways}
    for repetition in range(repetitions):
        for name in list(ways)[:: -1 if repetition % 2 else 1]:
            output = folder / name
            output.mkdir(exist_ok=True)
            _run(
                [*ways[name], *arguments],
                given,
                output,
                {"PARCUBIN_PTXAS": ptxas, "PARCUBIN_PTXAS_LOG": str(log)},
                outcomes[name],
            )
    kernels = kernels_of(given.files)
    for name in ("ptxas", "parcubin"):
        outcomes[name].usage = usage_of(folder / name, kernels, cuobjdump, 1)
        for cubin in (folder / name).iterdir():
            cubin.unlink()
    for cubin in (folder / "split").iterdir():
        cubin.unlink()
    mine, reference = outcomes["parcubin"], outcomes["ptxas"]
    common = mine.usage.keys() & reference.usage.keys()
    return Row(
        input=given.title,
        options=options,
        how="; ".join(f"{text}" for text, _ in Counter(log.read_text().splitlines()).most_common(2)),
        same_status=mine.status == reference.status,
        kernels=len(mine.usage),
        missing=len(reference.usage.keys() - mine.usage.keys()),
        more_registers=sum(mine.usage[k].registers > reference.usage[k].registers for k in common),
        less_registers=sum(mine.usage[k].registers < reference.usage[k].registers for k in common),
        registers=sum(u.registers for u in mine.usage.values()),
        registers_of_ptxas=sum(u.registers for u in reference.usage.values()),
        more_stack=sum(mine.usage[k].stack > reference.usage[k].stack for k in common),
        other_messages=sum(((mine.messages - reference.messages) | (reference.messages - mine.messages)).values()),
        seconds=tuple(mine.seconds),
        seconds_of_ptxas=tuple(reference.seconds),
        seconds_of_split_compile=tuple(outcomes["split"].seconds),
    )


def _run(command: list[str], given: Input, output: Path, environment: dict[str, str], outcome: Outcome) -> None:
    seconds, outcome.messages = 0.0, Counter()
    for file in given.files:
        arguments = [*command, str(file), "-o", str(output / f"{file.stem}.cubin")]
        start = time.perf_counter()
        run = subprocess.run(arguments, capture_output=True, text=True, env={**os.environ, **environment})
        seconds += time.perf_counter() - start
        outcome.status.append(run.returncode)
        outcome.messages += Counter(re.findall(r"^(?!.*Compile time).+$", run.stdout + run.stderr, re.M))
    outcome.seconds.append(seconds)


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    head = (
        "| input | options | how | status | kernels | registers | more | fewer | more stack | other lines | ptxas "
        "| parcubin-ptxas | / ptxas | / split-compile |\n"
        "| --- | --- | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
    )
    return "\n".join([head, *map(_line, rows)])


def _line(row: Row) -> str:
    status = "same" if row.same_status else "DIFFERENT"
    kernels = f"{row.kernels}" if not row.missing else f"{row.kernels}, {row.missing} MISSING"
    times = statistics.median(row.seconds_of_ptxas), statistics.median(row.seconds)
    ratios = (
        statistics.median(a / b for a, b in zip(row.seconds, others, strict=True))
        for others in (row.seconds_of_ptxas, row.seconds_of_split_compile)
    )
    cells = [
        row.input,
        row.options,
        row.how,
        status,
        kernels,
        row.registers,
        row.more_registers,
        row.less_registers,
        row.more_stack,
        row.other_messages,
        *(f"{seconds:.2f} s" for seconds in times),
        *(f"{ratio:.2f}" for ratio in ratios),
    ]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", default="cub,inductor,xla", help="some of them")
    parser.add_argument("--options", default="", help="sets of options whose name has one of these words")
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--json", type=Path, help="a file for the raw data")
    arguments = parser.parse_args()
    tools = find_tools()
    words = [word for word in arguments.options.split(",") if word]
    rows = []
    with tempfile.TemporaryDirectory(prefix="parcubin-bench-") as name:
        for given in inputs(Path(name), arguments.inputs.split(",")):
            for options in OPTION_SETS:
                if not words or any(word in options for word in words):
                    rows.append(
                        compare(given, options, tools.ptxas, tools.cuobjdump, Path(name), arguments.repetitions)
                    )
                    print(_line(rows[-1]), file=sys.stderr, flush=True)
                    if arguments.json:
                        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print(table(rows))


if __name__ == "__main__":
    main()
