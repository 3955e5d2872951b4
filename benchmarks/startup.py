"""How fast things start: the interpreter, `import parcubin`, `--help`, the first lowering of a cold command line, and a
small kernel through a warm `Compiler` against a plain run of ptxas.

    python benchmarks/startup.py [--runs N]

What is compared runs in turns, so that a busy machine slows all of it alike. Prints medians, the least times, and
differences and ratios to what each is compared with.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import parcubin

os.environ["PARCUBIN_CACHE"] = "off"

LLVM_IR = """\
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @kernel(ptr %p) {
  store i32 1, ptr %p
  ret void
}
"""
PTX = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry kernel{number}() {{ ret; }}\n"

# In every Python process that is started: writes down when the first shard is lowered.
WATCH = """\
import importlib.util, os, sys, time

class Finder:
    def find_spec(self, name, path, target=None):
        if name != "parcubin.lower.lowering":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module
        def watched(module):
            execute(module)
            lower = module.lower
            def watched_lower(*arguments, **named):
                with open(os.environ["FIRST_LOWERING"], "a") as file:
                    print(time.monotonic(), file=file)
                return lower(*arguments, **named)
            module.lower = watched_lower
        spec.loader.exec_module = watched
        return spec

sys.meta_path.insert(0, Finder())
"""


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def seconds_to_lowering(folder: Path) -> float:
    """From the start of the command line to the first lowering in a worker."""
    (folder / "sitecustomize.py").write_text(WATCH)
    (folder / "input.ll").write_text(LLVM_IR)
    note = folder / "first"
    note.unlink(missing_ok=True)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "FIRST_LOWERING": str(note)}
    command = [sys.executable, "-m", "parcubin", "compile", str(folder / "input.ll"), "--arch", "sm_80", "-q"]
    start = time.monotonic()
    subprocess.run([*command, "-o", str(folder / "output.cubin")], env=environment, check=True)
    return min(map(float, note.read_text().split())) - start


def in_turns(measured: Mapping[str, Callable[[], float]], runs: int) -> dict[str, list[float]]:
    for measure in measured.values():
        measure()  # files are in memory, bytecode is written
    times: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(runs):
        for name, measure in measured.items():
            times[name].append(measure())
    return times


def show(times: Mapping[str, list[float]]) -> None:
    """The first is what the others are compared with."""
    base = statistics.median(next(iter(times.values())))
    for name, values in times.items():
        median = statistics.median(values)
        print(
            f"{name:<34} {median * 1000:6.1f} ms (least {min(values) * 1000:6.1f}), "
            f"{(median - base) * 1000:+7.1f} ms, {median / base:5.1f} times"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=11)
    runs = parser.parse_args().runs
    python = sys.executable
    with tempfile.TemporaryDirectory() as name, parcubin.Compiler("sm_80", jobs=1) as compiler:
        folder = Path(name)
        show(
            in_turns(
                {
                    "python -c pass": lambda: seconds([python, "-c", "pass"]),
                    "import parcubin": lambda: seconds([python, "-c", "import parcubin"]),
                    "parcubin --help": lambda: seconds([python, "-m", "parcubin", "--help"]),
                    "parcubin compile --help": lambda: seconds([python, "-m", "parcubin", "compile", "--help"]),
                    "parcubin compile, first lowering": lambda: seconds_to_lowering(folder),
                },
                runs,
            )
        )
        selection = compiler.select_provider("bundle")
        assert selection is not None
        ptxas = selection.tools[0].path
        number = 0

        def plain() -> float:
            (folder / "kernel.ptx").write_text(PTX.format(number=number))
            return seconds([ptxas, "-v", "-arch", "sm_80", "-O3", str(folder / "kernel.ptx"), "-o", str(folder / "k")])

        def warm() -> float:
            nonlocal number
            number += 1
            start = time.perf_counter()
            compiler.compile(PTX.format(number=number))
            return time.perf_counter() - start

        print()
        show(in_turns({"ptxas, small kernel": plain, "warm Compiler, small kernel": warm}, 3 * runs))


if __name__ == "__main__":
    main()
