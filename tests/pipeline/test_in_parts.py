"""Compiling in parts only where that loses nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import parcubin
from parcubin.errors import NotInPartsError
from parcubin.inspect.cubin import read_cubin
from tests.pipeline.samples import ptx_in_shards
from tests.ptxas.samples import CONSTANTS, TALKATIVE


@pytest.fixture(scope="module")
def compiler() -> Iterator[parcubin.Compiler]:
    with parcubin.Compiler("sm_90", jobs=2, provider="subprocess") as compiler:
        yield compiler


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parcubin.split.grouping.ALONE_COST", 0)


@pytest.mark.usefixtures("alone")
def test_kernels_that_use_the_constant_bank_stay_together(compiler: parcubin.Compiler) -> None:
    usual = compiler.compile(CONSTANTS, output="cubin")
    assert any("compiled with -c" in warning for warning in usual.report.warnings)
    program = compiler.compile(CONSTANTS, output="cubin", in_parts_only=True)
    assert program.report.shards == 4  # the constants' two kernels, the others, the variable
    assert not any("compiled with -c" in warning for warning in program.report.warnings)
    assert read_cubin(program.cubin).variables.keys() == {"table", "constants"}


@pytest.mark.usefixtures("alone")
def test_what_has_to_be_plain_is_refused(compiler: parcubin.Compiler) -> None:
    unsized = TALKATIVE.replace(
        ".visible .global .align 4 .b8 table[40];",
        ".visible .global .align 4 .b8 table[40];\n.extern .global .align 4 .b8 others[];",
    ).replace("mov.u32 %r1, %tid.x;", "mov.u32 %r1, %tid.x; ld.global.u32 %r4, [others];", 1)
    with pytest.raises(NotInPartsError, match="extern array without a size"):
        compiler.compile(unsized, output="cubin", in_parts_only=True)


def test_one_shard_is_refused(compiler: parcubin.Compiler) -> None:
    with pytest.raises(NotInPartsError, match="one shard"):
        compiler.compile(TALKATIVE, output="cubin", in_parts_only=True)


@pytest.mark.usefixtures("alone")
def test_one_large_shard_is_refused(compiler: parcubin.Compiler) -> None:
    small = ".visible .entry small() { ret; }\n"
    large = ptx_in_shards(1) + small
    with pytest.raises(NotInPartsError, match="most of the time"):
        compiler.compile(large.replace("sm_80", "sm_90"), output="cubin", in_parts_only=True)


def test_targets_whose_linked_code_is_slower_are_refused() -> None:
    with (
        parcubin.Compiler("sm_80", jobs=1) as compiler,
        pytest.raises(NotInPartsError, match="costs registers"),
    ):
        compiler.compile(TALKATIVE, output="cubin", in_parts_only=True)


@pytest.mark.usefixtures("alone")
def test_lines_of_the_log_are_those_of_the_input(compiler: parcubin.Compiler) -> None:
    options = parcubin.CompilationOptions(keep_log=True, ptxas_options=("-warn-double-usage",))
    logs = compiler.compile(TALKATIVE, output="cubin", options=options).report.logs
    lines = {i for i, line in enumerate(TALKATIVE.splitlines(), 1) if "f64 %d2" in line}
    for line in lines:
        assert sum(f"ptxas input 1, line {line}; warning : Program is doing double" in log for log in logs) == 1
