"""The command line of ptxas."""

from __future__ import annotations

import pytest

from parcubin.errors import UnavailableError, UsageError
from parcubin.model import CompilationOptions, FastCompile
from parcubin.providers.ptxas_options import optimisation_option
from parcubin.toolchain.version import Tool, Version


@pytest.mark.parametrize(("level", "first"), [("max", (12, 5)), ("mid", (12, 9)), ("min", (12, 9))])
def test_fast_compile_levels_that_a_release_does_not_know(level: FastCompile, first: tuple[int, int]) -> None:
    options = CompilationOptions(fast_compile=level, opt_level=2)
    known = Tool("ptxas", "/ptxas", Version(*first))
    assert optimisation_option(known, options) == f"--Ofast-compile={level}"
    with pytest.raises(
        UnavailableError, match=rf"ptxas 12\.4\.131 does not know .* {level}; 12\.{first[1]} is the first"
    ):
        optimisation_option(Tool("ptxas", "/ptxas", Version(12, 4, 131)), options)


def test_the_level_of_optimisation_without_one() -> None:
    old = Tool("ptxas", "/ptxas", Version(11, 8))
    assert optimisation_option(old, CompilationOptions(opt_level=2)) == "-O2"
    assert optimisation_option(old, CompilationOptions(opt_level=2, debug_info=True)) == "-O0"


def test_debug_info_and_fast_compile_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="fast-compile"):
        CompilationOptions(fast_compile="min", debug_info=True)
