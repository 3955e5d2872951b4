"""Who uses a symbol, and how the error says it."""

from __future__ import annotations

import pytest

from parcubin.inspect.ptx import scan_ptx
from parcubin.inspect.unresolved import Use, demangled, unresolved_error, uses_of

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func f();\n.extern .global .align 8 .u64 g;\n"


def use_of(symbol: str, text: str) -> Use:
    text = HEADER + text
    (use,) = uses_of([symbol], text, scan_ptx(text), "input")
    return use


@pytest.mark.parametrize(
    "text",
    [
        ".visible .entry k() { call f; ret; }",
        ".func a() { call f; ret; } .visible .entry k() { call a; ret; }",
        ".func a(); .func b() { call a; call f; ret; } .func a() { call b; ret; } .visible .entry k() { call a; ret; }",
        ".visible .entry k() { .reg .u64 %r; mov.u64 %r, f; ret; }",
        ".global .u64 table[1] = {f}; .visible .entry k() { .reg .u64 %r; ld.global.u64 %r, [table]; ret; }",
        ".func a() { call f; ret; } .alias b, a; .visible .entry k() { call b; ret; }",
        ".visible .entry k() { // f\n call /* g */ f; ret; } .visible .entry other() { ret; } // f",
    ],
)
def test_the_kernel_that_reaches_it(text: str) -> None:
    assert use_of("f", text).kernels == ("k",)


def test_variables_are_reached_too() -> None:
    text = ".visible .entry k() { .reg .u64 %r; ld.global.u64 %r, [g]; ret; } .visible .entry l() { call f; ret; }"
    assert use_of("g", text).kernels == ("k",)


def test_functions_are_named_where_no_kernel_is() -> None:
    use = use_of("f", ".visible .func a() { call f; ret; } .visible .func b() { call a; ret; }")
    assert use == Use("f", "input", kernels=(), functions=("a",))


def test_message() -> None:
    uses = [
        Use("_Z3fooi", "one", ("k1", "k2")),
        Use("_Z3fooi", "two", ("k3", "k4", "_Z2k5v")),
        Use("plain", "two", (), ("helper",)),
        Use("far", "two", ("k1",), (), "three"),
        Use("cudaLaunchDeviceV2", "two", ("k1",)),
    ]
    error = unresolved_error(uses)
    assert error.message == (
        "4 symbols are used and not defined:\n"
        "  'foo(int)' (_Z3fooi), used by kernels k1, k2, k3 and 2 more\n"
        "  'cudaLaunchDeviceV2', used by kernel k1\n"
        "  'far', used by kernel k1 and defined in three\n"
        "  'plain', used by helper\n"
        "Inputs that use each other have to be linked: compile to one CUBIN instead of a bundle.\n"
        "Add the inputs that define what is missing.\n"
        "Kernels that launch kernels are linked with libcudadevrt: compile to one CUBIN."
    )
    assert error.symbols == ("_Z3fooi", "cudaLaunchDeviceV2", "far", "plain")
    assert error.kernels == ("k1", "k2", "k3", "k4", "_Z2k5v")


def test_message_of_one() -> None:
    assert unresolved_error([Use("f", "input", ("k",))]).message == (
        "A symbol is used and not defined: 'f', used by kernel k. Add the inputs that define what is missing."
    )


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("_ZN2ns3fooIiEEvT_", "void ns::foo<int>(int)"),
        ("_RNvC3abc3foo", "abc::foo"),
        ("plain", "plain"),
        ("_Znonsense", "_Znonsense"),
        ("_Z3fooi$x", "_Z3fooi$x"),
    ],
)
def test_demangled(name: str, plain: str) -> None:
    assert demangled(name) == plain
