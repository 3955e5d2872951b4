"""`parcubin-ptxas` where other programs start ptxas."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from parcubin.inspect.cubin import read_cubin
from tests.ptxas.conftest import Front
from tests.ptxas.samples import KERNELS, TALKATIVE

CUDA = """\
#define __global__ __attribute__((global))
template <int N> __global__ void scale(float *p) { p[N] *= N; }
template __global__ void scale<1>(float *);
template __global__ void scale<2>(float *);
template __global__ void scale<3>(float *);
"""


def run(environment: dict[str, str], *command: object) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr


def registers(cubin: Path, cuobjdump: Callable[..., str]) -> dict[str, str]:
    return dict(re.findall(r"Function (\S+):\n\s+(REG:\d+ STACK:\d+)", cuobjdump(cubin.read_bytes(), "-res-usage")))


def test_clang(eager: Front, ptxas: str, tmp_path: Path, cuobjdump: Callable[..., str]) -> None:
    clang = shutil.which("clang-22") or shutil.which("clang++-22")
    if clang is None:
        pytest.skip("there is no clang-22")
    source = tmp_path / "input.cu"
    source.write_text(CUDA)
    found = []
    for path in (ptxas, eager.path):
        output = tmp_path / f"{Path(path).name}.cubin"
        options = ["--cuda-gpu-arch=sm_90", "--cuda-device-only", "-O2", "-nocudainc", "-nocudalib", "-x", "cuda"]
        environment = {**eager.environment, "PARCUBIN_PTXAS_LOG": str(eager.log)}
        run(environment, clang, *options, f"--ptxas-path={path}", "-c", source, "-o", output)
        found.append(registers(output, cuobjdump))
    assert found[0] == found[1]
    assert len(found[1]) == 3
    assert eager.how == "compiled in parts"


def test_nvcc_in_a_folder_of_links(eager: Front, tmp_path: Path, cuobjdump: Callable[..., str]) -> None:
    toolkit = Path("/usr/local/cuda")
    if not (toolkit / "bin" / "nvcc").is_file() or shutil.which("c++") is None:
        pytest.skip("there is no nvcc with a C++ compiler")
    links = tmp_path / "links"
    (links / "bin").mkdir(parents=True)
    for path in toolkit.iterdir():
        if path.name != "bin":
            (links / path.name).symlink_to(path)
    for path in (toolkit / "bin").iterdir():
        if path.name != "ptxas":
            (links / "bin" / path.name).symlink_to(path)
    (links / "bin" / "ptxas").symlink_to(eager.path)
    source = tmp_path / "input.cu"
    source.write_text(CUDA.partition("\n")[2])
    environment = {"PARCUBIN_PTXAS_LOG": str(eager.log), "XDG_CONFIG_HOME": str(tmp_path)}
    found = []
    for folder in (toolkit, links):
        output = tmp_path / "output.cubin"
        run(environment, folder / "bin" / "nvcc", "-arch=sm_90", "-lineinfo", "-cubin", source, "-o", output)
        found.append(registers(output, cuobjdump))
    assert found[0] == found[1]
    assert len(found[1]) == 3
    assert eager.how == "compiled in parts" or "There is no linker" in eager.how


def test_as_triton_calls_it(eager: Front, tmp_path: Path) -> None:
    """`third_party/nvidia/backend/compiler.py`: messages go to a file, which it reads when the exit status is not 0."""
    source, log = tmp_path / "tmpinput.ptx", tmp_path / "tmplog.log"
    source.write_text(TALKATIVE)
    command = [eager.path, "-lineinfo", "-v", "--gpu-name=sm_90a", source, "-o", f"{source}.o"]
    with log.open("w") as messages:
        environment = {**os.environ, **eager.environment}
        subprocess.run([*map(str, command)], check=True, close_fds=False, stderr=messages, env=environment)
    assert log.read_text().count("Compiling entry function") == KERNELS
    assert len(read_cubin(Path(f"{source}.o").read_bytes()).kernels) == KERNELS
    version = subprocess.check_output([str(eager.path), "--version"], stderr=subprocess.STDOUT, env=environment)
    assert re.search(r".*release (\d+\.\d+).*", version.decode(), flags=re.M)
