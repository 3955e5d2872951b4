"""The corpus through the whole pipeline, compared with the serial compile of `benchmarks/contenders/serial.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import parcubin
from parcubin.errors import SeveralInputsError
from tests.conftest import ROOT
from tests.cuda_tools import cuda_tool
from tests.inspect.cuda_tools import Tools, Usage


@dataclass(frozen=True)
class Case:
    """One corpus file, compiled in every way. Usage is what cuobjdump says of the CUBINs."""

    name: str
    serial: dict[str, Usage]
    bundle: parcubin.Program
    bundle_usage: dict[str, Usage]
    linked: parcubin.Program
    linked_usage: dict[str, Usage]


@pytest.fixture(scope="module", params=[("inductor.ll", "sm_90a"), ("cub.ll", "sm_80")], ids=["inductor", "cub"])
def case(
    request: pytest.FixtureRequest,
    corpus_text: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Case:
    name, arch = request.param
    folder = tmp_path_factory.mktemp(name)
    tools = Tools(folder)
    source, output = folder / name, folder / "serial"
    source.write_text(corpus_text(name))
    command = [sys.executable, "-m", "benchmarks.contenders.serial", str(source), "--arch", arch]
    command += ["--output", str(output), "--ptxas", cuda_tool("ptxas")]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    with parcubin.Compiler(arch) as compiler:
        bundle = compiler.compile(source)
        linked = compiler.compile(source, output="cubin")
    usages = [tools.resource_usage(assembly.cubin) for assembly in bundle.assemblies]
    assert sum(map(len, usages)) == len({name for usage in usages for name in usage}), "a kernel is in two assemblies"
    return Case(
        name=name,
        serial=tools.resource_usage((output / f"{source.stem}.cubin").read_bytes()),
        bundle=bundle,
        bundle_usage={name: usage for found in usages for name, usage in found.items()},
        linked=linked,
        linked_usage=tools.resource_usage(linked.cubin),
    )


def test_kernels_are_those_of_the_whole_program(case: Case) -> None:
    assert case.bundle_usage.keys() == case.serial.keys()
    # Linked code before sm_90 calls helper routines of ptxas, which cuobjdump lists as functions.
    assert {n for n in case.linked_usage if not n.startswith("__cuda_")} == case.serial.keys()
    assert case.bundle.kernels.keys() == case.linked.kernels.keys() == case.serial.keys()
    assert case.bundle.report.shards > 4


def check_quality(usage: dict[str, Usage], serial: dict[str, Usage]) -> None:
    total, baseline = (sum(u.registers for u in kernels.values()) for kernels in (usage, serial))
    assert abs(total - baseline) <= 0.005 * baseline
    assert not {n: (u, serial[n]) for n, u in usage.items() if u.registers > serial[n].registers + 8}
    assert not {n: (u, serial[n]) for n, u in usage.items() if u.stack and not serial[n].stack}


def test_bundle_is_as_good_as_the_whole_program(case: Case) -> None:
    check_quality(case.bundle_usage, case.serial)


def test_link_from_sm_90_on_is_as_good_as_the_whole_program(case: Case) -> None:
    if case.linked.target.number < 90:
        pytest.skip("before sm_90 helper routines are called in linked code")
    check_quality(case.linked_usage, case.serial)


def test_reported_usage_is_that_of_the_cubins(case: Case) -> None:
    for program, usage in ((case.bundle, case.bundle_usage), (case.linked, case.linked_usage)):
        reserved = 1024 if program.target.number >= 90 else 0
        for name, kernel in program.kernels.items():
            assert kernel.registers == usage[name].registers
            assert kernel.shared_bytes in (usage[name].shared, usage[name].shared - reserved)
            assert kernel.spill_bytes is not None


def test_asking_for_the_link_late_gives_the_same_bytes_and_lowers_nothing(case: Case) -> None:
    late = case.bundle.link()
    assert late.cubin == case.linked.cubin
    assert late.report.stages["optimize"] == 0
    assert late.report.stages["assemble"] > 0


def test_output_does_not_depend_on_the_number_of_workers(case: Case, corpus_text: Callable[[str], str]) -> None:
    with parcubin.Compiler(case.bundle.target, jobs=4) as compiler:
        again = compiler.compile(corpus_text(case.name))
    assert [a.cubin for a in again.assemblies] == [a.cubin for a in case.bundle.assemblies]


def test_xla_modules_in_one_call(xla_modules: Path) -> None:
    inputs = sorted(xla_modules.glob("*.ll"))
    ptx = sorted(xla_modules.glob("*.ptx"))
    assert len(inputs) == len(ptx) == 75
    with parcubin.Compiler("sm_90a") as compiler:
        program = compiler.compile(inputs, output="cubin")
        assert len(program.kernels) == 75
        assert compiler.compile(ptx, output="cubin").kernels.keys() == program.kernels.keys()


@pytest.fixture
def damaged_modules(xla_modules: Path, tmp_path: Path) -> list[Path]:
    """The XLA modules, every fifth with an instruction that does not exist."""
    for number, source in enumerate(sorted(xla_modules.glob("*.ll"))):
        text = source.read_text()
        (tmp_path / source.name).write_text(text.replace("  ret void", "  bogus void", 1) if number % 5 == 0 else text)
    return sorted(tmp_path.iterdir())


def test_modules_that_cannot_be_parsed_are_each_named(damaged_modules: list[Path]) -> None:
    with parcubin.Compiler("sm_90a") as compiler:
        with pytest.raises(SeveralInputsError) as caught:
            compiler.compile(damaged_modules)
        program = compiler.compile(damaged_modules, keep_going=True, output="cubin")
    assert len(caught.value.errors) == 15
    for error in caught.value.errors:
        assert isinstance(error, parcubin.InputError)
        assert "bogus" in Path(error.input_name).read_text().splitlines()[(error.line or 0) - 1]
        assert f"{error.input_name} at line {error.line}" in str(caught.value)
    assert len(program.kernels) == 60
    assert [str(f) for f in program.report.failures] == [str(e) for e in caught.value.errors]


def test_xla_output_is_the_same_for_any_number_of_workers_and_order(xla_modules: Path) -> None:
    inputs = sorted(xla_modules.glob("*.ll"))
    outputs = []
    for jobs, order in ((1, inputs), (2, inputs[::-1]), (4, inputs[30:] + inputs[:30])):
        with parcubin.Compiler("sm_90a", jobs=jobs) as compiler:
            program = compiler.compile(order)
            outputs.append(([a.cubin for a in program.assemblies], program.link().cubin))
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(outputs[0][0]) > 1


def test_command_line_writes_nothing_when_an_input_fails(
    damaged_modules: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    output = tmp_path_factory.mktemp("output") / "out.cubin"
    command = [sys.executable, "-m", "parcubin", "compile", *map(str, damaged_modules)]
    command += ["--arch", "sm_90a", "-o", str(output)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert "step.0.ll at line" in result.stderr
    assert "Traceback" not in result.stderr
    assert list(output.parent.iterdir()) == []
    result = subprocess.run([*command, "--keep-going", "--json"], capture_output=True, text=True)
    assert result.returncode == 1
    summary = json.loads(result.stdout)
    assert summary["kernels"] == 60
    assert len(summary["failures"]) == 15
    assert output.read_bytes().startswith(b"\x7fELF")
