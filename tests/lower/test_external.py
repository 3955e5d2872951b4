"""An external LLVM that crashes, hangs or writes nothing, and what it does without llvmlite. What both do is in
test_llvm.py."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import parcubin
from parcubin.errors import (
    CompilationTimeoutError,
    InternalCompilerError,
    OutOfMemoryError,
    ParcubinError,
    ToolchainError,
)
from parcubin.lower.external import ExternalLlvm
from tests.lower.llvm_stand_ins import install, write_script
from tests.pipeline.samples import HEADER, kernel, module

BITCODE = r"printf 'BC\300\336' > optimized.bc"
CRASH = "echo 'PLEASE submit a bug report'; echo 'LLVM ERROR: no luck'; echo 'In function: bad'; kill -ABRT $$"


def compiled(folder: Path, text: str, *, keep_going: bool = False) -> parcubin.Program:
    with parcubin.Compiler("sm_80", jobs=1, llvm=folder) as compiler:
        return compiler.compile(text, output="ptx", keep_going=keep_going)


@pytest.mark.parametrize("tool", ["opt", "llc"])
def test_a_crash_is_an_internal_error_of_the_kernel(tool: str, tmp_path: Path) -> None:
    tools: dict[str, Any] = {"opt": BITCODE, tool: CRASH}
    folder = install(tmp_path, **tools)
    with pytest.raises(InternalCompilerError, match=r"The compiler crashed on bad \(SIGABRT\): no luck") as caught:
        compiled(folder, module(kernel("bad")))
    assert caught.value.kernels == ("bad",)
    assert "PLEASE submit a bug report" in caught.value.log


def test_the_kernel_at_fault_is_found_and_the_rest_compiled(external_llvm: ExternalLlvm, tmp_path: Path) -> None:
    folder = in_front_of(external_llvm, tmp_path, opt="if grep -q @bad input-0; then kill -SEGV $$; fi")
    text = module(kernel("bad"), *(kernel(f"k{i}") for i in range(5)))
    with pytest.raises(InternalCompilerError, match="SIGSEGV") as caught:
        compiled(folder, text)
    assert caught.value.kernels == ("bad",)
    program = compiled(folder, text, keep_going=True)
    assert [failure.kernels for failure in program.report.failures] == [("bad",)]
    assert program.report.kernels == 5


@pytest.mark.parametrize(
    ("opt", "llc"),
    [("true", "exit 1"), ("echo junk > optimized.bc", "exit 1"), (BITCODE, "echo junk > output"), (BITCODE, "true")],
)
def test_nothing_useful_written_is_an_internal_error(opt: str, llc: str, tmp_path: Path) -> None:
    with pytest.raises(InternalCompilerError, match="reported success on k but wrote no output"):
        compiled(install(tmp_path, opt=opt, llc=llc), module(kernel("k")))


def test_an_error_that_is_not_understood_is_an_internal_error_with_the_log(tmp_path: Path) -> None:
    with pytest.raises(InternalCompilerError, match="The compiler crashed on k") as caught:
        compiled(install(tmp_path, opt="echo no idea; exit 3"), module(kernel("k")))
    assert caught.value.log == "no idea"


def test_being_killed_twice_is_taken_for_a_lack_of_memory(tmp_path: Path) -> None:
    folder = install(tmp_path, opt=f"echo >> {tmp_path}/runs; kill -KILL $$")
    with pytest.raises(OutOfMemoryError, match=r"SIGKILL twice") as caught:
        compiled(folder, module(kernel("k")))
    assert caught.value.kernels == ("k",)
    assert (tmp_path / "runs").read_text() == "\n\n"


def test_a_hang_hits_the_time_limit(tmp_path: Path) -> None:
    folder = install(tmp_path / "llvm", opt=f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    with parcubin.Compiler("sm_80", jobs=1, llvm=folder) as compiler:
        with pytest.raises(CompilationTimeoutError) as caught:
            compiler.compile(module(kernel("k")), output="ptx", timeout=1)
        assert caught.value.kernels == ("k",)
        wait_until(lambda: not is_running(int((tmp_path / "pid").read_text())))


def test_it_ends_with_the_compiler(tmp_path: Path) -> None:
    folder = install(tmp_path / "llvm", opt=f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    compiler = parcubin.Compiler("sm_80", jobs=1, llvm=folder)
    failures: list[ParcubinError] = []

    def compile_() -> None:
        try:
            compiler.compile(module(kernel("k")), output="ptx")
        except ParcubinError as error:
            failures.append(error)

    thread = threading.Thread(target=compile_)
    thread.start()
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"))
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, 0)
    compiler.close()
    thread.join(timeout=10)
    assert len(failures) == 1
    wait_until(lambda: not is_running(pid))


def wait_until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def in_front_of(llvm: ExternalLlvm, folder: Path, *, opt: str) -> Path:
    """The tools of an LLVM, with a script that runs before each run of opt."""
    for tool in ("llc", "llvm-link"):
        (folder / tool).symlink_to(llvm.tools.path(tool))
    write_script(folder / "opt", f'case "$*" in *--version*) ;; *) {opt} ;; esac\nexec {llvm.tools.path("opt")} "$@"')
    return folder


def test_without_llvm_link_what_needs_it_is_an_error(external_llvm: ExternalLlvm, tmp_path: Path) -> None:
    folder = in_front_of(external_llvm, tmp_path, opt="true")
    (folder / "llvm-link").unlink()
    assert compiled(folder, module(kernel("k"))).report.kernels == 1
    text = module(
        "declare float @__nv_sinf(float)\n",
        kernel("k", "  %x = call float @__nv_sinf(float 1.0)\n  store float %x, ptr %p\n"),
    )
    with pytest.raises(ToolchainError, match="has no llvm-link, and k is linked of input 1, libdevice") as caught:
        compiled(folder, text)
    assert caught.value.exit_status == 3


def test_what_only_the_external_llvm_reads_is_split_and_lowered(external_llvm: ExternalLlvm, tmp_path: Path) -> None:
    """The stand-in for a newer LLVM knows an instruction more. That the text is not understood by llvmlite is no
    hindrance to taking it apart."""
    folder = in_front_of(external_llvm, tmp_path, opt="[ ! -f input-0 ] || sed -i 's/= brandnew /= add /' input-0")
    text = module(*(kernel(f"k{i}", f"  %x = brandnew i32 {i}, 7\n  store i32 %x, ptr %p\n") for i in range(9)))
    with pytest.raises(parcubin.InputError, match="expected instruction opcode"):
        parcubin.compile(text, "sm_80", llvm="llvmlite")
    program = parcubin.compile(text, "sm_80", llvm=folder)
    assert len(program.kernels) == 9
    unprinted = text.replace(HEADER, HEADER + "; not printed\n\n\n" + '@"v" = global i32 0\n')
    assert len(parcubin.compile(unprinted, "sm_80", llvm=folder).kernels) == 9


@pytest.mark.parametrize("form", ["text", "bitcode"])
def test_llvmlite_is_not_imported(external_llvm: ExternalLlvm, form: str, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    (blocked / "llvmlite").mkdir(parents=True)
    mark = tmp_path / "imported"
    (blocked / "llvmlite" / "__init__.py").write_text(f"open({str(mark)!r}, 'w')\nraise ImportError('no llvmlite')\n")
    source = tmp_path / "input"
    source.write_text(module(kernel("k"), kernel("l")))
    if form == "bitcode":
        subprocess.run([external_llvm.tools.path("opt"), source, "-o", source], check=True)
    script = (
        f"import sys, parcubin; program = parcubin.compile({str(source)!r}, 'sm_80', jobs=1, llvm=sys.argv[1])\n"
        "print(*program.kernels, program.report.toolchain, sep=', ')"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(blocked), *filter(None, sys.path)])}

    def run(llvm: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", script, llvm]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    assert run(external_llvm.tools.folder).stdout.startswith(f"k, l, {external_llvm.identity}, ")
    assert not mark.exists()
    assert "no llvmlite" in run("llvmlite").stderr
    assert mark.exists()
