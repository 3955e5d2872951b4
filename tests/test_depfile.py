"""`parcubin compile --depfile` under make, ninja and CMake."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from parcubin.cli.depfile import rule
from parcubin.errors import UsageError
from tests.command_line import parcubin

PTX = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry {name}() {{ ret; }}\n"

MAKEFILE = """\
SOURCES = first.ptx $(wildcard second.ptx)
out.cubin: $(SOURCES)
\t+{compile} $(SOURCES) -o $@ --depfile out.d
-include out.d
"""

NINJA = """\
rule parcubin
  command = {compile} $in -o $out --depfile $out.d
  depfile = $out.d
  deps = gcc
build out.cubin: parcubin first.ptx {second}
"""

CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(kernels NONE)
file(GLOB second CONFIGURE_DEPENDS ${{CMAKE_SOURCE_DIR}}/second.ptx)
add_custom_command(
  OUTPUT out.cubin
  COMMAND {compile} ${{CMAKE_SOURCE_DIR}}/first.ptx ${{second}} -o out.cubin --depfile out.d
  DEPENDS first.ptx
  DEPFILE out.d)
add_custom_target(kernels ALL DEPENDS out.cubin)
"""


def test_rule() -> None:
    assert rule("a b.cubin", ["a.ptx", "$x#.ptx", "a.ptx"]) == (
        "a\\ b.cubin: \\\n  a.ptx \\\n  $$x\\#.ptx\n\na.ptx:\n\n$$x\\#.ptx:\n"
    )
    with pytest.raises(UsageError, match="line break"):
        rule("a.cubin", ["a\n.ptx"])


def test_toolchain_is_listed(tmp_path: Path) -> None:
    source, depfile = tmp_path / "first.ptx", tmp_path / "out.d"
    source.write_text(PTX.format(name="k"))
    result = parcubin(
        "compile", source, "--arch", "sm_90", "-o", tmp_path / "out.cubin", "--depfile", depfile, "-q",
        "--provider", "subprocess",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    listed = depfile.read_text().partition("\n\n")[0].replace("\\\n", "").split()
    assert listed[:2] == [f"{tmp_path / 'out.cubin'}:", str(source)]
    assert {"ptxas", "nvlink", "libdevice.10.bc"} <= {Path(name).name for name in listed}
    assert all(Path(name).exists() for name in listed[1:])


def test_one_shard_needs_no_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARCUBIN_FORBID", "subprocess,nvjitlink,driver")  # libnvptxcompiler links nothing
    source, depfile = tmp_path / "first.ptx", tmp_path / "out.d"
    source.write_text(PTX.format(name="k"))
    result = parcubin("compile", source, "--arch", "sm_90", "-o", tmp_path / "out.cubin", "--depfile", depfile, "-q")
    assert result.exit_code == 0, result.output
    assert "nvptxcompiler" in depfile.read_text()


def test_no_dependencies_of_what_failed(tmp_path: Path) -> None:
    source = tmp_path / "first.ptx"
    source.write_text(PTX.format(name="k").replace("ret", "rte"))
    arguments = ["--arch", "sm_90", "-o", tmp_path / "out.cubin", "--depfile", tmp_path / "out.d", "-q"]
    assert parcubin("compile", source, *arguments).exit_code == 1
    assert not (tmp_path / "out.d").exists()


def make(folder: Path, compile_command: str) -> Callable[[], str]:
    (folder / "Makefile").write_text(MAKEFILE.format(compile=compile_command))
    return lambda: build(folder, "make")


def ninja(folder: Path, compile_command: str) -> Callable[[], str]:
    def built() -> str:
        second = "second.ptx" if (folder / "second.ptx").exists() else ""
        (folder / "build.ninja").write_text(NINJA.format(compile=compile_command, second=second))
        return build(folder, "ninja", "-v")

    return built


def cmake(folder: Path, compile_command: str) -> Callable[[], str]:
    (folder / "CMakeLists.txt").write_text(CMAKE.format(compile=compile_command))
    build(folder, "cmake", "-G", "Ninja", "-B", "build", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}")
    return lambda: build(folder, "cmake", "--build", "build", "--verbose")


def tool(name: str) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"there is no {name}")
    return found


def build(folder: Path, name: str, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    run = subprocess.run([tool(name), *arguments], cwd=folder, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.parametrize("system", [make, ninja, cmake])
def test_build_system(system: Callable[[Path, str], Callable[[], str]], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("first", "second"):
        (folder / f"{name}.ptx").write_text(PTX.format(name=name))
    compile_command = f"{sys.executable} -m parcubin compile --arch sm_90 -q"
    built = system(folder, compile_command)
    assert "parcubin compile" in built()
    output = next(folder.rglob("out.cubin"))
    both = output.read_bytes()
    assert "parcubin compile" not in built()
    assert "parcubin compile" not in built()

    later(folder / "second.ptx", output)
    assert "parcubin compile" in built()
    assert output.read_bytes() == both
    assert "parcubin compile" not in built()

    (folder / "second.ptx").unlink()
    built()
    (folder / "first.ptx").write_text(PTX.format(name="alone"))
    later(folder / "first.ptx", output)
    assert "parcubin compile" in built()
    assert b"alone" in output.read_bytes()
    assert b"second" not in output.read_bytes()
    assert "parcubin compile" not in built()


def later(path: Path, other: Path) -> None:
    """Makes a file newer than another, and older than anything that is written from now on."""
    time = other.stat().st_mtime_ns + 1_000_000
    os.utime(path, ns=(time, time))
