"""The shared library that is built of libnvptxcompiler_static.a."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from parcubin.errors import ToolchainError
from parcubin.toolchain.locate import find
from parcubin.toolchain.shared_nvptxcompiler import is_built, shared_nvptxcompiler
from parcubin.toolchain.version import Tool


@pytest.fixture
def static() -> Tool:
    file = find("nvptxcompiler_static")
    if file is None:
        pytest.skip("no libnvptxcompiler_static.a in this environment")
    if not shutil.which("c++"):
        pytest.skip("no C++ compiler")
    return Tool.library("nvptxcompiler", file.path)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "parcubin" / "nvptxcompiler"


def test_builds_once(static: Tool, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_built(static)
    shared = shared_nvptxcompiler(static)
    assert is_built(static)
    assert shared.version == static.version
    assert Path(shared.path).parent == cache
    monkeypatch.setenv("CXX", "/nowhere/c++")
    assert shared_nvptxcompiler(static) == shared


def test_the_library_loads_and_exports_its_interface_only(static: Tool) -> None:
    path = shared_nvptxcompiler(static).path
    program = f"import ctypes; assert ctypes.CDLL({path!r}).nvPTXCompilerGetVersion"
    subprocess.run([sys.executable, "-c", program], check=True)
    with Path(path).open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(section, SymbolTableSection)
        symbols = list(section.iter_symbols())
    exported = [s.name for s in symbols if s.name and s["st_shndx"] != "SHN_UNDEF"]
    assert "nvPTXCompilerCompile" in exported
    assert all(name.startswith("nvPTXCompiler") for name in exported)


def test_several_processes_at_once(static: Tool, cache: Path, tmp_path: Path) -> None:
    """One builds, the others wait for it; all get the same finished library."""
    compiler = tmp_path / "counting-c++"
    compiler.write_text(f'#!/bin/sh\necho >> {tmp_path}/runs\nexec c++ "$@"\n')
    compiler.chmod(0o755)
    program = (
        "from parcubin.toolchain.shared_nvptxcompiler import shared_nvptxcompiler;"
        "from parcubin.toolchain.version import Tool; import ctypes;"
        f"tool = shared_nvptxcompiler(Tool.library('nvptxcompiler', {static.path!r}));"
        "ctypes.CDLL(tool.path).nvPTXCompilerCreate; print(tool.path)"
    )
    environment = {**os.environ, "CXX": str(compiler)}
    runs = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(6)
    ]
    paths = {run.communicate()[0] for run in runs}
    assert [run.returncode for run in runs] == [0] * 6
    assert len(paths) == 1
    assert (tmp_path / "runs").read_text() == "\n"
    assert {path.suffix for path in cache.iterdir()} == {".so", ""}  # the library and the lock


def test_another_library_is_built_apart(static: Tool, tmp_path: Path) -> None:
    """The key is the content: neither path nor time."""
    copy = tmp_path / "copy.a"
    copy.write_bytes(Path(static.path).read_bytes())
    first = shared_nvptxcompiler(static)
    assert shared_nvptxcompiler(Tool.library("nvptxcompiler", str(copy))) == first
    with copy.open("ab") as file:
        file.write(b"\n")
    other = tmp_path / "other.a"
    copy.rename(other)
    assert not is_built(Tool.library("nvptxcompiler", str(other)))


def test_no_compiler(static: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolchainError, match=r"no C\+\+ compiler"):
        shared_nvptxcompiler(static)
    monkeypatch.setenv("CXX", "/nowhere/c++")
    with pytest.raises(ToolchainError, match=r"/nowhere/c\+\+ cannot be run"):
        shared_nvptxcompiler(static)


@pytest.mark.parametrize("failure", ["echo 'cannot find -lc'; exit 1", "touch $output; exit 1", "exit 0"])
def test_a_compiler_that_fails(
    static: Tool, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(f"#!/bin/sh\nfor output; do :; done\n{failure}\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(ToolchainError, match="could not make a shared library") as raised:
        shared_nvptxcompiler(static)
    assert ("cannot find -lc" in raised.value.log) == ("echo" in failure)
    assert [path.name for path in cache.iterdir()] == ["lock"]
    monkeypatch.delenv("CXX")
    assert ctypes.CDLL(shared_nvptxcompiler(static).path)


def test_a_system_without_the_static_cxx_library(static: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\ncase "$*" in *-static-libstdc++*) exit 1;; esac\nexec c++ "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert Path(shared_nvptxcompiler(static).path).exists()


def test_a_cache_that_others_can_write_to_is_refused(static: Tool, cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    with pytest.raises(ToolchainError, match="is not private"):
        shared_nvptxcompiler(static)


def test_a_cache_that_cannot_be_made(static: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ToolchainError, match="cannot be used"):
        shared_nvptxcompiler(static)
