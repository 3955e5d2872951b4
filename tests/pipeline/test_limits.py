"""Limits of time and memory: they cost the kernels at fault and nothing else.

The ptxas here is a script that does what the test says before it compiles, and otherwise is the real one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import parcubin
from parcubin.configuration import ToolPaths
from parcubin.errors import CompilationTimeoutError, OutOfMemoryError, ParcubinError
from parcubin.model import Emit
from tests.pipeline.samples import kernel, module, ptx_in_shards

GOOD = [f"k{i}" for i in range(3)]
PROGRAM = module(*map(kernel, [*GOOD[:2], "bad", *GOOD[2:]]))

Ptxas = Callable[[str], ToolPaths]


@pytest.fixture
def ptxas(tmp_path: Path) -> Ptxas:
    """Makes a ptxas that runs a shell command before it compiles a kernel `bad`."""

    def make(command: str) -> ToolPaths:
        with parcubin.Compiler("sm_80", jobs=1) as compiler:
            selection = compiler.select_provider("bundle")
        assert selection is not None
        script = tmp_path / "ptxas"
        script.write_text(
            f'#!/bin/sh\nif [ -f input.ptx ] && grep -q "entry bad" input.ptx; then\n{command}\nfi\n'
            f'exec {selection.tools[0].path} "$@"\n'
        )
        script.chmod(0o755)
        return ToolPaths(ptxas=str(script))

    return make


def compiler(paths: ToolPaths, **settings: Any) -> parcubin.Compiler:
    return parcubin.Compiler("sm_80", jobs=2, provider="subprocess+nvjitlink", paths=paths, **settings)


FAULTS: dict[str, tuple[str, type[ParcubinError]]] = {
    "hangs": ("sleep 1000", CompilationTimeoutError),
    "is killed": ("kill -9 $$", OutOfMemoryError),
    "says that it got no memory": ('echo "ptxas fatal   : Memory allocation failure"; exit 255', OutOfMemoryError),
    "takes its worker with it": ("kill -9 $PPID; sleep 1000", OutOfMemoryError),
}


@pytest.mark.fault(
    "a compiler hangs, is killed, gets no memory, takes its worker with it",
    "an error that names the kernel; with `keep_going` all others are compiled",
)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("output", ["bundle", "cubin"])
def test_limit_costs_the_kernel_at_fault(fault: str, output: Emit, tmp_path: Path, ptxas: Ptxas) -> None:
    command, error = FAULTS[fault]
    timeout = 2 if error is CompilationTimeoutError else None
    with compiler(ptxas(command)) as compiling:
        with pytest.raises(error) as caught:
            compiling.compile(PROGRAM, output=output, timeout=timeout, keep=tmp_path / "kept")
        assert caught.value.kernels == ("bad",)
        (reproducer,) = (tmp_path / "kept").glob("failed-*.ll")
        assert "@bad" in reproducer.read_text()
        assert "@k0" not in reproducer.read_text()
        program = compiling.compile(PROGRAM, output=output, timeout=timeout, keep_going=True)
    assert sorted(program.kernels) == GOOD
    assert [(type(f), f.kernels) for f in program.report.failures] == [(error, ("bad",))]


@pytest.mark.fault("a worker is killed once", "compiled, with a warning")
def test_worker_that_is_ended_once_costs_nothing(tmp_path: Path, ptxas: Ptxas) -> None:
    once = f"if mkdir {tmp_path}/done 2> /dev/null; then kill -9 $PPID; sleep 1000; fi"
    with compiler(ptxas(once)) as compiling:
        program = compiling.compile(PROGRAM)
        again = compiling.compile(PROGRAM)
    assert [a.cubin for a in program.assemblies] == [a.cubin for a in again.assemblies]
    assert sorted(program.kernels) == sorted([*GOOD, "bad"])
    assert [w for w in program.report.warnings if "SIGKILL" in w]
    assert not [w for w in again.report.warnings if "SIGKILL" in w]


@pytest.mark.fault("the whole compile takes too long", "`CompilationTimeoutError`, or what is compiled by then")
def test_whole_compile_has_a_limit(ptxas: Ptxas) -> None:
    separate = [module(kernel("bad")), module(*map(kernel, GOOD))]
    with compiler(ptxas("sleep 1000")) as compiling:
        compiling.compile(separate[1])  # workers are there now
        with pytest.raises(CompilationTimeoutError) as caught:
            compiling.compile(separate, total_timeout=4)
        assert caught.value.total
        assert "bad" in caught.value.kernels
        with pytest.raises(CompilationTimeoutError):
            compiling.compile(separate, total_timeout=2, keep_going=True, split=False)
        assert sorted(compiling.compile(module(*map(kernel, GOOD))).kernels) == GOOD


@pytest.mark.parametrize("arguments", [{"timeout": 0}, {"total_timeout": -1}])
def test_limits_are_positive(arguments: dict[str, Any]) -> None:
    with parcubin.Compiler("sm_80", jobs=1) as compiling, pytest.raises(parcubin.UsageError):
        compiling.compile(PROGRAM, **arguments)


def test_output_does_not_depend_on_memory() -> None:
    source = ptx_in_shards(4)
    with parcubin.Compiler("sm_90", jobs=3) as compiling:
        expected = compiling.compile(source, output="cubin")
    with parcubin.Compiler("sm_90", jobs=3, max_memory=1) as compiling:
        program = compiling.compile(source, output="cubin")
    assert program.cubin == expected.cubin
    assert program.report.peak_memory < expected.report.peak_memory


def test_command_line(tmp_path: Path, ptxas: Ptxas) -> None:
    script = ptxas("sleep 1000").ptxas
    assert script is not None
    (tmp_path / "program.ll").write_text(PROGRAM)
    command = [sys.executable, "-m", "parcubin", "compile", str(tmp_path / "program.ll"), "--arch", "sm_80", "--json"]
    command += ["-o", str(tmp_path / "out.cubin"), "--timeout", "2", "--max-memory", "512M", "--nice", "1"]
    environment = {**os.environ, "PARCUBIN_PTXAS": script}
    result = subprocess.run([*command, "--keep-going"], env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 1
    (failure,) = json.loads(result.stdout)["failures"]
    assert (failure["type"], failure["kernels"]) == ("CompilationTimeoutError", ["bad"])
    assert json.loads(result.stdout)["peak_memory"] > 0
    assert "2 s" in result.stderr
    assert (tmp_path / "out.cubin").exists()
