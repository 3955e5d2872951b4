"""The ways from a program to CUBINs, and the whole-program way that they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import parcubin
from parcubin.model import Emit
from parcubin.providers.deferred import DeferredProvider
from parcubin.providers.nvjitlink import NvJitLinkProvider
from parcubin.providers.selection import Selection
from parcubin.toolchain.locate import find
from parcubin.toolchain.version import Tool
from tests.gpu.programs import Program
from tests.inspect.cuda_tools import Tools
from tests.whole_program import whole_program_ptx

Cubins = tuple[bytes, ...]


@dataclass(frozen=True)
class LinksOnly(NvJitLinkProvider):
    """nvJitLink 13 as 12 was: without relocatable modules, so that they are deferred."""

    @property
    def supports_compile_to_relocatable_module(self) -> bool:
        return False


class DeferringCompiler(parcubin.Compiler):
    """Defers all compilation to a link with nvJitLink."""

    def select_provider(self, output: Emit) -> Selection | None:
        if output == "ptx":
            return None
        library = find("nvJitLink")
        if library is None:
            pytest.skip("nvJitLink is not installed")
        tool = Tool.library("nvJitLink", library.path)
        return Selection(DeferredProvider(LinksOnly(tool)), ())


@contextmanager
def one_kernel_a_shard() -> Iterator[None]:
    """Wherever kernels need not stay together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parcubin.split.grouping.ALONE_COST", -1)
        yield


def whole(program: Program, arch: str, tools: Tools) -> Cubins:
    """The program compiled as a whole by LLVM and ptxas, which know nothing of parcubin. PTX of several modules, and
    what needs the device runtime, is linked by nvlink."""
    texts = program.reference or program.modules
    if not texts[0].lstrip().startswith(("//", ".version")):
        texts = (whole_program_ptx(texts, arch),)
    if len(texts) == 1 and not program.needs_device_runtime:
        return (tools.assemble(texts[0], arch),)
    # Where functions can be called from outside, the bounds of kernels do not limit them.
    options = ("-c", "--device-function-maxrregcount", "64")
    modules = [tools.assemble(text, arch, *options, name=f"whole{i}") for i, text in enumerate(texts)]
    return (linked_by_nvlink(program, modules, arch, tools),)


def linked_by_nvlink(program: Program, modules: list[bytes], arch: str, tools: Tools) -> bytes:
    names = [f"module{number}.cubin" for number in range(len(modules))]
    for name, module in zip(names, modules, strict=True):
        (tools.folder / name).write_bytes(module)
    libraries = [str(device_runtime())] if program.needs_device_runtime else []
    tools.run("nvlink", "-arch", arch, *names, *libraries, "-o", "linked.cubin")
    return (tools.folder / "linked.cubin").read_bytes()


def device_runtime() -> Path:
    library = find("libcudadevrt")
    if library is None:
        pytest.skip("libcudadevrt is not installed")
    return Path(library.path)


def _bundle(program: Program, compiler: parcubin.Compiler, _: Tools) -> Cubins:
    return tuple(a.cubin for a in compiler.compile(list(program.modules)).assemblies)


def _linked(program: Program, compiler: parcubin.Compiler, _: Tools) -> Cubins:
    return (compiler.compile(list(program.modules), output="cubin").cubin,)


def _linked_late(program: Program, compiler: parcubin.Compiler, _: Tools) -> Cubins:
    return (compiler.compile(list(program.modules)).link().cubin,)


def _linked_from_ptx(program: Program, compiler: parcubin.Compiler, _: Tools) -> Cubins:
    shards = compiler.compile(list(program.modules), output="ptx").ptx
    return (compiler.compile([shard.text for shard in shards], output="cubin").cubin,)


def _relocatable(program: Program, compiler: parcubin.Compiler, tools: Tools) -> Cubins:
    module = compiler.compile(list(program.modules), output="relocatable").cubin
    return (linked_by_nvlink(program, [module], str(compiler.target), tools),)


WAYS: Mapping[str, Callable[[Program, parcubin.Compiler, Tools], Cubins]] = {
    "bundle": _bundle,
    "linked": _linked,
    "linked late": _linked_late,
    "linked from PTX": _linked_from_ptx,
    "deferred": _linked,
    "deferred to the driver": _linked,
    "relocatable": _relocatable,
}
"""Each with a compiler of `compiler_for`."""


def compiler_for(way: str, arch: str) -> parcubin.Compiler:
    match way:
        case "deferred":
            return DeferringCompiler(arch, jobs=2)
        case "deferred to the driver":
            return parcubin.Compiler(arch, jobs=2, provider="deferred(driver)")
        case _:
            return parcubin.Compiler(arch, jobs=2)
