"""Every way of compiling a program gives a program that computes what the whole program computes, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import parcubin
from parcubin.errors import UnresolvedSymbolError
from tests.gpu.launch import GpuProcess, Outcome, Work, compute_capability, first_buffer, run_apart
from tests.gpu.programs import PROGRAMS, Program
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
def gpu() -> Iterator[GpuProcess]:
    process = GpuProcess()
    yield process
    process.close()


@pytest.fixture(scope="module")
def expected(gpu: GpuProcess, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Outcome]:
    """What a program gives as a whole."""

    @cache
    def of(name: str) -> Outcome:
        folder = tmp_path_factory.mktemp("whole")
        return outcome(name, whole(PROGRAMS[name], ARCH, Tools(folder)), gpu, folder)

    return of


def outcome(name: str, cubins: Cubins, gpu: GpuProcess, folder: Path) -> Outcome:
    program = PROGRAMS[name]
    work = Work(cubins, program.launches, program.variables)
    return run_apart(work, folder) if program.is_apart else gpu.run(work)


def failed_launch(program: Program, found: Outcome) -> str:
    """The kernel that an error of the driver ended."""
    return next((launch.kernel for launch in program.launches[len(found.buffers) :]), "no kernel")


def different_launches(program: Program, found: Outcome, wanted: Outcome) -> list[str]:
    """Kernels and variables that hold something else in the end."""
    names = [*(launch.kernel for launch in program.launches), *program.variables]
    return [n for n, a, b in zip(names, found.buffers, wanted.buffers, strict=False) if a != b]


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_results(
    name: str,
    way: str,
    compiler: parcubin.Compiler,
    expected: Callable[[str], Outcome],
    gpu: GpuProcess,
    tmp_path: Path,
) -> None:
    program = PROGRAMS[name]
    if way in program.impossible:
        with pytest.raises(UnresolvedSymbolError, match=program.missing):
            WAYS[way](program, compiler, Tools(tmp_path))
        return
    with one_kernel_a_shard():
        cubins = WAYS[way](program, compiler, Tools(tmp_path))
    found, wanted = outcome(name, cubins, gpu, tmp_path), expected(name)
    if not program.is_apart:
        assert not wanted.error, f"{name} as a whole ends with {wanted.error}"
        assert not found.error, f"{name}, {way}, ends with {found.error} in {failed_launch(program, found)}"
    assert different_launches(program, found, wanted) == []
    assert found == wanted
    if not program.is_apart:
        assert any(buffer != first_buffer() for buffer in found.buffers)


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
