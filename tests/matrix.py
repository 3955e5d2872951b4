"""Runs the tests of providers with several CUDA toolkits side by side: `make test-matrix`.

Every wheel is installed into a folder of its own below `.matrix`, and an environment is a list of such folders on the
path of a Python that has no CUDA. So each toolkit is alone, and so is each of its parts where that is what is tested.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".matrix"
BASE = FOLDER / "base"
PROVIDERS = ("tests/providers", "tests/toolchain/test_version.py", "tests/toolchain/test_shared_nvptxcompiler.py")


@dataclass(frozen=True)
class Environment:
    """What is installed, and which tests run with it.

    Attributes:
        name: what the table calls it.
        wheels: requirements, each with its exact version.
        tests: what pytest runs.
        absent: what CUDA of this release does not offer as a wheel.
    """

    name: str
    wheels: tuple[str, ...]
    tests: tuple[str, ...] = PROVIDERS
    absent: str = ""


def _cuda_12(nvcc: str, nvjitlink: str, runtime: str) -> tuple[str, ...]:
    return (
        f"nvidia-cuda-nvcc-cu12=={nvcc}",
        f"nvidia-nvjitlink-cu12=={nvjitlink}",
        f"nvidia-cuda-runtime-cu12=={runtime}",
    )


def _cuda_13(version: str) -> tuple[str, ...]:
    wheels = ("cuda-nvcc", "nvjitlink", "nvptxcompiler", "cuda-runtime")
    return tuple(f"nvidia-{wheel}=={version}" for wheel in wheels)


NVLINK_12 = "nvlink and libnvptxcompiler are wheels from 13.0 on"
ENVIRONMENTS = (
    Environment("11.8", ("nvidia-cuda-nvcc-cu11==11.8.89",), absent=f"{NVLINK_12}; nvJitLink is new in 12.0"),
    Environment("12.4", _cuda_12("12.4.131", "12.4.127", "12.4.127"), absent=NVLINK_12),
    Environment("12.9", _cuda_12("12.9.86", "12.9.86", "12.9.79"), absent=NVLINK_12),
    Environment("13.0", _cuda_13("13.0.88")),
    Environment("13.5", _cuda_13("13.5.37")),
    Environment("nvJitLink-12.9-alone", ("nvidia-nvjitlink-cu12==12.9.86",), ("tests/alone/test_nvjitlink_12.py",)),
    Environment("nvJitLink-13.5-alone", ("nvidia-nvjitlink==13.5.37",), ("tests/alone/test_nvjitlink_13.py",)),
    Environment("ptxas-12.9-alone", ("nvidia-cuda-nvcc-cu12==12.9.86",), ("tests/alone/test_ptxas.py",)),
)


@dataclass
class Outcome:
    """What became of an environment.

    Attributes:
        status: "passed", "failed" or "not run".
        counts: passed, failed and skipped tests.
        not_run: why parts of it were not run.
    """

    status: str
    counts: tuple[int, int, int] = (0, 0, 0)
    not_run: list[str] = field(default_factory=list)


def main(names: Sequence[str]) -> int:
    by_name = {environment.name: environment for environment in ENVIRONMENTS}
    if unknown := [name for name in names if name not in by_name]:
        print(f"There is no environment {', '.join(unknown)}. The environments are {', '.join(by_name)}.")
        return 2
    chosen = [by_name[name] for name in names] or list(ENVIRONMENTS)
    python = str(base_python())
    outcomes = [(environment, run(environment, python)) for environment in chosen]
    print(f"\n{'environment':<22} {'outcome':<9} {'passed':>6} {'failed':>6} {'skipped':>7}")
    for environment, outcome in outcomes:
        passed, failed, skipped = outcome.counts
        print(f"{environment.name:<22} {outcome.status:<9} {passed:>6} {failed:>6} {skipped:>7}")
        for reason, count in Counter(outcome.not_run).items():
            print(f"    not run: {reason}" + (f" ({count} tests)" if count > 1 else ""))
    return any(outcome.status == "failed" for _, outcome in outcomes)


def base_python() -> Path:
    """A Python with parcubin and the test tools, and without CUDA's compilers."""
    python, ready = BASE / "bin" / "python", BASE / ".ready"
    if not ready.exists() or ready.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        subprocess.run([sys.executable, "-m", "venv", BASE], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--upgrade", "pip"], check=True)
        subprocess.run([*pip, "--editable", ".", "--group", "dev"], cwd=ROOT, check=True)
        ready.touch()
    return python


def install(requirement: str, python: str) -> Path:
    """The folder that holds one wheel.

    Raises:
        RuntimeError: it cannot be installed.
    """
    folder = FOLDER / requirement.replace("==", "-")
    ready = folder / ".ready"
    if not ready.exists():
        command = [python, "-m", "pip", "install", "-q", "--no-deps", "--upgrade", "-t", str(folder), requirement]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError(f"{requirement}: {(result.stderr.strip().splitlines() or ['pip failed'])[-1]}")
        ready.touch()
    return folder


def run(environment: Environment, python: str) -> Outcome:
    """Runs the environment's tests, its output on the terminal."""
    print(f"\n== {environment.name}: {', '.join(environment.wheels)}", flush=True)
    try:
        folders = [install(wheel, python) for wheel in environment.wheels]
    except RuntimeError as error:
        return Outcome("not run", not_run=[str(error)])
    results = FOLDER / f"{environment.name}.xml"
    results.unlink(missing_ok=True)
    variables = {
        "PATH": os.pathsep.join([str(Path(python).parent), "/usr/bin", "/bin"]),
        "PYTHONPATH": os.pathsep.join(map(str, [ROOT / "tests" / "isolation", *folders])),
        "PARCUBIN_TEST_ENVIRONMENT": environment.name,
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "PARCUBIN_", "LD_"))}
    command = [python, "-m", "pytest", "-q", "--numprocesses", "auto", "--maxprocesses", "8", "--dist", "load"]
    code = subprocess.run(
        [*command, f"--junitxml={results}", *environment.tests], cwd=ROOT, env={**kept, **variables}
    ).returncode
    outcome = Outcome("failed" if code else "passed", not_run=[environment.absent] if environment.absent else [])
    if results.exists():
        suite = next(ElementTree.parse(results).iter("testsuite"))
        total, failed, errors, skipped = (int(suite.get(k, 0)) for k in ("tests", "failures", "errors", "skipped"))
        outcome.counts = (total - failed - errors - skipped, failed + errors, skipped)
        outcome.not_run += list(reasons(suite))
    return outcome


def reasons(suite: ElementTree.Element) -> Iterator[str]:
    """Why tests were skipped. `test_is_here` is skipped for each absent provider, which is named."""
    for case in suite.iter("testcase"):
        name = case.get("name", "")
        for skip in case.iter("skipped"):
            provider = name.removeprefix("test_is_here[").removesuffix("]") + ": " if "test_is_here" in name else ""
            reason = skip.get("message", "")
            if reason == "collection skipped":  # of a whole file
                reason = (skip.text or "").partition("Skipped: ")[2][:-2]
            yield provider + reason


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
