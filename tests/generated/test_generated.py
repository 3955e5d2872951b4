"""Generated programs: what is in the whole program is in the split one. tests/gpu compares what they compute."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import get_args

import pytest

import parcubin
from tests.conftest import ROOT
from tests.generated.compiled import Split, compile_split, compile_whole, static_differences, texts_of
from tests.generated.description import Format, Role, Step
from tests.generated.draw import draw
from tests.generated.reduce import reduced

FORMATS: tuple[Format, ...] = get_args(Format)
SEEDS = range(30)


@pytest.fixture(scope="module")
def compiler() -> Iterator[parcubin.Compiler]:
    with parcubin.Compiler("sm_90", jobs=2) as compiler:
        yield compiler


@cache
def split_program(compiler: parcubin.Compiler, format_: Format, seed: int) -> Split:
    return compile_split(draw(seed, format_), compiler)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("format_", FORMATS)
def test_same_contents(compiler: parcubin.Compiler, format_: Format, seed: int) -> None:
    program = draw(seed, format_)
    whole = compile_whole(program, compiler)
    assert static_differences(program, whole, split_program(compiler, format_, seed)) == []


@pytest.mark.parametrize("format_", FORMATS)
def test_programs_are_split(compiler: parcubin.Compiler, format_: Format) -> None:
    splits = [split_program(compiler, format_, seed) for seed in SEEDS]
    assert sum(s.bundle.report.shards > 1 for s in splits) > len(SEEDS) // 2
    assert sum(s.linked.report.shards > 2 for s in splits) > len(SEEDS) // 2
    assert not any("compiled whole" in warning for s in splits for warning in s.bundle.report.warnings)


@pytest.mark.parametrize("format_", FORMATS)
def test_everything_is_drawn(format_: Format) -> None:
    programs = [draw(seed, format_) for seed in range(200)]
    assert {type(step) for p in programs for steps in p.all_steps for step in steps} == set(get_args(Step))
    variables = [v for p in programs for v in p.variables]
    assert {v.role for v in variables} == set(Role)
    linkages = {
        "ll": {"", "internal", "private", "linkonce", "linkonce_odr", "weak", "weak_odr", "common", "external"},
        "ptx": {"", "visible", "weak", "common", "extern"},
    }
    assert {v.linkage for v in variables} == linkages[format_]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_seed_gives_the_same_program_everywhere(format_: Format) -> None:
    code = (
        "import hashlib; from tests.generated.compiled import texts_of; from tests.generated.draw import draw; "
        f"texts = [t for seed in range(20) for t in texts_of(draw(seed, '{format_}'))]; "
        "print(hashlib.sha256(''.join(texts).encode()).hexdigest())"
    )
    texts = [text for seed in range(20) for text in texts_of(draw(seed, format_))]
    here = hashlib.sha256("".join(texts).encode()).hexdigest()
    environment = {**os.environ, "PYTHONHASHSEED": "5"}
    there = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert there.strip() == here


@pytest.mark.parametrize("format_", FORMATS)
def test_programs_are_reduced(format_: Format) -> None:
    """To one kernel with one division, when that is what fails."""
    program = next(p for p in (draw(seed, format_) for seed in range(50)) if "Division(" in repr(p.kernels))
    smaller = reduced(program, lambda candidate: "Division(" in repr(candidate.kernels))
    assert len(smaller.kernels) == 1
    assert len(smaller.kernels[0].steps) == 1
    assert not smaller.functions + smaller.aliases + smaller.variables
    assert len(texts_of(smaller)[0]) < len(texts_of(program)[0])
