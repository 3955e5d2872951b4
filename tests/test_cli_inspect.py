"""`parcubin inspect` and `parcubin info` on the real toolchain, held against cuobjdump and ptxas."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from cuda.pathfinder import find_nvidia_binary_utility

from tests.command_line import Result, parcubin

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry fill(.param .u64 out) {
    .reg .u64 %address; .reg .u32 %thread; .reg .u64 %offset;
    .shared .align 4 .b8 scratch[256];
    ld.param.u64 %address, [out];
    mov.u32 %thread, %tid.x;
    st.shared.u32 [scratch], %thread;
    mul.wide.u32 %offset, %thread, 4;
    add.u64 %address, %address, %offset;
    st.global.u32 [%address], %thread;
    ret;
}
.visible .entry nothing() { ret; }
"""


def run(*arguments: str | Path) -> Result:
    return parcubin(*arguments)


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspect")
    (folder / "a.ptx").write_text(PTX)
    ptxas = find_nvidia_binary_utility("ptxas")
    subprocess.run([ptxas, "-arch=sm_90", "-o", folder / "a.cubin", folder / "a.ptx"], check=True)
    return folder / "a.cubin"


def test_inspect_json_agrees_with_cuobjdump(cubin: Path) -> None:
    result = run("inspect", cubin, "--json")
    assert result.exit_code == 0, result.output
    kernels = {kernel.pop("name"): kernel for kernel in json.loads(result.stdout)["kernels"]}
    cuobjdump = subprocess.run(
        [find_nvidia_binary_utility("cuobjdump"), "-res-usage", cubin], capture_output=True, text=True, check=True
    )
    usage = re.findall(r"Function (\w+):\n\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)", cuobjdump.stdout)
    assert {name for name, *_ in usage} == kernels.keys() == {"fill", "nothing"}
    for name, registers, stack, shared in usage:
        assert kernels[name].keys() == {
            "registers",
            "shared_bytes",
            "stack_bytes",
            "spill_bytes",
            "code_bytes",
            "barriers",
        }
        assert kernels[name]["registers"] == int(registers)
        assert kernels[name]["stack_bytes"] == int(stack)
        assert kernels[name]["shared_bytes"] == max(int(shared) - 1024, 0)  # the system reserves 1 KiB
        assert kernels[name]["spill_bytes"] is None
        assert kernels[name]["code_bytes"] % 128 == 0
    assert kernels["fill"]["shared_bytes"] == 256


def test_inspect_prints_a_line_a_kernel(cubin: Path) -> None:
    heading, *rows = run("inspect", cubin).stdout.splitlines()
    assert heading.split() == ["registers", "shared", "stack", "spills", "code", "kernel"]
    assert sorted(row.split()[-1] for row in rows) == ["fill", "nothing"]
    assert next(row.split() for row in rows if row.endswith("fill"))[1:4] == ["256", "0", "-"]


@pytest.mark.parametrize("content", [b"", b"define void @f()", b"\x7fELF", b"PK\x03\x04"])
def test_inspect_of_something_else_is_an_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    result = run("inspect", file)
    assert result.exit_code == 1
    assert str(file) in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", ["missing.cubin", "folder"])
def test_inspect_of_no_file_or_an_empty_folder_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    result = run("inspect", tmp_path / name)
    assert result.exit_code == 1
    assert name in result.stderr
    assert "Traceback" not in result.output


def test_info_names_the_toolchain_and_the_choice() -> None:
    result = run("info", "--json")
    assert result.exit_code == 0, result.output
    info = json.loads(result.stdout)
    assert info["toolchain"][0]["component"] == "ptxas"
    ptxas = subprocess.run(
        [info["toolchain"][0]["path"], "--version"], capture_output=True, text=True, check=True
    ).stdout
    version = re.search(r"V(\d+\.\d+\.\d+)", ptxas)
    assert version
    assert version[1] in info["link"]["identity"]
    assert info["link"]["decisions"][-1]["verdict"] == "chosen"
    text = run("info").stdout
    assert info["toolchain"][0]["path"] in text
    assert info["link"]["provider"] in text


def test_info_with_an_unknown_provider_is_wrong_usage() -> None:
    result = run("info", "--provider", "nvcc")
    assert result.exit_code == 2
    assert "nvcc" in result.stderr
