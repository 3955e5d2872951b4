"""libnvptxcompiler beside ptxas of the same version."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parcubin.errors import ToolchainError
from parcubin.model import Assembly, CompilationOptions, DeferredModule, Ptx, RelocatableKind, RelocatableModule, Target
from parcubin.providers.interface import CompilationProvider
from parcubin.providers.nvptxcompiler import NvPtxCompilerProvider
from parcubin.toolchain.logs import resource_usage
from parcubin.toolchain.version import Tool, Version
from tests.providers.samples import EWP, FACTORIES, PLAIN, SM_80, store_kernel

DEFAULT = CompilationOptions()


@pytest.fixture
def pair() -> tuple[CompilationProvider, CompilationProvider]:
    """ptxas and libnvptxcompiler."""
    try:
        ptxas, library = FACTORIES["subprocess"](), FACTORIES["nvptxcompiler"]()
    except ToolchainError as error:
        pytest.skip(error.message)
    if ptxas.identity.split(",")[0].split()[1] != library.identity.split()[1]:
        pytest.skip(f"{ptxas.identity} and {library.identity} are of different versions")
    return ptxas, library


@pytest.mark.parametrize("kind", [None, PLAIN, EWP])
@pytest.mark.parametrize(
    "options",
    [
        CompilationOptions(line_info=True),
        CompilationOptions(max_registers=32),
        CompilationOptions(opt_level=1),
        CompilationOptions(fast_compile="max"),
        CompilationOptions(debug_info=True),
    ],
)
def test_the_code_is_that_of_ptxas(
    pair: tuple[CompilationProvider, CompilationProvider],
    kind: RelocatableKind | None,
    options: CompilationOptions,
    xla_modules: Path,
    cuobjdump: Callable[..., str],
) -> None:
    source = max(xla_modules.glob("*.ptx"), key=lambda path: path.stat().st_size)
    target, ptx = Target("sm_90a"), Ptx(source.read_text())
    modules: list[Assembly | RelocatableModule] = []
    for provider in pair:
        module: Assembly | RelocatableModule | DeferredModule
        if kind is None:
            module = provider.compile(target, ptx, options)
        else:
            module = provider.compile_to_relocatable_module(target, ptx, options, kind)
        assert not isinstance(module, DeferredModule)
        modules.append(module)
    first, second = modules
    assert cuobjdump(first.cubin, "--dump-sass") == cuobjdump(second.cubin, "--dump-sass")
    assert resource_usage(first.log) == resource_usage(second.log)


def test_a_library_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "libnvptxcompiler.so"
    path.write_bytes(b"hello")
    provider = NvPtxCompilerProvider(Tool("nvptxcompiler", str(path), Version(13, 5, 37)))
    with pytest.raises(ToolchainError, match="cannot be loaded"):
        provider.compile(SM_80, store_kernel("store"), DEFAULT)


def test_another_library() -> None:
    libc = next(path for path in Path("/proc/self/maps").read_text().split() if "libc.so" in path or "libc-" in path)
    provider = NvPtxCompilerProvider(Tool("nvptxcompiler", libc, Version(13, 5, 37)))
    with pytest.raises(ToolchainError, match="is not a libnvptxcompiler"):
        provider.compile(SM_80, store_kernel("store"), DEFAULT)
