"""Every way of compiling a program gives a program that computes what the whole program computes, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import parcubin
from parcubin.errors import UnresolvedSymbolError
from tests.gpu.launch import Outcome, Work, compute_capability, first_buffer, run, run_apart
from tests.gpu.programs import PROGRAMS
from tests.gpu.ways import WAYS, Cubins, compiler_for, one_kernel_a_shard, whole
from tests.inspect.cuda_tools import Tools

CAPABILITY = compute_capability()
ARCH = f"sm_{CAPABILITY}"
pytestmark = pytest.mark.skipif(CAPABILITY is None, reason="there is no GPU")


@pytest.fixture(scope="module", params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def compiler(way: str) -> Iterator[parcubin.Compiler]:
    with compiler_for(way, ARCH) as compiler:
        yield compiler


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """What a program gives as a whole."""

    @cache
    def of(name: str) -> Outcome:
        folder = tmp_path_factory.mktemp("whole")
        return outcome(name, whole(PROGRAMS[name], ARCH, Tools(folder)), folder)

    return of


def outcome(name: str, cubins: Cubins, folder: Path) -> Outcome:
    program = PROGRAMS[name]
    work = Work(cubins, program.launches, program.variables)
    return run_apart(work, folder) if program.is_apart else run(work)


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_results(
    name: str, way: str, compiler: parcubin.Compiler, expected: Callable[[str], Outcome], tmp_path: Path
) -> None:
    program = PROGRAMS[name]
    if way in program.impossible:
        with pytest.raises(UnresolvedSymbolError, match=program.missing):
            WAYS[way](program, compiler, Tools(tmp_path))
        return
    with one_kernel_a_shard():
        cubins = WAYS[way](program, compiler, Tools(tmp_path))
    found = outcome(name, cubins, tmp_path)
    assert found == expected(name)
    if not program.is_apart:
        assert any(buffer != first_buffer() for buffer in found.buffers)
        assert not found.error


def test_what_is_printed_and_asserted(expected: Callable[[str], Outcome]) -> None:
    """The comparison is worth something."""
    for form in ("ll", "ptx"):
        found = expected(f"output.{form}")
        assert found.printed == (
            *("print says 11", "print says 48", "print says 85", "print_more says 1"),
            "several -3 1099511627776 10.62 x%",
        )
        assert found.error == "CUDA_ERROR_ASSERT"
        assert len(found.buffers) == 3
        assert any("all numbers are small" in line and "output.cu:26" in line for line in found.complaints)
        assert not any("numbers start at 11" in line for line in found.complaints)
