"""Inputs made to do harm: refused or compiled, in bounded memory and time, and nothing but the output is written."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import parcubin
from parcubin.errors import CompileError, InputError
from parcubin.sources import MAX_INPUT_BYTES, read_source
from parcubin.split.llvm_ir import outline_llvm_ir
from parcubin.split.plan import plan_shards
from tests.command_line import parcubin as command_line
from tests.pipeline.samples import HEADER, kernel, module

GOOD = kernel("good")
NAMES = {
    "spaces": "a b",
    "line end": "a\\0Ab",
    "quote": "a\\22b",
    "option": "-o",
    "long option": "--output-file=x",
    "path": "../../x",
    "absolute path": "/tmp/parcubin-hostile",
    "not UTF-8": "\\ff\\fe",
    "10,000 characters": "k" + "x" * 10_000,
    "escape": "a\\1B[31mb",
    "shell": "$(touch x);`touch y`",
    "braces": "a}b{",
    "raw": "\\01raw",
    "accent": "é",
}


@pytest.fixture(scope="module")
def compiler() -> parcubin.Compiler:
    return parcubin.Compiler("sm_80", jobs=1)


@pytest.mark.parametrize("kind", ["kernel", "function", "variable"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.fault("hostile names", "compiled, or a `CompileError` that names the kernel; nothing is written elsewhere")
def test_names(name: str, kind: str, compiler: parcubin.Compiler, tmp_path: Path) -> None:
    spelled = f'"{NAMES[name]}"'
    text = {
        "kernel": module(kernel(spelled), GOOD),
        "function": module(
            f"define void @{spelled}(ptr %p) noinline {{\n  store i32 1, ptr %p\n  ret void\n}}\n",
            kernel("good", f"  call void @{spelled}(ptr %p)\n"),
        ),
        "variable": module(
            f"@{spelled} = internal addrspace(1) global i32 1\n",
            kernel("good", f"  store i32 2, ptr addrspace(1) @{spelled}\n"),
        ),
    }[kind]
    before = set(Path.cwd().iterdir())
    try:
        program = compiler.compile(text, keep=tmp_path / "in" / "kept", keep_going=True)
    except CompileError as error:  # LLVM does not write such a name
        named = error.kernels
    else:
        named = tuple(program.kernels)
        program.write(tmp_path / "in" / "bundle")
        assert "good" in named
    assert named
    assert {path.name for path in tmp_path.iterdir()} == {"in"}
    assert set(Path.cwd().iterdir()) == before
    assert not Path("/tmp/parcubin-hostile").exists()


@pytest.mark.parametrize(
    "name", ["-o.ll", "a b.ll", "a\nb.ll", "a'\"b.ll", "--version.ll", "\udcff.ll", "a\x1b[31m.ll"]
)
@pytest.mark.fault("names of files", "compiled; names are arguments of no tool and never obeyed by a terminal")
def test_names_of_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(module(GOOD))
    result = command_line("compile", "--arch", "sm_80", "-o", "out.cubin", "-j", "1", "--", name)
    assert result.exit_code == 0, result.stderr
    Path(name).write_text(module(kernel("good", "  bogus\n")))
    result = command_line("compile", "--arch", "sm_80", "-o", "out2.cubin", "-j", "1", "--", name)
    assert result.exit_code == 1
    assert "\x1b" not in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, "out.cubin"])


def test_split_writes_to_its_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "k.ll").write_text(module(kernel('"../../x"'), GOOD))
    assert command_line("split", tmp_path / "k.ll", "-o", tmp_path / "shards").exit_code == 0
    names = [path.name for path in (tmp_path / "shards").iterdir()]
    assert "plan.json" in names
    assert json.loads((tmp_path / "shards" / "plan.json").read_text())
    assert {path.name for path in tmp_path.iterdir()} == {"k.ll", "shards"}


def memory_of(code: str) -> int:
    """Bytes that a process takes at most that runs code which raises `InputError`."""
    script = f"import re\nfrom parcubin.errors import InputError\ntry:\n    {code}\nexcept InputError as e:\n"
    script += "    print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert run.stdout, run.stderr
    return int(run.stdout) * 1024


@pytest.mark.parametrize("packed", [gzip.compress, partial(lzma.compress, preset=0)], ids=["gzip", "xz"])
@pytest.mark.fault(
    "a compressed file that expands without end", "`InputError` after the first megabyte, or at the limit"
)
def test_compressed_bombs(packed: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "zeros").write_bytes(packed(bytes(100 << 20)))
    (tmp_path / "blanks").write_bytes(packed(b"define " + b" " * (100 << 20)))
    read = f"from parcubin.sources import read_source; read_source({str(tmp_path)!r} + '/%s')"
    assert memory_of(read % "zeros") < 60 << 20
    os.environ["PARCUBIN_MAX_INPUT"] = str(20 << 20)
    try:
        assert memory_of(read % "blanks") < 90 << 20
    finally:
        del os.environ["PARCUBIN_MAX_INPUT"]


def test_limit_of_the_input_can_be_raised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = module(*(kernel(f"k{i}") for i in range(100)))
    (tmp_path / "k.ll").write_text(text)
    monkeypatch.setenv("PARCUBIN_MAX_INPUT", "1000")
    for source in (tmp_path / "k.ll", gzip.compress(text.encode())):
        with pytest.raises(InputError, match="PARCUBIN_MAX_INPUT"):
            read_source(source)
    monkeypatch.setenv("PARCUBIN_MAX_INPUT", "100000")
    assert read_source(tmp_path / "k.ll").data == text.encode()
    monkeypatch.setenv("PARCUBIN_MAX_INPUT", "many")
    with pytest.raises(parcubin.UsageError, match="PARCUBIN_MAX_INPUT"):
        read_source(tmp_path / "k.ll")
    assert MAX_INPUT_BYTES == 1 << 30


@pytest.mark.fault("devices, folders and pipes as inputs", "`InputError`")
def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parcubin.sources._PATIENCE", 0.2)
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (("/dev/zero", "empty"), ("/dev/null", "empty"), (tmp_path, "directory"), ("a\0b", "byte")):
        with pytest.raises(InputError, match=reason):
            read_source(Path(path))
    with pytest.raises(InputError, match="Nobody writes"):
        read_source(tmp_path / "pipe")
    for command in (["inspect", tmp_path / "pipe"], ["inspect", "/dev/zero"]):
        assert command_line(*command).exit_code == 1


@pytest.mark.parametrize("delays", [(0.0, 0.0), (0.3, 0.0), (0.0, 0.5)])
def test_pipes_with_a_writer(delays: tuple[float, float], tmp_path: Path) -> None:
    text = module(*(kernel(f"k{i}") for i in range(3000)))
    os.mkfifo(tmp_path / "pipe")

    def write() -> None:
        time.sleep(delays[0])
        with io.FileIO(tmp_path / "pipe", "w") as pipe:
            time.sleep(delays[1])
            pipe.write(text.encode()[:100])
            time.sleep(delays[1])
            rest = text.encode()[100:]
            while rest:
                rest = rest[pipe.write(rest) :]

    writer = threading.Thread(target=write)
    writer.start()
    assert read_source(tmp_path / "pipe").data == text.encode()
    writer.join()


@pytest.mark.parametrize("pack", [bytes, lzma.compress, gzip.compress])
def test_large_input_through_a_pipe(pack: Callable[[bytes], bytes]) -> None:
    noise = random.Random(1).randbytes(5 << 18).hex()  # packed, it is still more than a megabyte
    data = b".version 7.0\n.target sm_80\n" + b"\n".join(b"// %d" % n for n in range(99_999)) + b"\n//" + noise.encode()
    packed = pack(data)
    assert len(packed) > 1 << 20
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        assert cat.stdin is not None
        assert cat.stdout is not None
        writer = threading.Thread(target=lambda pipe: (pipe.write(packed), pipe.close()), args=(cat.stdin,))
        writer.start()
        assert read_source(Path(f"/dev/fd/{cat.stdout.fileno()}")).data == data
        writer.join()


DEEP = 100_000
NESTED = {
    "types": "%t = type " + "{" * DEEP + "i32" + "}" * DEEP + "\n",
    "arrays": "@x = global " + "[1 x " * DEEP + "i32" + "]" * DEEP + " zeroinitializer\n",
    "constant expressions": "@x = global i64 " + "sub (i64 " * DEEP + "0" + ", i64 1)" * DEEP + "\n",
    "metadata": "!x = !{!0}\n!0 = " + "!{" * DEEP + "}" * DEEP + "\n",
    "chained metadata": "!x = !{!0}\n" + "".join(f"!{i} = !{{!{i + 1}}}\n" for i in range(DEEP)) + f"!{DEEP} = !{{}}\n",
    "cyclic metadata": "!x = !{!0}\n" + "".join(f"!{i} = distinct !{{!{(i + 1) % 999}}}\n" for i in range(999)),
}


@pytest.mark.parametrize("what", NESTED)
@pytest.mark.fault("LLVM IR nested 100,000 deep", "compiled, or an `InternalCompilerError` that names the kernel")
def test_deep_llvm_ir(what: str, compiler: parcubin.Compiler) -> None:
    try:
        program = compiler.compile(module(NESTED[what], GOOD), timeout=60)
    except CompileError as error:  # LLVM's stack is not that deep
        named = error.kernels
    else:
        named = tuple(program.kernels)
    assert named == ("good",)
    assert list(compiler.compile(module(GOOD)).kernels) == ["good"]


@pytest.mark.parametrize("body", ["{" * DEEP + "}" * DEEP, "{" * DEEP], ids=["closed", "open"])
@pytest.mark.fault("PTX nested 100,000 deep", "`CompileError`")
def test_deep_ptx(body: str, compiler: parcubin.Compiler) -> None:
    with pytest.raises(CompileError):
        compiler.compile(
            f".version 7.0\n.target sm_80\n.address_size 64\n.entry good() {{ {body} ret; }}\n", timeout=60
        )


@pytest.mark.fault("symbols that all reach each other", "compiled whole, with a warning")
def test_symbols_that_reach_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parcubin.split.plan._MOST_REACHED", 100_000)
    count = 1000
    lines = [f"@v{i} = addrspace(1) global ptr addrspace(1) @v{(i + 1) % count}\n" for i in range(count)]
    outline = outline_llvm_ir(module(*lines, kernel("good", "  store i32 1, ptr addrspace(1) @v0\n"), kernel("other")))
    for kind in ("bundle", "link"):
        plan = plan_shards([outline], kind)
        assert plan.unsplit_reason is not None
        assert [shard.kernels for shard in plan.shards] == [("good", "other")]
        assert sum(len(part.define) for part in plan.shards[0].parts) == count + 2


def test_header_is_what_llvm_prints() -> None:
    assert outline_llvm_ir(HEADER).symbols == {}
