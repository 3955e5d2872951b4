"""`parcubin split`: shards that compile with stock tools and link to the whole program."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from parcubin.inspect.cubin import read_cubin
from tests.inspect.cuda_tools import Tools
from tests.pipeline.samples import CONSTANT_TABLES


def split(source: Path, output: Path, *arguments: str) -> list[Path]:
    command = [sys.executable, "-m", "parcubin", "split", str(source), "-o", str(output), *arguments]
    subprocess.run(command, check=True, capture_output=True)
    plan = json.loads((output / "plan.json").read_text())
    files = [output / shard["file"] for shard in plan["shards"]]
    assert sorted([*files, output / "plan.json"]) == sorted(output.iterdir())
    return files


def lowered_by_llvmlite(text: str) -> str:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_80", features="+ptx80")
    ptx: str = machine.emit_assembly(llvm.parse_assembly(text))
    return ptx


def lowered_by_llc(text: str) -> str:
    llc = shutil.which("llc-22")
    if llc is None:
        pytest.skip("there is no llc-22")
    command = [llc, "-mcpu=sm_80", "-mattr=+ptx80", "-o", "-"]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("lowered", [lowered_by_llvmlite, lowered_by_llc])
def test_shards_link_to_the_program(lowered: Callable[[str], str], tmp_path: Path) -> None:
    source = tmp_path / "tables.ll"
    source.write_text(CONSTANT_TABLES)
    files = split(source, tmp_path / "shards")
    tools = Tools(tmp_path)
    modules = [
        tools.assemble(lowered(file.read_text()), "sm_80", "-c", name=f"shard{number}")
        for number, file in enumerate(files)
    ]
    linked = read_cubin(tools.link(modules, "sm_80"))
    assert linked.kernels.keys() == {"first", "second", "third"}
    assert linked.variables.keys() == {"table", "other", "counter"}


def test_ptx_shards_compile_alone_and_link(corpus: Path, tmp_path: Path) -> None:
    files = split(corpus / "cub.ptx.xz", tmp_path / "shards")
    assert len(files) > 4
    tools = Tools(tmp_path)
    small = sorted(files, key=lambda file: file.stat().st_size)[:3]
    modules = []
    for file in small:
        tools.run("ptxas", "-arch=sm_80", "-c", str(file), "-o", "shard.cubin")
        modules.append((tmp_path / "shard.cubin").read_bytes())
    plan = json.loads((tmp_path / "shards" / "plan.json").read_text())
    expected = {k for shard in plan["shards"] if tmp_path / "shards" / shard["file"] in small for k in shard["kernels"]}
    assert read_cubin(tools.link(modules, "sm_80")).kernels.keys() == expected
    assert sum(len(shard["kernels"]) for shard in plan["shards"]) == 75
