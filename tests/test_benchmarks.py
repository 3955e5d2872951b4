"""The benchmark: its statistics on made-up runs, its contenders on tiny inputs, and what it makes of failures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.cases import kernels_of
from benchmarks.code_quality import Quality, Usage, compare, usage_of
from benchmarks.lineup import AT_ONCE, BASELINE
from benchmarks.scaling import renamed, scaling_of
from benchmarks.splitting import Splitting
from benchmarks.summary import CaseResult, Row, Run, case_result_of, figures_of, limit_of
from benchmarks.tables import markdown_table, text_table
from benchmarks.tools import find_tools
from parcubin.toolchain.locate import find
from tests.conftest import ROOT
from tests.cuda_tools import cuda_tool

JOBS = 2
QUALITY = Quality(registers=100, most_more_registers=2, stack=8, more_stack=1, missing=0)

LLVM_IR = """\
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

$shared = comdat any
@table = internal addrspace(1) constant [2 x i32] [i32 1, i32 2]

define ptx_kernel void @first(ptr addrspace(1) %p) {
  %x = call i32 @shared(i32 1)
  store i32 %x, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @"second"(ptr addrspace(1) %p) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = getelementptr i32, ptr addrspace(1) @table, i32 %i
  %x = load i32, ptr addrspace(1) %q
  store i32 %x, ptr addrspace(1) %p
  ret void
}

define i32 @shared(i32 %x) noinline comdat {
  %y = add i32 %x, 41
  ret i32 %y
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""

PTX = """\
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter;
.func helper() { bar.sync 0; ret; }
.visible .entry third(.param .u64 third_param_0)
{
	.reg .b32 %r<2>;
	call helper;
	ld.global.u32 %r1, [counter];
	st.global.u32 [counter], %r1;
	ret;
}
"""


def runs(contender: str, *walls: float, cpu: float = 10.0, shard: float | None = None) -> list[Run]:
    return [Run(contender, r, wall, cpu, 100 + r, 1000 - r, shard) for r, wall in enumerate(walls)]


def test_ratios_are_taken_within_a_repetition() -> None:
    # The machine is half as fast in the second repetition: no speedup changes by that.
    measured = [*runs(BASELINE, 10.0, 20.0, 12.0), *runs("way", 5.0, 10.0, 4.0, cpu=12.0)]
    figures = figures_of("way", measured, QUALITY, JOBS, has_limit=False)
    assert figures.speedup == 2.0
    assert figures.speedup_range == (2.0, 3.0)
    assert figures.wall_s == 5.0
    assert figures.cpu_ratio == 1.2
    assert (figures.main_peak, figures.tree_peak) == (102, 1000)
    assert figures.of_limit is None


def test_limit_is_the_larger_of_the_longest_shard_and_the_work_over_the_throughput() -> None:
    copies = runs(AT_ONCE, 8.0, 16.0, 8.0)
    measured = [*runs(BASELINE, 6.0, 12.0, 6.0), *copies, *runs("bundle", 5.0, 10.0, 5.0, shard=3.0)]
    limit = limit_of("bundle", measured, JOBS)
    assert limit is not None
    assert (limit.limit_s, limit.throughput_s, limit.longest_shard_s) == (4.0, 4.0, 3.0)
    assert figures_of("bundle", measured, QUALITY, JOBS, has_limit=True).of_limit == 1.25
    with_long_shard = [*runs(BASELINE, 6.0), *runs(AT_ONCE, 8.0), *runs("bundle", 6.0, shard=5.0)]
    assert figures_of("bundle", with_long_shard, QUALITY, JOBS, has_limit=True).of_limit == 1.2
    assert limit_of("bundle", runs("bundle", 5.0, shard=3.0), JOBS) is None


def test_quality_compares_kernel_by_kernel() -> None:
    baseline = {"a": Usage(20, 0), "b": Usage(30, 16), "c": Usage(10, 0)}
    quality = compare({"a": Usage(30, 8), "b": Usage(24, 0)}, baseline, baseline.keys())
    assert quality == Quality(registers=54, most_more_registers=10, stack=8, more_stack=1, missing=1)


def test_scaling_is_against_the_fewest_cores_of_the_same_repetition() -> None:
    points = scaling_of("all", [(0, 1, 8.0), (0, 4, 2.0), (1, 4, 4.0), (1, 1, 16.0)])
    assert [(p.jobs, p.wall_s, p.speedup) for p in points] == [(1, 12.0, 1.0), (4, 3.0, 4.0)]


def test_results_are_shown_and_read_back() -> None:
    measured = [*runs(BASELINE, 6.0), *runs(AT_ONCE, 8.0), *runs("bundle", 5.0, shard=3.0)]
    rows = (
        Row(BASELINE, "serial", figures_of(BASELINE, measured, QUALITY, JOBS, has_limit=False)),
        Row("bundle", "parcubin, bundle", figures_of("bundle", measured, QUALITY, JOBS, has_limit=True)),
        Row("llvm-split", "LLVM split", None, "failed: undefined reference"),
    )
    splitting, limit = Splitting(0.1, 0.2, 0.3, 0.6), limit_of("bundle", measured, JOBS)
    result = CaseResult("cub", "cub.ll", "sm_80", rows, limit, splitting, 0.06, tuple(measured))
    assert case_result_of(json.loads(json.dumps(asdict(result)))) == result
    for table in (text_table([result]), markdown_table([result])):
        assert "1.25" in table
        assert "LLVM split: failed: undefined reference" in table


def test_copies_have_other_names_and_are_valid(tmp_path: Path) -> None:
    import llvmlite.binding as llvm

    modules = [llvm.parse_assembly(renamed(LLVM_IR, f"_copy{n}", is_ptx=False)) for n in range(2)]
    modules[0].link_in(modules[1])  # refuses what is defined twice
    names = {f.name for f in modules[0].functions if not f.is_declaration}
    assert names == {f"{name}_copy{n}" for name in ("first", "second", "shared") for n in range(2)}
    assert "counter" not in re.sub(r"counter_copy0", "", renamed(PTX, "_copy0", is_ptx=True))
    path = tmp_path / "copy.ptx"
    path.write_text(renamed(PTX, "_copy0", is_ptx=True))
    assert kernels_of([path]) == {"third_copy0"}
    subprocess.run([cuda_tool("ptxas"), "-arch=sm_80", path, "-o", tmp_path / "copy.cubin"], check=True)


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "module.ll", tmp_path / "module_2.ptx"]
    for path, text in zip(paths, (LLVM_IR, PTX), strict=True):
        path.write_text(text)
    return paths


def nvjitlink() -> str:
    found = find("nvJitLink")
    if found is None:
        pytest.skip("libnvJitLink is not installed")
    return found.path


@pytest.mark.parametrize("contender", ["serial", "ptxas-split", "nvjitlink", "per_kernel", "llvm_split"])
def test_contender_compiles_every_kernel(contender: str, inputs: list[Path], tmp_path: Path) -> None:
    tools = find_tools()
    ptxas = ["--ptxas", cuda_tool("ptxas")]
    module, options = contender, ptxas
    if contender == "ptxas-split":
        module, options = "serial", [*ptxas, "--split-compile=0"]
    elif contender == "nvjitlink":
        options = ["--nvjitlink", nvjitlink()]
    elif contender == "per_kernel":
        options = [*ptxas, "--jobs", str(JOBS)]
    elif contender == "llvm_split":
        if tools.llvm is None or not (tools.llvm / "llvm-split").exists():
            pytest.skip("LLVM's tools are not installed")
        options = [*ptxas, "--jobs", str(JOBS), "--nvlink", cuda_tool("nvlink"), "--llvm", str(tools.llvm)]
        inputs = inputs[:1]
    output = tmp_path / "output"
    command = [sys.executable, "-m", f"benchmarks.contenders.{module}", *map(str, inputs), "--lineinfo"]
    run = subprocess.run(
        [*command, "--arch", "sm_80", "--output", output, *options], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    kernels = kernels_of(inputs)
    assert kernels >= {"first", "second"}
    assert usage_of(output, kernels, cuda_tool("cuobjdump"), JOBS).keys() == kernels


def test_contender_says_why_it_fails(tmp_path: Path) -> None:
    source = tmp_path / "wrong.ptx"
    source.write_text(PTX.replace("bar.sync", "wrong.sync"))
    command = [sys.executable, "-m", "benchmarks.contenders.serial", str(source), "--arch", "sm_80"]
    command += ["--output", str(tmp_path / "output"), "--ptxas", cuda_tool("ptxas")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 1
    assert "wrong" in run.stderr


CASE = """
import json, sys
from dataclasses import asdict, replace
from pathlib import Path
from benchmarks.bench import run_case
from benchmarks.cases import Case, Inputs, kernels_of
from benchmarks.lineup import Contender, lineup
from benchmarks.measure import become_subreaper
from benchmarks.tools import find_tools
become_subreaper()
files = tuple(map(Path, sys.argv[1:]))
inputs = Inputs(Case("tiny", "tiny", (), "sm_80"), files, kernels_of(files))
tools = find_tools()
contenders = [c for c in lineup(tools, 2) if c.key in ("serial", "at-once", "per-kernel")]
fail = "import sys; sys.exit('some words\\\\nlinker: undefined reference')"
contenders.append(Contender("broken", "broken", (sys.executable, "-c", fail)))
contenders.append(replace(contenders[0], key="absent", name="absent", absent="needs something"))
print(json.dumps(asdict(run_case(inputs, contenders, tools, 2, 2, files[0].parent))))
"""


def test_what_fails_and_what_is_absent_is_listed(inputs: list[Path]) -> None:
    run = subprocess.run([sys.executable, "-c", CASE, *inputs], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    result = case_result_of(json.loads(run.stdout))
    rows = {row.contender: row for row in result.rows}
    assert list(rows) == ["serial", "per-kernel", "broken", "absent"]
    assert rows["broken"].note == "failed: linker: undefined reference"
    assert rows["absent"].note == "not run: needs something"
    for key in ("serial", "per-kernel"):
        figures = rows[key].figures
        assert figures is not None
        assert (figures.quality.missing, figures.quality.most_more_registers) == (0, 0)
    order = [(run.repetition, run.contender) for run in result.runs]
    assert order == [
        *((0, key) for key in ("serial", "per-kernel", "at-once")),
        *((1, key) for key in ("at-once", "per-kernel", "serial")),
    ]


MEASURED = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from benchmarks.measure import become_subreaper, measure
become_subreaper()
print(json.dumps(asdict(measure([sys.executable, "-c", sys.argv[1]], Path.cwd()))))
"""

TWO_PROCESSES = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", '''
import time
data = bytearray(b"x" * 150_000_000)
print(flush=True)
while time.process_time() < 1: pass
'''], stdout=subprocess.PIPE)
child.stdout.readline()
time.sleep(0.5)
print("out")
sys.exit(3)
"""


def test_measurement_covers_what_the_command_leaves_running() -> None:
    run = subprocess.run([sys.executable, "-c", MEASURED, TWO_PROCESSES], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    done = json.loads(run.stdout)
    assert (done["status"], done["output"]) == (3, "out\n")
    assert done["cpu_s"] >= 1
    assert 0 < done["main_peak"] < 100_000_000
    assert done["tree_peak"] > 100_000_000
