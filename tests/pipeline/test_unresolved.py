"""Symbols that nothing defines are found before a compiler is asked: all of them, with the kernels that reach them."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcubin.compiler import Compiler
from parcubin.errors import UnresolvedSymbolError
from parcubin.model import CompilationOptions, Emit, Ptx, Target
from parcubin.providers.selection import ToolPaths
from parcubin.providers.subprocess import SubprocessProvider
from parcubin.toolchain.locate import find
from parcubin.toolchain.version import Tool
from parcubin.workers.jobs import CompileShard
from tests.pipeline.samples import kernel, module

CALL_MISSING = "  %v = call i32 @_Z7missingi(i32 3)\n  store i32 %v, ptr %p\n"
MISSING = module(
    "declare i32 @_Z7missingi(i32)\n",
    "declare float @_ZN2ns5otherEf(float)\n",
    "declare i32 @never()\n",
    "@gone = external addrspace(1) global i32, align 4\n",
    "define internal i32 @helper(i32 %x) #0 {\n  %y = call i32 @_Z7missingi(i32 %x)\n  ret i32 %y\n}\n",
    kernel("first", "  %v = call i32 @helper(i32 3)\n  store i32 %v, ptr %p\n"),
    kernel("second", CALL_MISSING + "  %g = load i32, ptr addrspace(1) @gone\n  store volatile i32 %g, ptr %p\n"),
    kernel("third", "  %v = call float @_ZN2ns5otherEf(float 3.0)\n  store float %v, ptr %p\n"),
    "define ptx_kernel void @fine(ptr %p) {\n  br i1 false, label %a, label %b\n\na:\n  %v = call i32 @never()\n"
    "  store i32 %v, ptr %p\n  ret void\n\nb:\n  ret void\n}\n",
    "attributes #0 = { noinline }\n",
)
PTX = ".version 8.0\n.target sm_80\n.address_size 64\n"


@pytest.fixture
def watched(tmp_path: Path) -> tuple[ToolPaths, Path]:
    """A ptxas that writes down the PTX versions of what it compiles, and that file."""
    real = find("ptxas")
    if real is None:
        pytest.skip("no ptxas in this environment")
    log, script = tmp_path / "compiled", tmp_path / "ptxas"
    script.write_text(f'#!/bin/sh\n[ -f input.ptx ] && grep -h "^.version" input.ptx >> {log}\nexec {real.path} "$@"\n')
    script.chmod(0o755)
    log.touch()
    return ToolPaths(ptxas=str(script)), log


@pytest.mark.parametrize("output", ["bundle", "cubin"])
@pytest.mark.parametrize("split", [True, False])
def test_all_are_named_before_a_compiler_is_asked(watched: tuple[ToolPaths, Path], output: Emit, split: bool) -> None:
    paths, log = watched
    with Compiler("sm_80", jobs=1, paths=paths) as compiler, pytest.raises(UnresolvedSymbolError) as raised:
        compiler.compile(MISSING, output=output, split=split)
    assert raised.value.symbols == ("_Z7missingi", "_ZN2ns5otherEf", "gone")
    assert set(raised.value.kernels) == {"first", "second", "third"}
    assert "'missing(int)' (_Z7missingi), used by kernels first, second" in raised.value.message
    assert "'ns::other(float)' (_ZN2ns5otherEf), used by kernel third" in raised.value.message
    assert "'gone', used by kernel second" in raised.value.message
    assert "never" not in raised.value.message
    assert set(log.read_text().splitlines()) <= {".version 99.9"}  # the question for the newest version


def test_an_optimised_away_use_is_no_fault() -> None:
    source = module(
        "declare i32 @never()\n",
        "define ptx_kernel void @fine(ptr %p) {\n  br i1 false, label %a, label %b\n\na:\n  %v = call i32 @never()\n"
        "  store i32 %v, ptr %p\n  ret void\n\nb:\n  ret void\n}\n",
    )
    with Compiler("sm_80", jobs=1) as compiler:
        assert compiler.compile(source, output="cubin").kernels.keys() == {"fine"}
        with pytest.raises(UnresolvedSymbolError, match="'never', used by kernel fine") as raised:
            compiler.compile(source, output="cubin", options=CompilationOptions(opt_level=0))
        assert source.splitlines()[(raised.value.line or 0) - 1] == "  %v = call i32 @never()"


def test_system_calls_and_dynamic_shared_memory_are_not_missing() -> None:
    source = module(
        "@dynamic = external addrspace(3) global [0 x i8], align 16\n",
        "declare i32 @vprintf(ptr, ptr)\n",
        kernel("prints", "  %v = call i32 @vprintf(ptr %p, ptr %p)\n"),
        kernel("shares", "  store volatile i8 1, ptr addrspace(3) @dynamic\n"),
    )
    with Compiler("sm_80", jobs=1) as compiler:
        assert compiler.compile(source, output="cubin").kernels.keys() == {"prints", "shares"}


def test_what_can_be_compiled_is_kept_when_asked_to() -> None:
    sound = module(kernel("sound"))
    with Compiler("sm_80", jobs=1) as compiler:
        program = compiler.compile([MISSING, PTX + ".visible .entry other() { ret; }", sound], keep_going=True)
        assert "other" in program.kernels
        assert any(isinstance(failure, UnresolvedSymbolError) for failure in program.report.failures)
        with pytest.raises(UnresolvedSymbolError):
            compiler.compile(
                PTX + ".extern .func f(); .visible .entry k() { call f; ret; }", output="cubin", keep_going=True
            )


CALLS_FAR = PTX + (
    ".extern .func far();\n.extern .func farther();\n.func near() { call far; ret; }\n"
    ".visible .entry a() { call near; ret; }\n.visible .entry b() { call farther; ret; }\n"
)
DEFINES_FAR = PTX + ".visible .func far() { bar.sync 0; ret; }\n"


def test_ptx_that_lacks_functions(watched: tuple[ToolPaths, Path]) -> None:
    paths, log = watched
    with Compiler("sm_80", jobs=1, paths=paths) as compiler:
        for output in ("cubin", "bundle"):
            with pytest.raises(UnresolvedSymbolError) as raised:
                compiler.compile([CALLS_FAR, DEFINES_FAR], output=output)
            assert raised.value.symbols == ("farther",)
            assert raised.value.kernels == ("b",)
        assert set(log.read_text().splitlines()) <= {".version 99.9"}
        defines_farther = PTX + ".visible .func farther() { bar.sync 0; ret; }\n"
        assert compiler.compile([CALLS_FAR, DEFINES_FAR, defines_farther], output="cubin").kernels.keys() == {"a", "b"}


def test_inputs_of_both_formats_find_each_other() -> None:
    llvm = module("declare void @far()\n", kernel("k", "  call void @far()\n"))
    with Compiler("sm_80", jobs=1) as compiler:
        assert compiler.compile([llvm, DEFINES_FAR], output="cubin").kernels.keys() == {"k"}
        with pytest.raises(UnresolvedSymbolError, match=r"'far', used by kernel k .*and defined in") as raised:
            compiler.compile([llvm, DEFINES_FAR], output="bundle")
        assert "compile to one CUBIN instead of a bundle" in raised.value.message


def test_a_relocatable_program_may_lack_symbols() -> None:
    with Compiler("sm_80", jobs=1) as compiler:
        program = compiler.compile(CALLS_FAR, output="relocatable")
    assert program.kernels.keys() == {"a", "b"}


@pytest.mark.parametrize("space", ["global", "const"])
def test_no_shard_of_a_bundle_is_compiled_with_variables_of_others(space: str) -> None:
    """ptxas would warn, and take a private copy that holds zero."""
    file = find("ptxas")
    if file is None:
        pytest.skip("no ptxas in this environment")
    provider = SubprocessProvider(Tool.executable("ptxas", file.path))
    text = PTX + (
        f".extern .{space} .align 4 .u32 v;\n.visible .entry k(.param .u64 p) {{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n"
        f"ld.param.u64 %rd1,[p];\nld.{space}.u32 %r1,[v];\nst.global.u32 [%rd1],%r1;\nret;\n}}\n"
    )
    compiled = provider.compile(Target("sm_80"), Ptx(text, "k"), CompilationOptions())
    assert "gnoring extern" in compiled.log
    job = CompileShard("k", Ptx(text, "k"), Target("sm_80"), CompilationOptions(), provider, "assembly")
    with pytest.raises(UnresolvedSymbolError) as caught:
        job.run()
    assert (caught.value.symbols, caught.value.kernels) == (("v",), ("k",))
