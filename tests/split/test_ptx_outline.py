"""What the outline of PTX says of every construct."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from parcubin.split.outline import Binding, Sharing, Symbol, SymbolKind
from parcubin.split.ptx import PtxOutline, outline_ptx
from parcubin.split.ptx_shard import PtxPart, render_ptx
from tests.split.ptx_samples import CALL, CALL_POINTER, HEADER, function, kernel, module, prototype

KERNEL, FUNCTION, VARIABLE = SymbolKind.KERNEL, SymbolKind.FUNCTION, SymbolKind.VARIABLE
LOCAL, STRONG, WEAK = Binding.LOCAL, Binding.STRONG, Binding.WEAK


def outline(*parts: str, debug_info: bool = False) -> PtxOutline:
    return outline_ptx(module(*parts).encode(), "mine.ptx", debug_info=debug_info)


def symbol(name: str, *parts: str) -> Symbol:
    found = outline(*parts)
    assert found.whole_reason is None
    return found.symbols[name]


@pytest.mark.parametrize(
    ("declaration", "kind", "defined", "binding"),
    [
        (kernel("x", ""), KERNEL, True, STRONG),
        (kernel("x", "", linkage=""), KERNEL, True, STRONG),
        (kernel("x", "", linkage=".weak "), KERNEL, True, WEAK),
        (".entry x { ret; }", KERNEL, True, STRONG),
        (".visible .entry x() .maxntid 64, 1, 1 .minnctapersm 2 { ret; }", KERNEL, True, STRONG),
        (".extern .entry x(.param .u64 p);", KERNEL, False, STRONG),
        (function("x"), FUNCTION, True, STRONG),
        (function("x", linkage=""), FUNCTION, True, LOCAL),
        (function("x", linkage=".weak "), FUNCTION, True, WEAK),
        (prototype("x", ".visible ") + function("x", linkage=""), FUNCTION, True, STRONG),
        (prototype("x", ".extern "), FUNCTION, False, STRONG),
        (".func x .noreturn { trap; }", FUNCTION, True, LOCAL),
        (function("f") + prototype("x", ".visible ") + ".alias x, f;", FUNCTION, True, STRONG),
        (function("f", linkage="") + prototype("x", ".visible ") + ".alias x, f;", FUNCTION, True, LOCAL),
        (".global .u32 x;", VARIABLE, True, LOCAL),
        (".global .u32 a, x[2] = {1, 2};", VARIABLE, True, LOCAL),
        (".visible .global .attribute(.managed) .align 4 .u32 x;", VARIABLE, True, STRONG),
        (".weak .const .u32 x = 3;", VARIABLE, True, WEAK),
        (".common .global .u32 x;", VARIABLE, True, WEAK),
        (".extern .global .u32 x[];", VARIABLE, False, STRONG),
        (".extern .global .u32 x; .visible .global .u32 x = 1;", VARIABLE, True, STRONG),
        (".extern .shared .align 16 .b8 x[];", VARIABLE, True, LOCAL),
        (".extern .shared .align 16 .b8 x[64];", VARIABLE, False, STRONG),
        (".weak .shared .b8 x[64];", VARIABLE, True, WEAK),
        (".visible .shared .b8 x[64];", VARIABLE, True, STRONG),
        ("/* { */ .visible /* ; */ .global // }\n .u32 x;", VARIABLE, True, STRONG),
    ],
)
def test_linkage(declaration: str, kind: SymbolKind, defined: bool, binding: Binding) -> None:
    found = symbol("x", declaration)
    assert (found.kind, found.defined, found.binding) == (kind, defined, binding)


@pytest.mark.parametrize(
    ("declaration", "sharing"),
    [
        (".global .u32 x;", Sharing.ONCE),
        (".global .u32 x = 3;", Sharing.ONCE),
        (".const .u32 x = 3;", Sharing.ONCE),
        (".visible .global .u32 x$y = 3;", Sharing.ONCE),
        (".weak .global .u32 x$y = 3;", Sharing.ONCE),
        (".common .global .u32 x$y;", Sharing.ONCE),
        (".global .u32 function_$_counter = 3;", Sharing.ONCE_RENAMED),
        (".global .b8 $str;", Sharing.ONCE_RENAMED),
        (".const .u32 x$y = 3;", Sharing.COPY_UNLESS_LINKED),
        (".const .u32 __unnamed_1 = 3;", Sharing.COPY_UNLESS_LINKED),
        (".shared .u32 x;", Sharing.COPY),
        (".visible .shared .u32 x;", Sharing.COPY),
        (".extern .shared .u32 x[];", Sharing.COPY),
        (".extern .global .u32 x;", Sharing.COPY),
        (".global .texref x;", Sharing.MERGE),
        (".visible .global .surfref x;", Sharing.MERGE),
        *(
            (f".global .b8 {name}[2] = {{1, 2}};", Sharing.COPY)
            for name in (
                *("$str", "$str$12", "__unnamed_1", "_$_str", "_$_str_$_3", "_$_str_$_3_$_4", "__const_$_k_$_table"),
                *("switch_$_table_$_k", "anon_$_0123abcd_$_7", "__func___$__Z1kv", "__PRETTY_FUNCTION___$__Z1kv"),
            )
        ),
    ],
)
def test_sharing(declaration: str, sharing: Sharing) -> None:
    (found,) = outline(declaration).symbols.values()
    assert found.sharing is sharing
    assert found.in_constant_bank == (".const" in declaration)


def test_references() -> None:
    found = outline(
        ".global .u32 data; .global .u64 table[2] = {taken, generic(data)}; .global .u64 self = self;\n",
        *(function(name) for name in ("called", "taken", "listed", "other")),
        prototype("aliased", ".visible "),
        ".alias aliased, called;\n",
        kernel("direct", "/* data */ // other\n" + CALL.format("called")),
        kernel("through_alias", CALL.format("aliased")),
        kernel("address", "mov.u64 %rd2, taken; ld.global.u32 %r1, [data+4];"),
        kernel("both", CALL.format("called") + "mov.u64 %rd2, called;"),
        kernel("indirect", "ld.global.u64 %rd2, [table];" + CALL_POINTER.format("%rd2")),
        kernel(
            "one_of",
            "{ .param .b32 a; .param .b32 b; types: .calltargets listed, other; call (b), %rd2, (a), types; }",
        ),
        kernel("launches", "mov.u64 %rd2, direct;"),
        ".visible .entry shadows(.param .u64 data) { .reg .b64 other; ld.param.u64 other, [data]; ret; }",
    )
    assert found.whole_reason is None
    assert {s.name: (set(s.references), set(s.addresses), s.calls_indirectly) for s in found.symbols.values()} == {
        "data": (set(), set(), False),
        "table": ({"taken", "data"}, {"taken"}, False),
        "self": (set(), set(), False),
        "called": (set(), set(), False),
        "taken": (set(), set(), False),
        "listed": (set(), set(), False),
        "other": (set(), set(), False),
        "aliased": ({"called"}, set(), False),
        "direct": ({"called"}, set(), False),
        "through_alias": ({"aliased"}, set(), False),
        "address": ({"taken", "data"}, {"taken"}, False),
        "both": ({"called"}, {"called"}, False),
        "indirect": ({"table"}, set(), True),
        "one_of": ({"listed", "other"}, {"listed", "other"}, True),
        "launches": ({"direct"}, {"direct"}, False),
        "shadows": ({"data", "other"}, {"other"}, False),  # more than there is, which does no harm
    }


def test_call_of_a_register() -> None:
    assert symbol("k", kernel("k", "call %rd2, ();")).calls_indirectly
    assert not symbol("k", kernel("k", CALL.format("f")), function("f")).calls_indirectly


def test_constants_of_a_kernels_own() -> None:
    assert symbol("k", kernel("k", ".const .u32 table[4] = {1, 2, 3, 4}; ld.const.u32 %r1, [table];")).in_constant_bank
    assert not symbol("k", kernel("k", "ld.const.u32 %r1, [%rd1];")).in_constant_bank


def test_costs_are_those_of_compiling() -> None:
    found = outline(".global .b8 data[] = {" + "1, " * 9_999 + "1};", kernel("k", "add.u32 %r1, %r1, 1;" * 1000))
    assert found.symbols["k"].cost > 10 * found.symbols["data"].cost > 10_000
    assert symbol("f", prototype("f", ".extern ")).cost == 0


DEBUG_INFO = ".section .debug_info { .b32 11\n.b8 2 }\n.section .debug_abbrev\n{\n.b8 1\n}\n"


@pytest.mark.parametrize(
    ("declaration", "reason"),
    [
        (".reg .b32 %r;", r"not understood \(line 4, \.reg \.b32 %r;\)"),
        ("\n\n.visible .entry k() { ret; }\nwhat;", r"not understood \(line 7, what;\)"),
        ("what .visible .entry k() { ret; }", "not understood"),
        ("what .global .u32 x;", "not understood"),
        (".global .u32 x<4>;", "not understood"),
        (".global .u32 x", "not understood"),
        (".visible .entry k() { ret;", "not understood"),
        (".section .debug_str { $L: .b8 0", "not understood"),
        (";", "not understood"),
        ('@@DWARF .section .debug_info, "", @progbits', "not understood"),
        ('.visible .entry k() { ret; }\n.pragma "nounroll";', r"not understood \(line 5, \.pragma"),
        (".global .u32 x; .global .u32 x;", "defines x 2 times"),
        (".visible .entry k() { ret; } .entry k() { ret; }", "defines k 2 times"),
        (".visible .func f(); .alias f, g;", "f is an alias of g, which is not declared"),
        (function("f", ".global .u32 calls; st.global.u32 [calls], %r1;"), "f has a variable of its own"),
        (".global .u32 ret;", "called like an instruction, ret"),
        (
            ".entry k() { .loc 1 2 3, function_name $L+4, inlined_at 1 1 1\n ret; } .section .debug_str { $L: .b8 0 }",
            "the middle of strings",
        ),
    ],
)
def test_what_cannot_be_split(declaration: str, reason: str) -> None:
    assert re.search(reason, outline(declaration).whole_reason or "nothing")


def test_full_debug_info_describes_all_functions_at_once() -> None:
    text = module(kernel("k", ""), DEBUG_INFO)
    assert outline_ptx(text.encode()).whole_reason is None
    assert "debug info" in (outline_ptx(text.encode(), debug_info=True).whole_reason or "")
    for_debugging = text.replace(".target sm_90", ".target sm_90, debug").encode()
    assert "debug info" in (outline_ptx(for_debugging).whole_reason or "")
    assert outline_ptx(module(kernel("k", "")).encode(), debug_info=True).whole_reason is None


def test_modules_that_can_be_parts_of_one_shard() -> None:
    mine, same = outline(kernel("k", "")), outline_ptx(b"// another\n" + module(kernel("l", "")).encode(), "other.ptx")
    assert (mine.environment, mine.dialect) == (same.environment, same.dialect)
    others = [
        outline_ptx(module(kernel("l", "")).replace(*change).encode())
        for change in (("sm_90", "sm_90a"), ("9.0", "8.8"), ("_size 64\n", '_size 64\n.pragma "nounroll";\n'))
    ]
    whole = [replace(o, whole_reason="a test") for o in (mine, same)]
    assert len({o.dialect for o in (mine, *others, *whole)}) == 6
    assert len({o.environment for o in (mine, *others, *whole)}) == 6


def test_nvcc_module(corpus_text: Callable[[str], str]) -> None:
    text = corpus_text("cub.ptx")
    found = outline_ptx(text.encode(), "cub.ptx")
    assert found.whole_reason is None
    kernels = [s for s in found.symbols.values() if s.kind is KERNEL]
    variables = [s for s in found.symbols.values() if s.kind is VARIABLE]
    assert (len(kernels), len(variables)) == (75, 29) == (text.count(".entry"), text.count("\n.global"))
    assert sum(k.cost for k in kernels) > 0.95 * len(text)
    assert not any(s.references for s in found.symbols.values())
    assert {v.sharing for v in variables} == {Sharing.ONCE}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00\xff",
        *("{" * 200_000, "}" * 200_000, "{}" * 30_000, "(" * 200_000, "/*" * 200_000, '"' * 200_001, ";" * 30_000),
        *(
            ".global .u8 x[] = " + "{}" * 100_000,
            ".global .u32 a" + ", a" * 20_000 + ";",
            ".global .u32 a[" + "9" * 10_000,
        ),
        *(".visible " * 50_000 + ".entry k() { ret; }", ".func f() " + '.pragma "a"; ' * 20_000),
        *(f'.file {"1" * 10_000} "x"', ".file 1 " + '"x', f".entry k() {{ .loc {'1' * 10_000} 2 3\nret; }}"),
        *(
            ".alias a, a;",
            ".func a(); .alias a, a;",
            ".section .debug_str {" + "a:" * 50_000 + "}",
            ".section",
            ".file",
        ),
    ],
    ids=lambda text: text[:20],
)
def test_hostile_text_neither_crashes_nor_hangs(text: str) -> None:
    for header in ("", HEADER):
        found = outline_ptx((header + text).encode())
        define = frozenset(name for name, s in found.symbols.items() if s.defined)
        render_ptx([PtxPart(found, define, frozenset(), {})])
