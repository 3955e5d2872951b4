"""A machine that lets one down: full and unwritable disks, no descriptors, folders that go, a ptxas that misbehaves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import parcubin
from parcubin.configuration import ToolPaths
from parcubin.errors import InternalCompilerError, ParcubinError, ToolchainError, WorkerError
from tests.pipeline.samples import kernel, module

GOOD = module(kernel("good"))


def run(folder: Path, before: str = "", **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Compiles on the command line, in a folder of its own, after some Python code."""
    (folder / "good.ll").write_text(GOOD)
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    script = f"import os, resource, shutil, sys\n{before}\nfrom parcubin.cli.main import main\nmain()\n"
    command = [sys.executable, "-c", script, "compile", str(folder / "good.ll"), "--arch", "sm_80", "-j", "1"]
    return subprocess.run(
        [*command, "-o", "out.cubin", "--quiet"],
        cwd=folder,
        env={name: value for name, value in settings.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=120,
    )


LIMITED = "resource.setrlimit(resource.RLIMIT_{}, ({}, {}))\n"
FAULTS: dict[str, tuple[str, dict[str, str | None], tuple[int, ...]]] = {
    "no room for files": (
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + LIMITED.format("FSIZE", 1000, 1000),
        {},
        (1,),
    ),
    "no descriptors left": (LIMITED.format("NOFILE", 12, 12), {}, (0, 1, 3)),
    "hardly any descriptors": (LIMITED.format("NOFILE", 24, 24), {}, (0, 1, 3)),
    "no folder for temporary files": ("", {"TMPDIR": "/nowhere"}, (0,)),
    "temporary files in a file": ("", {"TMPDIR": "/proc/version"}, (0,)),
    "no home folder": ("", {"HOME": "/nowhere", "XDG_CACHE_HOME": None, "XDG_CONFIG_HOME": None}, (0,)),
    "HOME is not set": ("", {"HOME": None}, (0,)),
    "the working folder is gone": ("os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')", {}, (1, 2)),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.fault("disk full, no descriptors, no folders", "compiled, or one message and no output")
def test_fault(fault: str, tmp_path: Path) -> None:
    before, environment, statuses = FAULTS[fault]
    result = run(tmp_path, before, **environment)
    assert result.returncode in statuses, result.stderr
    assert "Traceback" not in result.stderr
    assert (tmp_path / "out.cubin").exists() == (result.returncode == 0)
    assert {path.name for path in tmp_path.iterdir()} <= {"good.ll", "out.cubin", "gone"}
    assert result.returncode == 0 or result.stderr.startswith("parcubin: ")


@pytest.fixture(scope="module")
def real_ptxas() -> str:
    with parcubin.Compiler("sm_80", jobs=1) as compiler:
        selection = compiler.select_provider("bundle")
    assert selection is not None
    return selection.tools[0].path


Compiling = Callable[[str], parcubin.Compiler]


@pytest.fixture
def compiling(real_ptxas: str, tmp_path: Path) -> Compiling:
    """A compiler whose ptxas runs a shell command in place of compiling the kernel `good`."""

    def make(command: str) -> parcubin.Compiler:
        script = tmp_path / "ptxas"
        script.write_text(
            f"#!/bin/sh\nreal={real_ptxas}\n"
            f'if [ -f input.ptx ] && grep -q "entry good" input.ptx; then\n{command}\nfi\n'
            'exec $real "$@"\n'
        )
        script.chmod(0o755)
        return parcubin.Compiler("sm_80", jobs=1, provider="subprocess", paths=ToolPaths(ptxas=str(script)))

    return make


PTXAS: dict[str, tuple[str, type[ParcubinError] | None]] = {
    "writes half a file": (
        '$real "$@"; head -c 1000 output.cubin > half; mv half output.cubin; exit 0',
        InternalCompilerError,
    ),
    "writes another file": ("echo nothing > output.cubin; exit 0", InternalCompilerError),
    "writes nothing and is content": ("exit 0", InternalCompilerError),
    "writes an empty file": (": > output.cubin; exit 0", InternalCompilerError),
    "prints a megabyte and fails": ("yes 'ptxas error   : no' | head -c 1000000; exit 255", ParcubinError),
    "prints a megabyte and works": ("yes 'ptxas warning : hm' | head -c 1000000", None),
    "prints what is no text": ("printf '\\377\\376\\000 error'; exit 255", ParcubinError),
    "crashes": ("kill -SEGV $$", InternalCompilerError),
    "is removed": ("rm -f $0", None),
    "writes a folder": ("mkdir output.cubin; exit 0", ParcubinError),
}


@pytest.mark.parametrize("fault", PTXAS)
@pytest.mark.fault("a ptxas that misbehaves", "`InternalCompilerError` that names the kernel, or compiled")
def test_ptxas(fault: str, compiling: Compiling) -> None:
    command, error = PTXAS[fault]
    with compiling(command) as compiler:
        if error is None:
            assert list(compiler.compile(GOOD).kernels) == ["good"]
        else:
            with pytest.raises(error) as caught:
                compiler.compile(GOOD)
            assert not isinstance(caught.value, WorkerError), caught.value.log
            assert len(caught.value.message) < 5000
            assert caught.value.kernels == ("good",)


@pytest.mark.fault("ptxas is removed in mid-run", "`ToolchainError` for what was not compiled")
def test_ptxas_is_gone(compiling: Compiling) -> None:
    with compiling("rm -f $0") as compiler:
        assert list(compiler.compile(GOOD).kernels) == ["good"]
        with pytest.raises(ToolchainError, match="cannot be run"):
            compiler.compile(module(kernel("other")))


@pytest.mark.fault("the folder of the output disappears", "`ParcubinError`, no output")
def test_folder_of_the_output(tmp_path: Path, compiling: Compiling) -> None:
    with compiling("true") as compiler:
        program = compiler.compile(GOOD)
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone").rmdir()
    with pytest.raises(ParcubinError, match="Cannot write"):
        program.write(tmp_path / "gone" / "out.cubin")
