"""Fuzzes for some time: `python -m tests.fuzz.run --seconds 600 --jobs 16`.

Each job is a process that fuzzes one target, guided by coverage where Atheris is installed, else by mutations alone.
Inputs that show a fault go to a folder, one for each fault, and the exit status is 1. An input that is fixed goes to
`tests/fuzz/inputs/TARGET`, where the tests find it.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from tests.fuzz.targets import ROOT, TARGETS

_COUNT = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.M)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument("--targets", nargs="*", default=list(TARGETS), choices=list(TARGETS), metavar="TARGET")
    parser.add_argument("--findings", type=Path, default=ROOT / "fuzz-findings", help="folder for inputs with faults")
    parser.add_argument("--corpus", type=Path, help="folder for inputs that reach new code (default: none is kept)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="mutations alone, without Atheris")
    arguments = parser.parse_args()
    plain = arguments.plain or importlib.util.find_spec("atheris") is None
    arguments.findings = arguments.findings.resolve()
    with tempfile.TemporaryDirectory(prefix="parcubin-fuzz-") as temporary:
        sys.exit(_run_all(arguments, plain=plain, corpus=(arguments.corpus or Path(temporary)).resolve()))


def _run_all(arguments: argparse.Namespace, *, plain: bool, corpus: Path) -> int:
    """Keeps so many processes busy until the time is up: every target has its turn, and a process that died is
    replaced. Returns: the exit status."""
    how = "by mutations alone" if plain else "guided by coverage"
    print(f"fuzzing {', '.join(arguments.targets)} for {arguments.seconds:g} s, {how}, {arguments.jobs} at a time")
    end = time.monotonic() + arguments.seconds
    turn = max(10.0, min(120.0, arguments.seconds * arguments.jobs / len(arguments.targets) / 2))
    running: dict[subprocess.Popen[str], tuple[str, Path]] = {}
    inputs: Counter[str] = Counter()
    died: list[str] = []
    number = arguments.seed
    rng = Random(number)
    turns: list[str] = []
    while running or time.monotonic() < end:
        while len(running) < arguments.jobs and (left := end - time.monotonic()) > 1:
            turns = turns or rng.sample(arguments.targets, len(arguments.targets))
            name, number = turns.pop(), number + 1
            command = [sys.executable, "-m", "tests.fuzz.one", name, f"{min(turn, left):.1f}", str(number)]
            command += [str(arguments.findings), str(corpus / name)]
            command += ["--plain"] if plain or not TARGETS[name].guided else []
            log = corpus / f"{name}-{number}.log"
            with log.open("w") as output:
                process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, text=True)
            running[process] = name, log
        time.sleep(0.2)
        for process in [p for p in running if p.poll() is not None]:
            name, log = running.pop(process)
            text = log.read_text(errors="replace")
            inputs[name] += sum(map(int, _COUNT.findall(text)))
            if process.returncode:
                died.append(f"{name}: a process ended with status {process.returncode}:\n{text[-2000:]}")
            log.unlink()
    for name in arguments.targets:
        print(f"{name:<16} {inputs[name]:>12,} inputs")
    faults = sorted(p for p in arguments.findings.glob("*/*") if not p.name.endswith(".txt"))
    print("\n".join([*died, *(f"fault: {path}" for path in faults)]) or "no fault")
    return 1 if died or faults else 0


if __name__ == "__main__":
    main()
