"""What single providers do beyond the common promises."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import parcubin
from parcubin.errors import (
    CompileError,
    InputError,
    InternalCompilerError,
    ToolchainError,
    UnavailableError,
    UnresolvedSymbolError,
)
from parcubin.inspect.cubin import read_cubin
from parcubin.inspect.ptx import scan_ptx
from parcubin.model import CompilationOptions, DeferredModule, Ptx, RelocatableModule
from parcubin.providers.composite import CompositeProvider
from parcubin.providers.deferred import DeferredProvider
from parcubin.providers.nvjitlink import NvJitLinkProvider
from parcubin.providers.subprocess import SubprocessProvider
from parcubin.sources import SourceKind, read_source
from parcubin.toolchain.locate import find
from parcubin.toolchain.version import Tool, Version
from tests.providers.samples import CALLER, EWP, PLAIN, SM_80, store_kernel

DEFAULT = CompilationOptions()
OLD_NVJITLINK = NvJitLinkProvider(Tool("nvJitLink", "/nowhere/libnvJitLink.so.12", Version(12, 9, 86)))


def installed(name: str) -> Tool:
    file = find("ptxas" if name == "ptxas" else "nvlink")
    if not file:
        pytest.skip(f"no {name} here")
    return Tool.executable(name, file.path)


def script(directory: Path, text: str) -> Tool:
    """A stand-in for ptxas, for what the real one does not do on demand."""
    path = directory / "ptxas"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Tool("ptxas", str(path), Version(13, 5, 37))


def test_a_linker_older_than_its_assembler_is_refused() -> None:
    ptxas = Tool("ptxas", "/nowhere/ptxas", Version(13, 5, 37))
    nvlink = Tool("nvlink", "/nowhere/nvlink", Version(13, 0, 88))
    with pytest.raises(ToolchainError, match=r"nvlink 13\.0\.88 is older than ptxas 13\.5\.37"):
        SubprocessProvider(ptxas, nvlink)


def test_a_newer_nvlink_gets_plain_modules_only() -> None:
    ptxas, nvlink = installed("ptxas"), installed("nvlink")
    newer = replace(nvlink, version=Version(nvlink.version.major + 1, 0, 1))
    ptx = store_kernel("store")
    assert SubprocessProvider(ptxas).compile_to_relocatable_module(SM_80, ptx, DEFAULT, EWP).kind is EWP
    assert SubprocessProvider(ptxas, newer).compile_to_relocatable_module(SM_80, ptx, DEFAULT, EWP).kind is PLAIN


def test_ptxas_alone_cannot_link() -> None:
    provider = SubprocessProvider(installed("ptxas"))
    assert not provider.supports_compile_and_link
    with pytest.raises(UnavailableError, match="no nvlink"):
        provider.compile_and_link(SM_80, [store_kernel("store")], DEFAULT)


def test_a_killed_compiler_is_an_internal_error(tmp_path: Path) -> None:
    tool = script(tmp_path, "echo \"ptxas info    : Compiling entry function 'big' for 'sm_80'\"; kill -SEGV $$")
    with pytest.raises(InternalCompilerError, match="SIGSEGV") as raised:
        SubprocessProvider(tool).compile(SM_80, store_kernel("store"), DEFAULT)
    assert raised.value.kernels == ("big",)
    assert "Compiling entry function" in raised.value.log


@pytest.mark.parametrize("text", ["exit 0", "touch output.cubin"])
def test_success_without_output_is_an_internal_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(InternalCompilerError, match="no output"):
        SubprocessProvider(script(tmp_path, text)).compile(SM_80, store_kernel("store"), DEFAULT)


def test_a_tool_that_went_away(tmp_path: Path) -> None:
    tool = script(tmp_path, "exit 0")
    Path(tool.path).unlink()
    with pytest.raises(ToolchainError, match="cannot be run"):
        SubprocessProvider(tool).compile(SM_80, store_kernel("store"), DEFAULT)


def test_names_never_become_paths(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    ptx = Ptx(store_kernel("store").text, str(outside))
    provider = SubprocessProvider(installed("ptxas"), installed("nvlink"))
    module = provider.compile_to_relocatable_module(SM_80, ptx, DEFAULT, PLAIN)
    assert provider.compile_and_link(SM_80, [module], DEFAULT).cubin
    assert not outside.exists()


def test_link_errors_name_the_inputs() -> None:
    provider = SubprocessProvider(installed("ptxas"), installed("nvlink"))
    module = provider.compile_to_relocatable_module(SM_80, replace(CALLER, name="shard of caller"), DEFAULT, PLAIN)
    with pytest.raises(UnresolvedSymbolError) as raised:
        provider.compile_and_link(SM_80, [module], DEFAULT)
    assert "shard of caller" in raised.value.log
    assert "input-0" not in raised.value.log


def test_temporary_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    SubprocessProvider(installed("ptxas")).compile(SM_80, store_kernel("store"), DEFAULT)
    with pytest.raises(UnresolvedSymbolError):
        SubprocessProvider(installed("ptxas")).compile(SM_80, CALLER, DEFAULT)
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "libnvJitLink.so.13"
    path.write_bytes(b"hello")
    provider = NvJitLinkProvider(Tool("nvJitLink", str(path), Version(13, 5, 37)))
    with pytest.raises(ToolchainError, match="cannot be loaded"):
        provider.compile(SM_80, store_kernel("store"), DEFAULT)


def test_a_library_of_another_version_than_said() -> None:
    file = find("nvJitLink")
    if not file:
        pytest.skip("no libnvJitLink here")
    provider = NvJitLinkProvider(Tool("nvJitLink", file.path, Version(11, 8, 89)))
    with pytest.raises(ToolchainError, match=r"is not the libnvJitLink 11\.8\.89"):
        provider.compile(SM_80, store_kernel("store"), DEFAULT)


def test_old_nvjitlink_makes_no_relocatable_modules() -> None:
    assert not OLD_NVJITLINK.supports_compile_to_relocatable_module
    with pytest.raises(UnavailableError, match=r"from 13\.2 on"):
        OLD_NVJITLINK.compile_to_relocatable_module(SM_80, store_kernel("store"), DEFAULT, PLAIN)


def test_nvjitlink_before_13_2_joins_modules_and_makes_none() -> None:
    for version, makes, joins in (((12, 9), False, False), ((13, 1), False, True), ((13, 2), True, True)):
        provider = NvJitLinkProvider(Tool("nvJitLink", "/nowhere/libnvJitLink.so", Version(*version)))
        assert provider.supports_compile_to_relocatable_module is makes
        assert provider.supports_link_to_relocatable_module is joins
        if not makes:
            with pytest.raises(UnavailableError, match=r"from 13\.2 on"):
                provider.link_to_relocatable_module(SM_80, [store_kernel("store")], DEFAULT)


def test_two_thousand_links_take_no_more_memory_than_a_hundred() -> None:
    """In one process, from one thread and from four. Before 13.2 it links PTX only, which takes a minute: it is
    measured, not tested (docs/providers.md)."""
    file = find("nvJitLink")
    if not file or not NvJitLinkProvider(Tool.library("nvJitLink", file.path)).supports_compile_to_relocatable_module:
        pytest.skip("no libnvJitLink from 13.2 on here")
    script = Path(__file__).parent.parent.parent / "benchmarks" / "nvjitlink_memory.py"
    printed = subprocess.run([sys.executable, script, file.path], capture_output=True, text=True, check=True).stdout
    growth = [int(kib) for kib in re.findall(r"(-?\d+) KiB more", printed)]
    assert len(growth) == 8
    assert max(growth) < 4096


def test_deferring_keeps_the_ptx() -> None:
    provider = DeferredProvider(OLD_NVJITLINK)
    assert provider.name == "deferred(nvjitlink)"
    assert provider.identity == "nvJitLink 12.9.86"
    module = provider.compile_to_relocatable_module(SM_80, store_kernel("store"), DEFAULT, EWP)
    assert module == DeferredModule(store_kernel("store"))


def test_deferred_modules_on_disk_have_a_version_and_are_no_elf() -> None:
    module = DeferredModule(store_kernel("store"))
    data = module.to_bytes()
    assert data.startswith(b"// parcubin deferred module 1\n")
    assert DeferredModule.from_bytes(data, "store") == module
    assert read_source(data).kind is SourceKind.PTX
    assert scan_ptx(data.decode()).kernels
    with pytest.raises(InputError, match="does not start as an ELF file"):
        read_cubin(data)
    newer = data.replace(b"module 1", b"module 2")
    for read in (DeferredModule.from_bytes, read_source):
        with pytest.raises(InputError, match="of version '2', and this parcubin reads version 1"):
            read(newer)
    with pytest.raises(InputError, match="is not a deferred module"):
        DeferredModule.from_bytes(store_kernel("store").text.encode())


def test_deferring_what_needs_no_deferral_is_refused() -> None:
    with pytest.raises(ToolchainError, match="nothing to defer"):
        DeferredProvider(SubprocessProvider(Tool("ptxas", "/nowhere/ptxas", Version(13, 5, 37))))


@dataclass(frozen=True)
class CompileOnly(NvJitLinkProvider):
    """A provider that compiles to assemblies only."""

    @property
    def supports_compile_to_relocatable_module(self) -> bool:
        return False

    @property
    def supports_compile_and_link(self) -> bool:
        return False


def test_deferring_to_what_cannot_link_is_refused() -> None:
    with pytest.raises(ToolchainError, match="cannot link"):
        DeferredProvider(CompileOnly(OLD_NVJITLINK.library))


def test_composite_without_members_is_refused() -> None:
    with pytest.raises(ToolchainError):
        CompositeProvider(())


def test_composite_says_what_none_of_its_members_can() -> None:
    provider = CompositeProvider((CompileOnly(OLD_NVJITLINK.library),))
    with pytest.raises(UnavailableError, match="relocatable"):
        provider.compile_to_relocatable_module(SM_80, store_kernel("store"), DEFAULT, PLAIN)
    with pytest.raises(UnavailableError, match="link"):
        provider.compile_and_link(SM_80, [store_kernel("store")], DEFAULT)
    with pytest.raises(UnavailableError, match="link"):
        provider.link_to_relocatable_module(SM_80, [store_kernel("store")], DEFAULT)


def test_composite_uses_the_first_member_that_can() -> None:
    compiler = SubprocessProvider(installed("ptxas"))
    provider = CompositeProvider((OLD_NVJITLINK, compiler))
    assert provider.name == "nvjitlink+subprocess"
    assert not provider.compiles_whole_program
    module = provider.compile_to_relocatable_module(SM_80, store_kernel("store"), DEFAULT, EWP)
    assert isinstance(module, RelocatableModule)
    assert module.kind is EWP


def test_composite_of_different_releases_makes_plain_modules() -> None:
    provider = CompositeProvider((SubprocessProvider(installed("ptxas")), OLD_NVJITLINK), extensible_modules=False)
    module = provider.compile_to_relocatable_module(SM_80, store_kernel("store"), DEFAULT, EWP)
    assert isinstance(module, RelocatableModule)
    assert module.kind is PLAIN


class SilentLibrary:
    """A libnvJitLink that reports success whatever happens, as that of 12.4 does after a failure."""

    def succeed(self, *_: object) -> int:
        return 0

    create = destroy = add_data = complete = cubin = succeed

    def cubin_size(self, _: object, size: Any) -> int:
        size._obj.value = 4
        return 0


@pytest.mark.parametrize(
    ("log", "message"),
    [("error   : something went wrong", "something went wrong"), ("", "reported success but did not write")],
)
def test_success_of_nvjitlink_is_not_trusted(monkeypatch: pytest.MonkeyPatch, log: str, message: str) -> None:
    monkeypatch.setattr("parcubin.providers.nvjitlink._load", lambda _: SilentLibrary())
    monkeypatch.setattr("parcubin.providers.nvjitlink._log", lambda *_: log)
    with pytest.raises(CompileError, match=message):
        OLD_NVJITLINK.compile(SM_80, store_kernel("store"), DEFAULT)


def test_what_nvjitlink_costs_is_said() -> None:
    """It compiles even a single input as for a link."""
    try:
        with parcubin.Compiler("sm_80", jobs=1, provider="nvjitlink") as compiler:
            warnings = compiler.compile(store_kernel("store").text).report.warnings
    except ToolchainError as error:
        pytest.skip(error.message)
    assert any("compiles every kernel as for a link" in warning for warning in warnings)
