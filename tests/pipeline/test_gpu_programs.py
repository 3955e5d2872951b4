"""The programs of tests/gpu compile in every way. Whether they are right, only a GPU says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import parcubin
from parcubin.errors import UnresolvedSymbolError
from parcubin.inspect.cubin import read_cubin
from tests.gpu.programs import PROGRAMS
from tests.gpu.ways import WAYS, compiler_for, one_kernel_a_shard, whole
from tests.inspect.cuda_tools import Tools

ARCH = "sm_90"


@pytest.fixture(scope="module", params=[way for way in WAYS if way != "deferred to the driver"])
def way(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def compiler(way: str) -> Iterator[parcubin.Compiler]:
    with compiler_for(way, ARCH) as compiler:
        yield compiler


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiles(name: str, way: str, compiler: parcubin.Compiler, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    if way in program.impossible:
        with pytest.raises(UnresolvedSymbolError, match=program.missing):
            WAYS[way](program, compiler, Tools(tmp_path))
        return
    with one_kernel_a_shard():
        found = [read_cubin(cubin) for cubin in WAYS[way](program, compiler, Tools(tmp_path))]
    kernels = [kernel for info in found for kernel in info.kernels]
    assert len(kernels) == len(set(kernels))
    assert program.kernels <= set(kernels)
    variables = [variable for info in found for variable in info.variables]
    assert all(variables.count(variable) == 1 for variable in program.variables)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiles_as_a_whole(name: str, tmp_path: Path) -> None:
    (cubin,) = whole(PROGRAMS[name], ARCH, Tools(tmp_path))
    assert PROGRAMS[name].kernels <= read_cubin(cubin).kernels.keys()
