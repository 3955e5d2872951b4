"""Compiles for a long time while faults come by chance: `python -m tests.load.soak --minutes 20`.

Workers are killed, and ptxas crashes or hangs now and then. Every compile has to give what it gave before, or name the
kernel in an error of a kind that the faults explain; and nothing is left at the end.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import parcubin
from parcubin.configuration import ToolPaths
from parcubin.errors import CompilationTimeoutError, InternalCompilerError, OutOfMemoryError
from tests.pipeline.samples import kernel, module

_FAULTY = """#!/bin/sh
if [ -f input.ptx ]; then
  case $(od -An -N2 -tu2 /dev/urandom | tr -d ' ') in
    *00) kill -SEGV $$ ;;
    *50) sleep 100 ;;
  esac
fi
exec {ptxas} "$@"
"""


@dataclass
class Outcomes:
    """What became of the compiles.

    Attributes:
        counts: by outcome.
        wrong: what must not be.
    """

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def soak(seconds: float, *, threads: int = 4, jobs: int = 2, seed: int = 1) -> Outcomes:
    """Compiles with faults for some time."""
    with parcubin.Compiler("sm_80", jobs=1, provider="subprocess") as compiler:
        selection = compiler.select_provider("bundle")
        assert selection is not None
        expected = [compiler.compile(_text(number)).cubin for number in range(8)]
    outcomes = Outcomes()
    with tempfile.TemporaryDirectory() as folder:
        ptxas = Path(folder, "ptxas")
        ptxas.write_text(_FAULTY.format(ptxas=selection.tools[0].path))
        ptxas.chmod(0o755)
        paths = ToolPaths(ptxas=str(ptxas))
        with parcubin.Compiler("sm_80", jobs=jobs, provider="subprocess", paths=paths, cache="off") as compiler:
            end = time.monotonic() + seconds
            workers = [
                threading.Thread(target=_compile, args=(compiler, expected, end, random.Random(seed + n), outcomes))
                for n in range(threads)
            ]
            for worker in workers:
                worker.start()
            rng = random.Random(seed)
            while any(worker.is_alive() for worker in workers):
                time.sleep(0.3 + rng.random())
                if victims := worker_processes():
                    os.kill(rng.choice(victims), signal.SIGKILL)
                    outcomes.counts["workers killed"] += 1
    return outcomes


def _text(number: int) -> str:
    return module(kernel(f"k{number}"), kernel(f"other{number}"))


def _compile(
    compiler: parcubin.Compiler, expected: list[bytes], end: float, rng: random.Random, outcomes: Outcomes
) -> None:
    while time.monotonic() < end:
        number = rng.randrange(len(expected))
        try:
            program = compiler.compile(_text(number), timeout=5)
        except (CompilationTimeoutError, InternalCompilerError, OutOfMemoryError) as error:
            outcomes.counts[type(error).__name__] += 1
            if not set(error.kernels) <= {f"k{number}", f"other{number}"} or not error.kernels:
                outcomes.wrong.append(f"{error!r} names {error.kernels}")
        except Exception as error:
            outcomes.wrong.append(repr(error))
        else:
            outcomes.counts["compiled"] += 1
            # Kernels at fault are compiled apart, and what was one CUBIN is two then.
            if len(program.assemblies) == 1 and program.cubin != expected[number]:
                outcomes.wrong.append(f"another CUBIN of {number}")
            if sorted(program.kernels) != [f"k{number}", f"other{number}"]:
                outcomes.wrong.append(f"kernels {sorted(program.kernels)} of {number}")


def worker_processes() -> list[int]:
    """The workers that this process started and that live."""
    found = []
    for thread in Path("/proc/self/task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            try:
                if b"parcubin.workers.process" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(child)
            except OSError:
                continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.soak", description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    outcomes = soak(60 * arguments.minutes, threads=arguments.threads, jobs=arguments.jobs)
    print(dict(outcomes.counts))
    if outcomes.wrong or worker_processes():
        raise SystemExit("\n".join([*outcomes.wrong, *(f"worker {pid} is left" for pid in worker_processes())]))


if __name__ == "__main__":
    main()
