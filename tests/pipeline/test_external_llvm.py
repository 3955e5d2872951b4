"""Whole programs through llvmlite and through an LLVM in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from llvmlite.binding import llvm_version_info

import parcubin
from parcubin.lower.external import ExternalLlvm
from parcubin.model import Emit
from tests.pipeline.samples import CONSTANT_TABLES, kernel, module

CALLS_LIBDEVICE = module(
    "declare float @__nv_expf(float)\n",
    *(
        kernel(
            name,
            "  %x = load float, ptr %p\n  %y = call float @__nv_expf(float %x)\n"
            f"  %z = fmul float %y, {number}.0\n  store float %z, ptr %p\n",
        )
        for number, name in enumerate(("exp0", "exp1", "exp2"))
    ),
)


def programs(inputs: object, target: str, llvm: ExternalLlvm, output: Emit = "bundle") -> list[parcubin.Program]:
    """By llvmlite, and by the other LLVM with three numbers of workers."""
    found = []
    for name, jobs in (("llvmlite", 2), (llvm.tools.folder, 1), (llvm.tools.folder, 2), (llvm.tools.folder, 4)):
        with parcubin.Compiler(target, llvm=name, jobs=jobs) as compiler:
            found.append(compiler.compile(inputs, output=output))
    return found


@pytest.fixture
def some_of_cub(corpus_text: Callable[[str], str], external_llvm: ExternalLlvm) -> str:
    """Two shards of cub.ll, as one module."""
    with parcubin.Compiler("sm_80", llvm=external_llvm.tools.folder) as compiler:
        shards = sorted(compiler.split(corpus_text("cub.ll")), key=lambda shard: shard.cost)
    return next(shard.text for shard in shards if len(shard.kernels) > 2)


def check_same(found: list[parcubin.Program], llvm: ExternalLlvm) -> None:
    """The same program, whatever the number of workers, and the very same as llvmlite's when it is of the same LLVM."""
    by_llvmlite, *by_other = found
    for program in by_other:
        assert program.kernels.keys() == by_llvmlite.kernels.keys()
        assert program.variables == by_llvmlite.variables
        if llvm.tools.major == llvm_version_info[0]:
            assert {n: (k.registers, k.shared_bytes) for n, k in program.kernels.items()} == {
                n: (k.registers, k.shared_bytes) for n, k in by_llvmlite.kernels.items()
            }
        assert [a.cubin for a in program.assemblies] == [a.cubin for a in by_other[0].assemblies]
        assert program._image == by_other[0]._image


@pytest.mark.parametrize("output", ["bundle", "cubin"])
def test_samples(output: Emit, external_llvm: ExternalLlvm) -> None:
    for sample in (CONSTANT_TABLES, CALLS_LIBDEVICE, [module(kernel("k")), module(kernel("l")), CALLS_LIBDEVICE]):
        check_same(programs(sample, "sm_90", external_llvm, output), external_llvm)


def test_ptx_is_the_same(some_of_cub: str, external_llvm: ExternalLlvm) -> None:
    if external_llvm.tools.major != llvm_version_info[0]:
        pytest.skip(f"the PTX of {external_llvm.identity} is not that of llvmlite")
    for sample in (some_of_cub, CONSTANT_TABLES, CALLS_LIBDEVICE):
        by_llvmlite, *by_other = programs(sample, "sm_80", external_llvm, "ptx")
        assert by_llvmlite.ptx
        for program in by_other:
            assert program.ptx == by_llvmlite.ptx


def test_a_part_of_cub(some_of_cub: str, external_llvm: ExternalLlvm) -> None:
    check_same(programs(some_of_cub, "sm_80", external_llvm), external_llvm)


def test_xla_modules(xla_modules: Path, external_llvm: ExternalLlvm) -> None:
    found = programs(sorted(xla_modules.glob("*.ll")), "sm_90a", external_llvm)
    check_same(found, external_llvm)
    assert len(found[0].kernels) == 75
    if external_llvm.tools.major == llvm_version_info[0]:
        assert [a.cubin for a in found[1].assemblies] == [a.cubin for a in found[0].assemblies]


def test_the_command_line_takes_it_and_the_report_names_it(external_llvm: ExternalLlvm, tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(module(kernel("k")))
    llvm = ["--llvm", str(Path(external_llvm.tools.folder))]

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "parcubin", *arguments, *llvm]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    run("compile", "in.ll", "--arch", "sm_80", "-o", "out.cubin", "--quiet")
    assert (tmp_path / "out.cubin").read_bytes() == parcubin.compile(
        tmp_path / "in.ll", "sm_80", output="cubin", llvm=external_llvm.tools.folder
    ).cubin
    run("split", "in.ll", "--arch", "sm_80", "-o", "shards")
    assert "define ptx_kernel void @k(ptr %p)" in (tmp_path / "shards" / "0000.ll").read_text()
    info = json.loads(run("info", "--json"))
    assert info["llvm"]["identity"] == external_llvm.identity
    assert info["llvm"]["ptx_isa"] == max(external_llvm.tools.ptx_versions)
    assert info["llvm"]["decisions"] == [
        {"candidate": external_llvm.identity, "verdict": "chosen", "reason": "asked for"}
    ]


def test_a_folder_without_llvm_is_exit_status_3(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(module(kernel("k")))
    command = [sys.executable, "-m", "parcubin", "compile", "in.ll", "--arch", "sm_80", "-o", "out.cubin"]
    run = subprocess.run([*command, "--llvm", str(tmp_path)], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 3
    assert "There are no executables opt and llc" in run.stderr
    assert not (tmp_path / "out.cubin").exists()


def test_times_are_of_all_stages(external_llvm: ExternalLlvm) -> None:
    stages = parcubin.compile(CALLS_LIBDEVICE, "sm_80", output="ptx", llvm=external_llvm.tools.folder).report.stages
    assert all(stages[stage] > 0 for stage in ("parse", "optimize", "emit"))
