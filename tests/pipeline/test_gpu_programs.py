"""The programs of tests/gpu compile in every way. Whether they are right, only a GPU says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import parcubin
from parcubin.errors import ToolchainError, UnresolvedSymbolError
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


@pytest.mark.parametrize("how", ["nvjitlink", "deferred", "relocatable"])
def test_dynamic_shared_memory_where_every_module_is_plain(how: str, tmp_path: Path) -> None:
    """Linkers take the first module's alignment: for all that has one name, and for all that was joined before."""
    program, tools = PROGRAMS["LLVM IR: dynamic shared memory"], Tools(tmp_path)
    compiler = parcubin.Compiler(ARCH, jobs=1, provider=how) if how == "nvjitlink" else compiler_for(how, ARCH)
    with compiler, one_kernel_a_shard():
        try:
            (cubin,) = WAYS["relocatable" if how == "relocatable" else "linked"](program, compiler, tools)
        except ToolchainError as error:
            pytest.skip(error.message)
    code = tools.sass(cubin)
    assert code.keys() == program.kernels
    addresses = [int(n, 16) for n in re.findall(r"UMOV UR\d+, 0x([0-9a-f]+) ;", code["b_aligned_to_128"])]
    assert len(addresses) > 2
    assert not any(address % 128 for address in addresses)
