"""The PTX scan, against the symbol tables that ptxas makes of the same text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parcubin.errors import PtxSyntaxError
from parcubin.inspect.cubin import read_cubin
from parcubin.inspect.ptx import PtxFunction, PtxSummary, PtxVariable, drop_debug_target, scan_ptx
from tests.inspect.cuda_tools import Tools

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
KERNELS = (Path(__file__).parent.parent / "data" / "kernels.ptx").read_text()

# One of everything; what is in comments and strings is bait.
EVERYTHING = r"""
// .version 1.0 .target sm_10 .entry bait() {
/* .visible .entry bait2() { } // */
.version 8.8
.target sm_90a, texmode_independent // , debug
.address_size 64

.visible .global .align 4 .u32 one = 5, two[3] = {1, 2, 3}, three;
.global .v4 .f32 vector[0x10];
.weak .global .align 8 .b8 weak[2][010];
.common .global .b64 common;
.extern .global .align 4 .b8 outside[];
.extern .global .align 4 .u32 unused;
.extern .shared .align 16 .b8 dynamic[];
.extern .shared .align 16 .b8 shared_outside[64];
.visible .shared .f16x2 pair;
.global .align 1 .b8 text[] = {65, 66, 0};
.global .align 1 .b8 table[][2] = {{1, 2}, {3, 4}, {5}};
.visible .global .attribute(.managed) .s32 managed;
.global .texref image;
.visible .func taken (.param .b32 x) { ret; }
.visible .func taken_too() { ret; }
.visible .func listed() { ret; }
.global .align 8 .u64 pointers[2] = {taken, generic(one)};
.visible .func aliased();
.alias aliased, listed;
.extern .func (.param .b32 r) far (.param .b32 a, .param .align 8 .b8 b[16]);
.extern .func never() .noreturn;
.visible .entry later(.param .u64 p);
.func .attribute(.unified(1, 2)) (.param .b32 r) direct(.param .b32 x) { ret; }
.file 1 "a;.visible .entry bait3() {.py"
.pragma "nounroll";

.visible .entry later(.param .u64 p)
.maxntid 128, 1, 1
{
	.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b64 plain;
	.shared .align 4 .b8 inner[32];
	{ .param .b32 a; .param .b32 b; call.uni (b), direct, (a); }
	{ .param .b32 a; .param .align 8 .b8 c[16]; .param .b32 b;
	call (b),
	far, (a, c); }
	mov.u64 %rd1, taken_too;
	call aliased, ();
	mov.v4.u32 {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4};
	ld.global.u32 %r1, [outside+4];
	st.shared.u32 [shared_outside], %r1; st.shared.u32 [dynamic], %r1; st.shared.u32 [pair], %r1;
	ret;
}
.weak .entry weak_kernel() { ret; }
.entry hidden() { .loc 1 2 3
 ret; }
.section .debug_info {
.b64 never
.b8 3 }
"""


def names(functions: tuple[PtxFunction, ...]) -> set[str]:
    return {function.name for function in functions}


def test_everything() -> None:
    summary = scan_ptx(EVERYTHING)
    assert summary.version == 88
    assert summary.targets == ("sm_90a", "texmode_independent")
    assert summary.kernels == (
        PtxFunction("later", "visible"),
        PtxFunction("weak_kernel", "weak"),
        PtxFunction("hidden", "local"),
    )
    assert summary.functions == (
        PtxFunction("taken", "visible"),
        PtxFunction("taken_too", "visible"),
        PtxFunction("listed", "visible"),
        PtxFunction("aliased", "visible"),
        PtxFunction("direct", "local"),
    )
    assert summary.aliases == ("aliased",)
    assert summary.declared == ("far", "never")
    assert summary.externs == ("far", "outside", "shared_outside")
    assert summary.address_taken == ("taken", "taken_too")
    assert not summary.has_const
    assert not summary.indirect_calls
    assert summary.variables == (
        PtxVariable("one", "global", "visible", 4),
        PtxVariable("two", "global", "visible", 12),
        PtxVariable("three", "global", "visible", 4),
        PtxVariable("vector", "global", "local", 256),
        PtxVariable("weak", "global", "weak", 16),
        PtxVariable("common", "global", "common", 8),
        PtxVariable("outside", "global", "extern", None),
        PtxVariable("unused", "global", "extern", 4),
        PtxVariable("dynamic", "shared", "extern", None),
        PtxVariable("shared_outside", "shared", "extern", 64),
        PtxVariable("pair", "shared", "visible", 4),
        PtxVariable("text", "global", "local", 3),
        PtxVariable("table", "global", "local", 6),
        PtxVariable("managed", "global", "visible", 4),
        PtxVariable("image", "global", "local", None),
        PtxVariable("pointers", "global", "local", 16),
    )


def assert_as_ptxas_sees_it(summary: PtxSummary, module: bytes) -> None:
    """Compares with the symbols of `ptxas -c`. Local variables that nothing uses may be missing there."""
    info = read_cubin(module)
    assert names(summary.kernels) == info.kernels.keys()
    bindings = {"visible": "global", "weak": "weak", "common": "common", "local": "local"}
    symbols = {symbol.name: symbol for symbol in info.defined}
    for function in summary.kernels + tuple(f for f in summary.functions if f.linkage != "local"):
        assert symbols[function.name].binding == bindings[function.linkage]
    assert names(summary.functions) >= {symbol.name for symbol in info.defined if symbol.kind == "function"}

    spaces = {"global": "global", "const": "constant", "shared": "shared"}
    variables = {variable.name: variable for variable in summary.variables}
    for symbol in symbols.values():
        if symbol.kind in spaces.values() and not symbol.name.startswith("$__"):  # those are a function's own
            variable = variables[symbol.name]
            assert (symbol.kind, symbol.binding) == (spaces[variable.space], bindings[variable.linkage])
            assert variable.size == symbol.size
    for variable in summary.variables:
        if variable.linkage not in ("local", "extern"):
            assert variable.name in symbols
    undefined = {symbol.name for symbol in info.undefined if symbol.kind not in ("other", "texture")}
    extern_variables = {v.name for v in summary.variables if v.linkage == "extern"}
    dynamic = {v.name for v in summary.variables if (v.space, v.linkage, v.size) == ("shared", "extern", None)}
    assert undefined - extern_variables == set(summary.externs) - extern_variables
    assert undefined & extern_variables >= set(summary.externs) & extern_variables
    assert not dynamic & set(summary.externs)


@pytest.mark.parametrize("text", [EVERYTHING.replace("texmode_independent", "texmode_unified"), KERNELS])
def test_symbols_as_ptxas_sees_them(tools: Tools, text: str) -> None:
    text = text.replace("SM", "sm_90a").replace(" .attribute(.unified(1, 2))", "")  # unified addresses need a system
    assert_as_ptxas_sees_it(scan_ptx(text), tools.assemble(text, "sm_90a", "-c"))


def test_xla_modules_as_ptxas_sees_them(tools: Tools, xla_modules: Path) -> None:
    paths = sorted(xla_modules.glob("*.ptx"))
    summaries = [scan_ptx(path.read_text()) for path in paths]
    assert len(paths) == 75
    assert all(len(summary.kernels) == 1 and summary.targets == ("sm_90a",) for summary in summaries)
    small = [(path, summary) for path, summary in zip(paths, summaries, strict=True) if path.stat().st_size < 20_000]
    assert len(small) > 20
    for path, summary in small[:20]:
        assert_as_ptxas_sees_it(summary, tools.assemble(path.read_text(), "sm_90a", "-c"))


def test_nvcc_module(corpus_text: Callable[[str], str]) -> None:
    text = corpus_text("cub.ptx")
    summary = scan_ptx(text)
    assert (summary.version, summary.targets) == (90, ("sm_80",))
    assert len(summary.kernels) == 75
    assert text.count(".entry") == 75
    assert {variable.linkage for variable in summary.variables} == {"local"}
    assert {variable.size for variable in summary.variables} == {1}  # empty function objects
    assert summary.functions == ()
    assert summary.declared == summary.externs == ()
    assert not summary.has_const


def lower(ir: str, processor: str = "sm_90a") -> str:
    """LLVM's own PTX of a module."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple("nvptx64-nvidia-cuda")
    module = binding.parse_assembly(f'target triple = "nvptx64-nvidia-cuda"\n{ir}')
    return str(target.create_target_machine(cpu=processor, features="+ptx90", opt=0).emit_assembly(module))


LLVM_IR = """
@table = addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@counter = addrspace(1) global i32 0
@elsewhere = external addrspace(1) global [8 x i32]
@dynamic = external addrspace(3) global [0 x i8], align 16
@private = internal addrspace(1) global i64 0
declare i32 @vprintf(ptr, ptr)
define internal i32 @callee(i32 %x) noinline { ret i32 %x }
define i32 @pointed(i32 %x) { ret i32 %x }
define ptx_kernel void @k(i32 %x) {
  %a = call i32 @callee(i32 %x)
  %b = call i32 @vprintf(ptr null, ptr null)
  %c = load i32, ptr addrspace(1) @elsewhere
  store i32 %c, ptr addrspace(1) @counter
  store i32 %c, ptr addrspace(3) @dynamic
  store i64 ptrtoint (ptr @pointed to i64), ptr addrspace(1) @private
  ret void
}
"""


def test_llvm_module(tools: Tools) -> None:
    text = lower(LLVM_IR)
    summary = scan_ptx(text)
    assert names(summary.kernels) == {"k"}
    assert names(summary.functions) == {"callee", "pointed"}
    assert summary.externs == ("elsewhere", "vprintf")
    assert summary.address_taken == ("pointed",)
    assert summary.has_const
    assert not summary.indirect_calls
    assert_as_ptxas_sees_it(summary, tools.assemble(text, "sm_90a", "-c"))


def test_llvm_indirect_call() -> None:
    summary = scan_ptx(lower("define ptx_kernel void @k(ptr %f) { call void %f() ret void }"))
    assert summary.indirect_calls
    assert summary.address_taken == ()


@pytest.mark.parametrize(
    ("body", "indirect", "taken"),
    [
        ("call f, ();", False, ()),
        ("call.uni f, ();", False, ()),
        ("@%p call f;", False, ()),
        ("call\nf\n,();", False, ()),
        ("mov.u64 %rd1, f; call f, ();", False, ("f",)),
        ("mov.u64 %rd1, f; p: .callprototype _ (); call %rd1, (), p;", True, ("f",)),
        ("p: .callprototype _ (); call(r), fp, (), p;", True, ()),
        ("call (r), fp, ();", True, ()),
        ("t: .calltargets f; call %rd1, (), t;", True, ("f",)),
        ("cvta.global.u64 %rd1, f;", False, ("f",)),
        ("// mov.u64 %rd1, f;\n", False, ()),
        ("mov.u64 %f, %rd2.f; // .callprototype\n", False, ()),
    ],
)
def test_calls_and_addresses(body: str, indirect: bool, taken: tuple[str, ...]) -> None:
    summary = scan_ptx(f"{HEADER}.visible .func f() {{ ret; }} .visible .entry k() {{ {body} ret; }}")
    assert summary.indirect_calls is indirect
    assert summary.address_taken == taken


@pytest.mark.parametrize(
    ("text", "has_const"),
    [
        (".const .u32 c = 3;", True),
        (".extern .const .align 4 .b8 c[];", True),
        (".visible.const.u32 c;", True),
        (".entry k() { .const .u32 c = 3; ret; }", True),
        (".entry k() { ret;.const.u32 c; }", True),
        (".entry k() { ld.const.u32 %r1, [%rd1]; ret; }", False),
        (".entry k(.param .u64 .ptr .const .align 4 p) { ret; }", False),
        ("// .const .u32 c = 3;", False),
    ],
)
def test_constant_data(text: str, has_const: bool) -> None:
    assert scan_ptx(HEADER + text).has_const is has_const


def test_a_definition_hides_its_declarations() -> None:
    text = """
.extern .global .u32 v;
.visible .func f();
.visible .entry k();
.visible .entry k() { ld.global.u32 %r1, [v]; call f; ret; }
.visible .func f() { ret; }
.visible .global .u32 v = 3;
.extern .global .u32 v;
"""
    summary = scan_ptx(HEADER + text)
    assert summary.variables == (PtxVariable("v", "global", "visible", 4),)
    assert summary.declared == ()
    assert summary.externs == ()


def test_names_of_any_kind() -> None:
    """PTX names may begin with a percent sign, as registers usually do."""
    summary = scan_ptx(HEADER + ".visible .func %f() { ret; } .visible .entry $k() { mov.u64 %rd1, %f; ret; }")
    assert summary.address_taken == ("%f",)
    assert names(summary.kernels) == {"$k"}


def test_kernel_launched_by_a_kernel() -> None:
    summary = scan_ptx(
        HEADER + ".extern .entry child(.param .u64 p); .visible .entry k() { mov.u64 %rd1, child; ret; }"
    )
    assert summary.declared == summary.externs == summary.address_taken == ("child",)


@pytest.mark.parametrize("text", ["", "define void @f() {}", "// .version 9.0\n", '".version 9.0"', "\x00\xff" * 50])
def test_what_is_no_ptx(text: str) -> None:
    with pytest.raises(PtxSyntaxError, match="mine is not PTX"):
        scan_ptx(text, "mine")


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        "}" * 1_000_000,
        "{" * 500_000 + "}" * 500_000,
        "{}" * 500_000,
        ".global .u8 x[] = " + "{}" * 500_000,
        ".func (" * 150_000,
        ".func .attribute (" * 60_000,
        ".func f .attribute((" * 60_000,
        ".alias " * 150_000,
        ".target a," * 100_000,
        ".global .u32 a" + "[1]" * 300_000,
        ".global .u32 a[" + "9" * 1_000_000 + "]",
        ".global .u32 a" + ", a" * 300_000,
        ".global " + ".align 4 " * 150_000,
        ".entry k() { " + "call (" * 200_000,
        ".entry k() { " + "call " * 200_000,
        "/*" * 500_000,
        "/" * 1_000_000,
        '"' * 1_000_001,
        " " * 1_000_000,
        ";" * 1_000_000,
    ],
    ids=lambda text: text[:20],
)
def test_hostile_text_neither_crashes_nor_hangs(text: str) -> None:
    scan_ptx(HEADER + text)
    drop_debug_target(text)
    drop_debug_target(HEADER + text)
    drop_debug_target(".version 9.0 .target sm_90, " + text)


def test_llvm_debug_target() -> None:
    ir = """
define ptx_kernel void @k() !dbg !4 { ret void, !dbg !7 }
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, isOptimized: true, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.py", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 2}
!4 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{null}
!7 = !DILocation(line: 2, scope: !4)
"""
    text = lower(ir)
    assert scan_ptx(text).targets == ("sm_90a", "debug")
    assert drop_debug_target(text) == text.replace(".target sm_90a, debug", ".target sm_90a", 1) != text


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (".version 9.0\n.target sm_90a, debug\n", ".version 9.0\n.target sm_90a\n"),
        (".version 9.0 .target sm_90,debug,texmode_unified\n", ".version 9.0 .target sm_90,texmode_unified\n"),
        ("// x, debug\n.version 9.0 /* , debug */\n.target sm_90 , debug .address_size 64", None),
        (".version 9.0\n.target sm_90 // debug\n, debug\n", ".version 9.0\n.target sm_90\n\n"),
        (".version 9.0\n.target sm_90\n.target debug\n", ".version 9.0\n.target sm_90\n\n"),
        (".version 9.0\n.target sm_90, debugger\n", ".version 9.0\n.target sm_90, debugger\n"),
        (
            ".version 9.0\n.target sm_90\n// .target sm_90, debug\n",
            ".version 9.0\n.target sm_90\n// .target sm_90, debug\n",
        ),
        (
            ".version 9.0\n.target /* , debug */ sm_90 /* , debug */ , texmode_unified\n",
            ".version 9.0\n.target /* , debug */ sm_90 /* , debug */ , texmode_unified\n",
        ),
        ("no PTX .target sm_90, debug", "no PTX .target sm_90, debug"),
        ("", ""),
    ],
)
def test_drop_debug_target(header: str, expected: str | None) -> None:
    if expected is None:
        expected = header.replace("sm_90 , debug", "sm_90")
    rest = '.file 1 ".target sm_90, debug"\n.entry k() { ret; } // .target sm_90, debug\n'
    assert drop_debug_target(header + rest) == expected + rest
