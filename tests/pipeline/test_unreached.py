"""What no kernel reaches is in no shard, and has to be valid all the same where it is LLVM IR."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import parcubin
from parcubin.errors import InputError
from tests.pipeline.samples import kernel, module

SOUND = "define internal i32 @used(i32 %x) noinline {\n  ret i32 %x\n}\n"
CALLER = (
    "define ptx_kernel void @calls(ptr %p) {\n  %x = call i32 @used(i32 3)\n  store i32 %x, ptr %p\n  ret void\n}\n"
)
UNREACHED = "define internal i32 @unreached(i32 %x) {\n  %y = call i32 @used(i32 %x)\n  ret i32 %WHAT\n}\n"
TABLE = "@other = alias i32 (i32), ptr @used\n@table = internal global [2 x ptr] [ptr @other, ptr @unreached]\n"


@pytest.fixture(scope="module")
def compiler() -> Iterator[parcubin.Compiler]:
    with parcubin.Compiler("sm_80", jobs=2) as compiler:
        yield compiler


def program(what: str) -> str:
    return module(TABLE, kernel("k"), SOUND, CALLER, UNREACHED.replace("WHAT", what))


def test_what_is_valid_is_left_out(compiler: parcubin.Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not parsed with the whole module."""
    monkeypatch.setattr("parcubin.pipeline.unparsable", lambda modules, *_: pytest.fail("parsed") if modules else {})
    assert compiler.compile(program("y")).kernels.keys() == {"k", "calls"}


@pytest.mark.parametrize("what", ["nowhere", "z\n  %z = add i32 %y, 1"])
def test_what_is_invalid_is_an_error(what: str, compiler: parcubin.Compiler) -> None:
    """What does not parse, and what does not verify."""
    text = program(what)
    with pytest.raises(InputError) as caught:
        compiler.compile(text)
    if what == "nowhere":
        assert caught.value.line == text[: text.index("%nowhere")].count("\n") + 1
    kept = compiler.compile(text, keep_going=True)
    assert kept.kernels.keys() == {"k", "calls"}
    assert len(kept.report.failures) == 1


def test_of_ptx_it_is_not_looked_at(compiler: parcubin.Compiler) -> None:
    text = """.version 7.0
.target sm_80
.address_size 64
.func unreached() { mov.u32 %nowhere, 1; }
.visible .entry k() { ret; }
"""
    assert compiler.compile(text).kernels.keys() == {"k"}
