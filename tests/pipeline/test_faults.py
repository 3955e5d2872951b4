"""Wrong inputs: a message of one paragraph, the right exit status, no traceback, no output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import parcubin
from parcubin.errors import DuplicateSymbolError, InternalCompilerError, RegisterSpillError, UnresolvedSymbolError
from parcubin.model import Emit
from parcubin.report.progress import ProgressEvent
from tests.pipeline.samples import HEADER, arithmetic_kernel, kernel, module, ptx_in_shards

CALLS_UNDEFINED = module("declare i32 @nowhere(i32)\n", kernel("k", "  %v = call i32 @nowhere(i32 1)\n"))


def truncated_bitcode(_: Path) -> bytes:
    bitcode: bytes = llvm.parse_assembly(module(kernel("k"))).as_bitcode()
    return bitcode[: len(bitcode) // 2]


FAULTS: dict[str, tuple[Callable[[Path], bytes | None], list[str], int, str]] = {
    "no file": (lambda _: None, [], 1, "No such file"),
    "empty": (lambda _: b"", [], 1, "is empty"),
    "only blanks": (lambda _: b" \n\n", [], 1, "is empty"),
    "neither IR nor PTX": (lambda _: b"int main() { return 0; }\n", [], 1, "neither LLVM IR nor PTX"),
    "binary": (lambda _: bytes(range(256)) * 9, [], 1, "neither LLVM IR nor PTX"),
    "an ELF file": (lambda _: Path(sys.executable).read_bytes(), [], 1, "compiled already"),
    "truncated bitcode": (truncated_bitcode, [], 1, "cannot parse"),
    "truncated text": (lambda _: module(kernel("k")).encode()[:-20], [], 1, "cannot parse"),
    "truncated xz": (lambda _: b"\xfd7zXZ\x00\x00\x04", [], 1, "Cannot unpack"),
    "syntax error": (lambda _: module(kernel("k", "  %x = bogus i32 1\n")).encode(), [], 1, "line 3"),
    "another machine": (
        lambda _: module(kernel("k")).replace("nvptx64-nvidia-cuda", "x86_64-unknown-linux-gnu").encode(),
        [],
        1,
        "x86_64-unknown-linux-gnu",
    ),
    "nothing defined": (lambda _: HEADER.encode(), [], 1, "defines nothing"),
    "not valid": (
        lambda _: module(kernel("k", "  store i32 %v, ptr %p\n  %v = add i32 1, 1\n")).encode(),
        [],
        1,
        "does not dominate",
    ),
    "a target that does not exist": (lambda _: module(kernel("k")).encode(), ["--arch", "gfx90a"], 2, "gfx90a"),
    "a target too new for the toolchain": (
        lambda _: b".version 9.0\n.target sm_499\n.address_size 64\n.visible .entry k() { ret; }\n",
        ["--arch", "sm_499"],
        1,
        "does not know the target sm_499",
    ),
    "a target LLVM does not know": (lambda _: module(kernel("k")).encode(), ["--arch", "sm_499"], 1, "sm_499"),
    "undefined function": (lambda _: CALLS_UNDEFINED.encode(), [], 1, "nowhere"),
    "undefined function, bundle": (lambda _: CALLS_UNDEFINED.encode(), ["--emit", "bundle"], 1, "nowhere"),
    "undefined variable": (
        lambda _: module(
            "@x = external addrspace(1) global i32\n", kernel("k", "  store i32 1, ptr addrspace(1) @x\n")
        ).encode(),
        ["--emit", "bundle"],
        1,
        "x",
    ),
    "undefined function in libdevice": (
        lambda _: module(
            "declare float @__nv_nothing(float)\n", kernel("k", "  %v = call float @__nv_nothing(float 0.0)\n")
        ).encode(),
        [],
        1,
        "__nv_nothing",
    ),
    "spills": (
        lambda _: module(arithmetic_kernel("k", 120)).encode(),
        ["--fail-on-spill", "--maxrregcount", "24"],
        1,
        "k",
    ),
    "PTX syntax error": (
        lambda _: b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { bogus; }\n",
        [],
        1,
        "line 4",
    ),
    "PTX too new": (
        lambda _: b".version 99.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n",
        [],
        1,
        "newer",
    ),
    "unknown provider": (lambda _: module(kernel("k")).encode(), ["--provider", "magic"], 2, "magic"),
}


@pytest.mark.fault("wrong inputs and options", "the right error and exit status, no output")
@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault: str, tmp_path: Path) -> None:
    make, arguments, status, message = FAULTS[fault]
    source = tmp_path / "input.ll"
    data = make(tmp_path)
    if data is not None:
        source.write_bytes(data)
    output = tmp_path / "out" / "result.cubin"
    output.parent.mkdir()
    command = [sys.executable, "-m", "parcubin", "compile", str(source), "-o", str(output), "--arch", "sm_80"]
    result = subprocess.run([*command, *arguments, "--quiet"], capture_output=True, text=True, timeout=120)
    assert result.returncode == status, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert list(output.parent.iterdir()) == []


def test_output_that_is_no_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cubin")
    (tmp_path / "real.cubin").write_bytes(b"old")
    (tmp_path / "link.cubin").symlink_to("real.cubin")
    with parcubin.Compiler("sm_80", jobs=1) as compiler:
        program = compiler.compile(module(kernel("k")), output="cubin")
    with pytest.raises(parcubin.UsageError, match="not a regular file"):
        program.write(tmp_path / "pipe.cubin")
    assert (tmp_path / "pipe.cubin").is_fifo()
    program.write(tmp_path / "link.cubin")
    assert (tmp_path / "link.cubin").is_symlink()
    assert (tmp_path / "real.cubin").read_bytes() == program.cubin


def test_two_definitions_of_a_kernel_name_both_inputs(tmp_path: Path) -> None:
    ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry twice() { ret; }\n"
    names = {"one.ll": module(kernel("twice")), "two.ll": module(kernel("twice"), kernel("k")), "three.ptx": ptx}
    for name, text in names.items():
        (tmp_path / name).write_text(text)
    with parcubin.Compiler("sm_80", jobs=1) as compiler:
        for pair in (("one.ll", "two.ll"), ("one.ll", "three.ptx")):
            for output in ("bundle", "cubin"):
                with pytest.raises(DuplicateSymbolError, match="twice") as caught:
                    compiler.compile([tmp_path / name for name in pair], output=output)
                assert all(name in str(caught.value) for name in pair)
                assert caught.value.kernels == ("twice",)


def test_errors_have_types_and_logs() -> None:
    with parcubin.Compiler("sm_80", jobs=1) as compiler:
        with pytest.raises(UnresolvedSymbolError) as unresolved:
            compiler.compile(CALLS_UNDEFINED)
        assert unresolved.value.symbols == ("nowhere",)
        options = parcubin.CompilationOptions(max_registers=24, fail_on_spill=True)
        with pytest.raises(RegisterSpillError) as spill:
            compiler.compile(module(arithmetic_kernel("k", 120)), options=options)
        assert spill.value.kernels == ("k",)
        assert "spill stores" in spill.value.log
        # What failed leaves the compiler usable.
        assert list(compiler.compile(module(kernel("k"))).kernels) == ["k"]


def test_keep_going_leaves_out_what_does_not_compile() -> None:
    options = parcubin.CompilationOptions(max_registers=24, fail_on_spill=True)
    inputs = [module(arithmetic_kernel("spills", 120)), module(kernel("k")), CALLS_UNDEFINED.replace("@k", "@calls")]
    with parcubin.Compiler("sm_80", jobs=1) as compiler:
        for output in ("bundle", "cubin"):
            program = compiler.compile(inputs, options=options, output=output, keep_going=True)
            assert list(program.kernels) == ["k"]
            assert {f.kernels for f in program.report.failures} == {("spills",), ("calls",)}
            with pytest.raises(RegisterSpillError):  # nothing is left to write
                compiler.compile(inputs[0], options=options, output=output, keep_going=True)


@pytest.mark.fault(
    "SIGINT, SIGTERM and SIGKILL while workers compile",
    "exit status 130 or 143; no process, no temporary file, no output",
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_in_the_middle(
    number: signal.Signals, corpus: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # A shell's background job is started with SIGINT ignored, and so would be what this test starts.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heeding}; from parcubin.cli.main import main; main()", "compile"]
    command += [str(corpus / "cub.ll.xz"), "--arch", "sm_80", "-o", str(tmp_path / "out.cubin")]
    temporary = tmp_path_factory.mktemp("temporary")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary)})
    assert process.stderr is not None
    assert process.stderr.readline()  # workers are compiling
    workers = children(process.pid)
    assert workers
    assert list(temporary.iterdir())
    process.send_signal(number)
    assert process.wait(timeout=10) == (-number if number == signal.SIGKILL else 128 + number)
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert list(tmp_path.iterdir()) == []
    deadline = time.monotonic() + 10
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, workers))
    assert list(temporary.iterdir()) == []


def children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.fault("workers are killed", "compiled, with a warning")
def test_a_killed_worker_costs_nothing_but_a_warning() -> None:
    events: list[ProgressEvent] = []

    def kill(event: ProgressEvent) -> None:
        if event.done == 1 and not events:
            events.append(event)
            for child in children(os.getpid()):
                if b"parcubin.workers.process" in Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(child, signal.SIGKILL)

    source = ptx_in_shards(4)
    with parcubin.Compiler("sm_80", jobs=2) as compiler:
        expected = compiler.compile(source)
    with parcubin.Compiler("sm_80", jobs=2, progress=kill) as compiler:
        program = compiler.compile(source)
    assert events
    assert [a.cubin for a in program.assemblies] == [a.cubin for a in expected.assemblies]
    assert any("SIGKILL" in warning for warning in program.report.warnings)
    assert not any("SIGKILL" in warning for warning in expected.report.warnings)


CANNOT_BE_SELECTED = (
    "declare void @llvm.nvvm.barrier.cluster.arrive()\n",
    kernel("bad", "  call void @llvm.nvvm.barrier.cluster.arrive()\n"),  # needs sm_90: LLVM aborts
)


@pytest.mark.fault(
    "LLVM aborts", "`InternalCompilerError` that names the kernel; with `keep_going` all others are compiled"
)
@pytest.mark.parametrize("output", ["bundle", "cubin"])
def test_a_crash_of_a_compiler_costs_the_kernel_at_fault(output: Emit, tmp_path: Path) -> None:
    good = [f"k{i}" for i in range(9)]
    text = module(*CANNOT_BE_SELECTED, *map(kernel, good))
    with parcubin.Compiler("sm_80", jobs=2) as compiler:
        with pytest.raises(InternalCompilerError, match="Cannot select") as caught:
            compiler.compile(text, output=output, keep=tmp_path)
        assert caught.value.kernels == ("bad",)
        (reproducer,) = tmp_path.glob("failed-*.ll")
        assert "@bad" in reproducer.read_text()
        assert "@k0" not in reproducer.read_text()
        program = compiler.compile(text, output=output, keep_going=True)
    assert sorted(program.kernels) == good
    assert [failure.kernels for failure in program.report.failures] == [("bad",)]


def test_json_of_an_error_is_one_object(tmp_path: Path) -> None:
    (tmp_path / "k.ll").write_text(CALLS_UNDEFINED)
    command = [sys.executable, "-m", "parcubin", "compile", str(tmp_path / "k.ll"), "--arch", "sm_80", "--json"]
    result = subprocess.run([*command, "-o", str(tmp_path / "k.cubin")], capture_output=True, text=True)
    assert result.returncode == 1
    assert "nowhere" in json.loads(result.stdout)["error"]["message"]
