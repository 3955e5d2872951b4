"""The command line around the compiler: arguments, streams and exit statuses.

The compiler is a stand-in here, so that what it answers can be chosen; how it compiles is tested elsewhere.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from parcubin.cli.compile import emit_for
from parcubin.cli.main import main
from parcubin.configuration import bytes_of
from parcubin.errors import InputError, ParcubinError, PtxSyntaxError, ToolchainError, UsageError
from parcubin.model import CompilationOptions, Target
from parcubin.report.progress import ProgressEvent
from tests.command_line import parcubin as run


@dataclass
class FakeCompiler:
    """Records the call, sends two progress events and answers what the test set."""

    answer: SimpleNamespace | BaseException
    created: dict[str, Any] = field(default_factory=dict)
    called: dict[str, Any] = field(default_factory=dict)
    closed: bool = False

    def __call__(self, **arguments: Any) -> FakeCompiler:
        Target(arguments["target"])
        self.created = arguments
        return self

    def __enter__(self) -> FakeCompiler:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True

    def compile(self, inputs: list[Path], **arguments: Any) -> SimpleNamespace:
        self.called = {"inputs": inputs, **arguments}
        if self.created["progress"]:
            self.created["progress"](ProgressEvent(1, 2, "compile", ("axpy",)))
            self.created["progress"](ProgressEvent(2, 2, "compile", ("dot",)))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def program(**changes: Any) -> SimpleNamespace:
    report = {
        "kernels": 2,
        "shards": 2,
        "cached": 0,
        "jobs": 1,
        "provider": "subprocess",
        "wall_s": 1.5,
        "peak_memory": 123_000_000,
        "stages": {"parse": 0.1, "optimize": 0.5, "emit": 0.4, "assemble": 0.9, "link": 0.01},
        "warnings": (),
        "helper_calls": {},
        "slowest": ((("axpy",), 0.9), (("dot", "sum"), 0.4)),
        "failures": (),
        **changes,
    }
    return SimpleNamespace(report=SimpleNamespace(**report), write=lambda path: path.write_bytes(b"written"))


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    fake = FakeCompiler(program())
    module = ModuleType("parcubin.compiler")
    monkeypatch.setattr(module, "Compiler", fake, raising=False)
    monkeypatch.setitem(sys.modules, "parcubin.compiler", module)
    return fake


@pytest.mark.parametrize(
    ("output", "emit"),
    [
        ("model.cubin", "cubin"),
        ("a.b/model.ptx", "ptx"),
        ("model.zip", "bundle"),
        ("model", "bundle"),
        ("model.d/", "bundle"),
    ],
)
def test_name_says_what_to_write(output: str, emit: str) -> None:
    assert emit_for(output) == emit


def test_existing_folder_is_a_bundle(tmp_path: Path) -> None:
    folder = tmp_path / "model.v2"
    folder.mkdir()
    assert emit_for(str(folder)) == "bundle"


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("512M", 512 << 20), ("4GiB", 4 << 30), ("1.5k", 1536), ("2TB", 2 << 40)]
)
def test_size_of_memory(text: str, size: int) -> None:
    assert bytes_of(text) == size


def test_name_that_says_nothing_is_wrong_usage(compiler: FakeCompiler, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"model\.o"):
        emit_for("model.o")
    result = run("compile", "in.ll", "--arch", "sm_80", "-o", tmp_path / "model.o")
    assert result.exit_code == 2
    assert "--emit" in result.stderr
    assert compiler.called == {}
    assert (
        run("compile", "in.ll", "--arch", "sm_80", "-o", tmp_path / "model.o", "--emit", "relocatable").exit_code == 0
    )
    assert compiler.called["output"] == "relocatable"


def test_every_option_reaches_the_compiler(compiler: FakeCompiler, tmp_path: Path) -> None:
    out = tmp_path / "out.cubin"
    flags = "-j 3 --provider nvjitlink -O1 --lineinfo --maxrregcount 64 --fail-on-spill --inline-threshold 500 --ftz"
    more = "--llvm-opt 0 --fast-compile mid --no-split --keep-going --keep shards --driver 12.4 --llvm /opt/llvm"
    limits = "--timeout 2.5 --total-timeout 60 --max-memory 1.5G --nice 7 --cache kept --cache-size 2G"
    result = run(
        "compile", "a.ll", "b.ptx", "--arch", "sm_90a", "-o", out, *flags.split(), *more.split(), *limits.split()
    )
    assert result.exit_code == 0, result.output
    assert {**compiler.created, "progress": None} == {
        "target": "sm_90a",
        "jobs": 3,
        "provider": "nvjitlink",
        "llvm": "/opt/llvm",
        "driver": "12.4",
        "progress": None,
        "max_memory": 3 << 29,
        "nice": 7,
        "cache": "kept",
        "cache_size": 2 << 30,
    }
    assert compiler.called == {
        "inputs": [Path("a.ll"), Path("b.ptx")],
        "options": CompilationOptions(
            opt_level=1,
            llvm_opt_level=0,
            fast_compile="mid",
            line_info=True,
            max_registers=64,
            fail_on_spill=True,
            inlining_threshold=500,
            flush_to_zero=True,
        ),
        "output": "cubin",
        "keep_going": True,
        "split": False,
        "keep": Path("shards"),
        "timeout": 2.5,
        "total_timeout": 60,
    }
    assert out.read_bytes() == b"written"
    assert compiler.closed


def test_debug_info_reaches_the_compiler(compiler: FakeCompiler, tmp_path: Path) -> None:
    assert run("compile", "a.ll", "--arch", "sm_80", "-o", tmp_path / "out", "-g").exit_code == 0
    assert compiler.called["options"] == CompilationOptions(debug_info=True)


def test_defaults_are_those_of_the_python_interface(compiler: FakeCompiler, tmp_path: Path) -> None:
    assert run("compile", "a.ll", "--arch", "sm_80", "-o", tmp_path / "out").exit_code == 0
    assert compiler.called["options"] == CompilationOptions()
    assert compiler.created["jobs"] is None
    assert compiler.created["provider"] == "auto"
    assert compiler.created["llvm"] == "auto"


def test_json_is_all_of_standard_output(compiler: FakeCompiler, tmp_path: Path) -> None:
    compiler.answer = program(warnings=("one shard is compiled with -c",))
    out = tmp_path / "out.cubin"
    result = run("compile", "a.ll", "--arch", "sm_80", "-o", out, "--json")
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert printed["kernels"] == 2
    assert printed["shards"] == 2
    assert printed["jobs"] == 1
    assert printed["provider"] == "subprocess"
    assert printed["output"] == str(out)
    assert printed["wall_s"] == 1.5
    assert printed["peak_memory"] == 123_000_000
    assert list(printed["stages"]) == ["parse", "optimize", "emit", "assemble", "link"]
    assert printed["warnings"] == ["one shard is compiled with -c"]
    assert "one shard is compiled with -c" in result.stderr


def test_one_of_a_kind(compiler: FakeCompiler, tmp_path: Path) -> None:
    compiler.answer = program(kernels=1, shards=1, jobs=8)
    result = run("compile", "a.ll", "--arch", "sm_80", "-o", tmp_path / "out.cubin")
    assert "out.cubin: 1 kernel, 1 shard, 8 jobs, " in result.stdout


def test_table_names_totals_stages_and_slowest_kernels(compiler: FakeCompiler, tmp_path: Path) -> None:
    long = "_ZN3cub" + "x" * 300 + "E"
    compiler.answer = program(slowest=(((long, "dot"), 0.9),))
    result = run("compile", "a.ll", "--arch", "sm_80", "-o", tmp_path / "out.cubin")
    first, *rows = result.stdout.splitlines()
    assert first.endswith("out.cubin: 2 kernels, 2 shards, 1 job, subprocess, 1.5 s")
    assert [row.split()[0] for row in rows] == ["stage", "parse", "optimize", "emit", "assemble", "link"]
    assert f"0.90 s  {long} and 1 more" in result.stdout


@pytest.mark.usefixtures("compiler")
def test_progress_is_plain_lines_in_a_log(tmp_path: Path) -> None:
    result = run("compile", "a.ll", "--arch", "sm_80", "-o", tmp_path / "out.cubin")
    assert result.stderr.splitlines() == ["compile: 1 of 2 shards", "compile: 2 of 2 shards"]


def test_quiet_prints_nothing(compiler: FakeCompiler, tmp_path: Path) -> None:
    compiler.answer = program(warnings=("one shard is compiled with -c",))
    result = run("compile", "a.ll", "--arch", "sm_80", "-o", tmp_path / "out.cubin", "--quiet")
    assert result.exit_code == 0
    assert result.output == ""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InputError("a.ll is empty.", input_name="a.ll"), 1),
        (PtxSyntaxError("a.ptx does not parse.", line=3, log="ptxas a.ptx, line 3; error"), 1),
        (ToolchainError("No usable toolchain: no ptxas, no nvJitLink."), 3),
    ],
)
def test_error_is_a_paragraph_and_a_status(
    compiler: FakeCompiler, tmp_path: Path, error: ParcubinError, status: int
) -> None:
    compiler.answer = error
    out = tmp_path / "out.cubin"
    result = run("compile", "a.ll", "--arch", "sm_80", "-o", out, "--quiet")
    assert result.exit_code == status
    assert result.stdout == ""
    assert result.stderr.splitlines()[0] == f"parcubin: {error.message}"
    assert error.log in result.stderr
    assert "Traceback" not in result.stderr
    assert not out.exists()
    assert compiler.closed


def test_long_log_is_shortened(compiler: FakeCompiler, tmp_path: Path) -> None:
    compiler.answer = PtxSyntaxError("a.ptx does not parse.", log="\n".join(f"line {n}" for n in range(500)))
    result = run("compile", "a.ll", "--arch", "sm_80", "-o", tmp_path / "out.cubin", "--quiet")
    assert "line 0" in result.stderr
    assert "480 more lines" in result.stderr
    assert len(result.stderr.splitlines()) == 22


def test_json_of_an_error_is_one_object(compiler: FakeCompiler, tmp_path: Path) -> None:
    compiler.answer = InputError("a.ll is empty.", input_name="a.ll", line=7)
    result = run("compile", "a.ll", "--arch", "sm_80", "-o", tmp_path / "out.cubin", "--json")
    assert result.exit_code == 1
    error = json.loads(result.stdout)["error"]
    assert (error["type"], error["input"], error["line"]) == ("InputError", "a.ll", 7)


def test_keep_going_writes_the_rest_and_fails(compiler: FakeCompiler, tmp_path: Path) -> None:
    compiler.answer = program(failures=(InputError("b.ll: line 7: expected type.", input_name="b.ll", line=7),))
    out = tmp_path / "out.cubin"
    result = run("compile", "a.ll", "b.ll", "--arch", "sm_80", "-o", out, "--keep-going", "--json")
    assert result.exit_code == 1
    assert out.read_bytes() == b"written"
    assert json.loads(result.stdout)["failures"][0]["input"] == "b.ll"
    assert "b.ll: line 7" in result.stderr


@pytest.mark.usefixtures("compiler")
def test_target_that_is_not_one_is_wrong_usage(tmp_path: Path) -> None:
    result = run("compile", "a.ll", "--arch", "volta", "-o", tmp_path / "out.cubin")
    assert result.exit_code == 2
    assert "'volta' is not a target" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile", "a.ll", "-o", "out.cubin"],
        ["compile", "--arch", "sm_80", "-o", "out.cubin"],
        ["compile", "a.ll", "--arch", "sm_80"],
        ["compile", "a.ll", "--arch", "sm_80", "-o", "out.cubin", "-O", "4"],
        ["compile", "a.ll", "--arch", "sm_80", "-o", "out.cubin", "-j", "0"],
        ["compile", "a.ll", "--arch", "sm_80", "-o", "out.cubin", "--max-memory", "much"],
        ["compile", "a.ll", "--arch", "sm_80", "-o", "out.cubin", "--nice", "-1"],
        ["compile", "a.ll", "--arch", "sm_80", "-o", "out.cubin", "--emit", "elf"],
        ["compile", "a.ll", "--arch", "sm_80", "-o", "no/such/folder/out.cubin"],
        ["inspect"],
        ["link"],
    ],
)
def test_wrong_usage(compiler: FakeCompiler, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr
    assert compiler.called == {}


@pytest.mark.usefixtures("compiler")
def test_an_input_is_not_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "a.ptx"
    source.write_text(".version 9.0")
    result = run("compile", source, "--arch", "sm_80", "-o", source)
    assert result.exit_code == 2
    assert "is an input" in result.stderr
    assert source.read_text() == ".version 9.0"


@pytest.mark.parametrize("depfile", ["missing/k.d", "folder"])
def test_a_depfile_that_cannot_be_written_is_found_first(depfile: str, compiler: FakeCompiler, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    result = run("compile", "a.ptx", "--arch", "sm_80", "-o", tmp_path / "k.cubin", "--depfile", tmp_path / depfile)
    assert result.exit_code == 2
    assert depfile in result.stderr
    assert compiler.called == {}


@pytest.mark.usefixtures("compiler")
def test_no_output_without_its_depfile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise ParcubinError("The disk is full.")

    monkeypatch.setattr("parcubin.cli.depfile.dependencies", lambda *_: [])
    monkeypatch.setattr("parcubin.cli.depfile.write_depfile", full)
    result = run("compile", "a.ptx", "--arch", "sm_80", "-o", tmp_path / "k.cubin", "--depfile", tmp_path / "k.d")
    assert result.exit_code == 1
    assert not (tmp_path / "k.cubin").exists()


OVERWRITING = {
    "depfile is an input": ["compile", "in/0000.ptx", "-o", "k.cubin", "--depfile", "in/0000.ptx"],
    "depfile is a link to an input": ["compile", "in/0000.ptx", "-o", "k.cubin", "--depfile", "link.ptx"],
    "depfile is the output": ["compile", "in/0000.ptx", "-o", "k.cubin", "--depfile", "in/../k.cubin"],
    "depfile is in the output": ["compile", "in/0000.ptx", "-o", "empty", "--depfile", "empty/k.d"],
    "depfile is in the kept": ["compile", "in/0000.ptx", "-o", "k.cubin", "--keep", "empty", "--depfile", "empty/k.d"],
    "output holds an input": ["compile", "in/0000.ptx", "-o", "in", "--emit", "ptx"],
    "output holds another's": ["compile", "in/0000.ptx", "-o", "other"],
    "output holds more than PTX": ["compile", "in/0000.ptx", "-o", "other", "--emit", "ptx"],
    "output is a folder": ["compile", "in/0000.ptx", "-o", "empty", "--emit", "cubin"],
    "kept holds an input": ["compile", "in/0000.ptx", "-o", "k.cubin", "--keep", "in"],
    "kept holds another's": ["compile", "in/0000.ptx", "-o", "k.cubin", "--keep", "other"],
    "kept holds a link": ["compile", "in/0000.ptx", "-o", "k.cubin", "--keep", "links"],
    "kept is a file": ["compile", "in/0000.ptx", "-o", "k.cubin", "--keep", "link.ptx"],
    "kept is the output": ["compile", "in/0000.ptx", "-o", "empty", "--keep", "empty"],
    "kept holds the output": ["compile", "in/0000.ptx", "-o", "empty/k.cubin", "--keep", "empty"],
    "split holds an input": ["split", "in/0000.ptx", "-o", "in"],
    "split holds another's": ["split", "in/0000.ptx", "-o", "other"],
    "split holds more than a split": ["split", "in/0000.ptx", "-o", "plan"],
    "split is an input": ["split", "in/0000.ptx", "-o", "in/0000.ptx"],
    "report is an input": ["bugreport", "--input", "in/0000.ptx", "-o", "in/0000.ptx"],
    "report is a folder": ["bugreport", "-o", "empty"],
}


@pytest.mark.parametrize("arguments", OVERWRITING.values(), ids=OVERWRITING)
def test_nothing_of_the_users_is_overwritten(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("parcubin.workers.pool.WorkerPool.submit", None)  # no work is done
    for name in ("in/0000.ptx", "other/0000.txt", "plan/plan.json", "plan/notes"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(".version 9.0")
    for name in ("empty", "links"):
        Path(name).mkdir()
    for name in ("link.ptx", "links/0000.ptx"):
        Path(name).symlink_to(tmp_path / "in" / "0000.ptx")
    before = sorted(tmp_path.rglob("*"))
    result = run(*arguments, *(["--arch", "sm_80"] if arguments[0] == "compile" else []))
    assert result.exit_code == 2, result.output
    assert sorted(tmp_path.rglob("*")) == before
    assert all(path.read_text() == ".version 9.0" for path in before if path.is_file())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_unwinds_everything(
    number: signal.Signals, compiler: FakeCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr(compiler, "compile", interrupted)
    monkeypatch.setattr(
        sys, "argv", ["parcubin", "compile", "a.ll", "--arch", "sm_80", "-o", str(tmp_path / "a.cubin")]
    )
    before = {n: signal.signal(n, signal.default_int_handler) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 128 + number
        signal.raise_signal(number)  # nothing interrupts the unwinding
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)
    assert compiler.closed


READ_BY_NOBODY = {
    "help": ["--help"],
    "help of a command": ["compile", "--help"],
    "version": ["--version"],
    "text": ["cache", "stats", "--cache", "cache"],
    "json": ["cache", "stats", "--cache", "cache", "--json"],
    "an error": ["inspect", "missing"],
    "a compile": ["compile", "k.ptx", "--arch", "sm_80", "-o", "k.ptx.zip", "--emit", "ptx", "--no-cache"],
}


@pytest.mark.parametrize("arguments", READ_BY_NOBODY.values(), ids=READ_BY_NOBODY)
@pytest.mark.parametrize("streams", [("stdout",), ("stderr",), ("stdout", "stderr")])
def test_nobody_reads(arguments: list[str], streams: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "parcubin", *arguments]
    stdout, stderr = (writer if name in streams else subprocess.PIPE for name in ("stdout", "stderr"))
    result = subprocess.run(command, cwd=tmp_path, stdout=stdout, stderr=stderr, check=False, text=True)
    os.close(writer)
    prints_errors_only = arguments[0] == "inspect"
    if ("stderr" if prints_errors_only else "stdout") in streams:
        from_argparse = {0} if "--help" in arguments else set()  # which says nothing of what it cannot print
        assert result.returncode in {128 + signal.SIGPIPE} | from_argparse
    assert not [output for output in (result.stdout, result.stderr) if output and "Traceback" in output]
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".parcubin")]


@pytest.mark.parametrize("arguments", [["--help"], ["compile", "--help"], ["inspect", "--help"], ["info", "--help"]])
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from parcubin.cli.main import run\n"
        "try:\n"
        "    run(sys.argv[1:])\n"
        "except SystemExit:\n"
        "    pass\n"
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert "usage: " in result.stdout.lower()
    assert {"rich", "llvmlite", "cuda", "elftools"}.isdisjoint(result.stderr.split())


def test_executable_and_module_are_the_same_program() -> None:
    as_module = subprocess.run([sys.executable, "-m", "parcubin", "--help"], capture_output=True, text=True, check=True)
    executable = Path(sys.executable).with_name("parcubin")
    as_executable = subprocess.run([executable, "--help"], capture_output=True, text=True, check=True)
    assert as_module.stdout == as_executable.stdout
