"""What may not be compiled with -ewp: each case makes wrong code, or loses something, without a word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from parcubin.errors import UnresolvedSymbolError
from parcubin.inspect.ptx import scan_ptx
from parcubin.model import CompilationOptions, Ptx
from parcubin.providers.relocatable_kind import why_not_extensible_whole_program
from parcubin.providers.subprocess import SubprocessProvider
from parcubin.toolchain.locate import find
from parcubin.toolchain.version import Tool
from tests.providers.samples import CALLER, EWP, HEADER, HELPERS, LAUNCHER, PLAIN, SM_80, store_kernel

DEFAULT = CompilationOptions()
KERNEL = store_kernel("store").text
POINTER = KERNEL.replace("st.global", "mov.u64 %rd2,callee;\nst.global.u64 [%rd1],%rd2;\nst.global")
TAKES_AN_ADDRESS = POINTER.replace(".visible .entry", ".func callee() { ret; }\n.visible .entry")
CALLS_INDIRECTLY = KERNEL.replace(
    "st.global", "ld.global.u64 %rd2,[%rd1];\ntype: .callprototype _ ();\ncall %rd2,(),type;\nst.global", 1
)


@pytest.mark.parametrize(
    ("text", "facts", "reason"),
    [
        (KERNEL, {}, None),
        (KERNEL + ".const .u32 c;\n", {}, "constants"),
        (KERNEL + ".extern .const .u32 c;\n", {}, "constants"),
        (KERNEL + ".const .u32 c;\n", {"sole_constants": True}, None),
        (CALLER.text, {}, "calls functions of other shards"),
        (LAUNCHER.text, {}, "calls functions of other shards"),
        (HELPERS.text, {}, "no kernels"),
        (TAKES_AN_ADDRESS, {"other_pointers": True}, "function pointers"),
        (TAKES_AN_ADDRESS, {}, None),
        (CALLS_INDIRECTLY, {"other_pointers": True}, "function pointers"),
        (CALLS_INDIRECTLY, {}, None),
        (KERNEL, {"other_pointers": True}, None),
        (KERNEL + ".extern .global .u32 a[];\n", {}, "extern array without a size"),
        (KERNEL + ".extern .shared .u32 a[];\n", {}, None),
    ],
)
def test_reason(text: str, facts: dict[str, bool], reason: str | None) -> None:
    facts = {"sole_constants": False, "other_pointers": False, **facts}
    assert why_not_extensible_whole_program(scan_ptx(text), CompilationOptions(), **facts) == reason


def test_full_debug_info() -> None:
    summary = scan_ptx(KERNEL)
    for line_info, debug_info, reason in ((True, False, None), (True, True, "full debug info")):
        options = CompilationOptions(line_info=line_info, debug_info=debug_info)
        found = why_not_extensible_whole_program(summary, options, sole_constants=True, other_pointers=False)
        assert found == reason


@pytest.fixture
def ptxas() -> SubprocessProvider:
    file = find("ptxas")
    if file is None:
        pytest.skip("no ptxas in this environment")
    return SubprocessProvider(Tool.executable("ptxas", file.path))


def test_functions_that_no_kernel_calls_are_dropped(ptxas: SubprocessProvider, cuobjdump: Callable[..., str]) -> None:
    for kind, kept in ((EWP, False), (PLAIN, True)):
        module = ptxas.compile_to_relocatable_module(SM_80, HELPERS, DEFAULT, kind)
        assert ("first_helper" in cuobjdump(module.cubin, "--dump-elf-symbols")) == kept


def test_arrays_without_a_size_are_refused(ptxas: SubprocessProvider) -> None:
    """That is why they are no business of -ewp."""
    text = HEADER + ".extern .global .u32 a[];\n" + KERNEL.removeprefix(HEADER)
    text = text.replace("st.global", "ld.global.u32 %r2,[a+8];\nst.global.u32 [%rd1+4],%r2;\nst.global", 1)
    ptx = Ptx(text)
    ptxas.compile_to_relocatable_module(SM_80, ptx, DEFAULT, PLAIN)
    with pytest.raises(UnresolvedSymbolError):
        ptxas.compile_to_relocatable_module(SM_80, ptx, DEFAULT, EWP)
