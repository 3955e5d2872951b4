"""A short run of every fuzz target, and the inputs that once showed a fault."""

from __future__ import annotations

import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from parcubin.errors import InputError
from tests.fuzz.harness import fault
from tests.fuzz.one import fuzz_inputs
from tests.fuzz.targets import ROOT, TARGETS, FuzzTarget

FOUND = sorted((Path(__file__).parent / "inputs").glob("*/*"))


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_and_mutations_of_them(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    for seed in target.seeds():
        assert (found := fault(target, seed)) is None, found.description
    fuzz_inputs(target, 300 if target.guided else 60, 1, tmp_path)
    assert list(tmp_path.rglob("*.txt")) == []


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_found_inputs(path: Path) -> None:
    data = path.read_bytes()
    found = fault(TARGETS[path.parent.name], lzma.decompress(data) if path.suffix == ".xz" else data)
    assert found is None, found.description


def test_faults_are_seen() -> None:
    def fail(data: bytes) -> None:
        if data:
            raise InputError("refused")
        raise KeyError("fault")

    def hang(_data: bytes) -> None:
        while True:
            pass

    assert fault(FuzzTarget("refuses", fail, list), b"x") is None
    assert (found := fault(FuzzTarget("fails", fail, list), b"")) is not None
    assert "KeyError" in found.kind
    assert (found := fault(FuzzTarget("hangs", hang, list), b"", seconds=0.1)) is not None
    assert "TooSlow" in found.kind


@pytest.mark.parametrize("how", [["--plain"], []])
def test_the_long_run_tells_what_it_did(how: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz.run", "--seconds", "3", "--targets", "cubin", "--jobs", "1", *how]
    run = subprocess.run([*command, "--findings", str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "no fault" in run.stdout
    assert "cubin                       0" not in run.stdout
