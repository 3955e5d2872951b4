"""What the outline of LLVM IR says of each construct, and that what it renders is valid."""

from __future__ import annotations

import re

import pytest

from parcubin.split.llvm_ir import LlvmOutline, outline_llvm_ir
from parcubin.split.outline import Binding, Sharing, SymbolKind
from tests.split.samples import HEADER, THREAD, assembly, call, function, kernel, load, store, use_shared
from tests.whole_program import printed


def outline(*parts: str) -> LlvmOutline:
    """The outline of a valid module."""
    return outline_llvm_ir(printed(HEADER + "".join(parts)))


def shard(module: LlvmOutline, *kernels: str) -> str:
    """The kernels with all that they reach, which is valid by itself."""
    reached: set[str] = set()
    pending = set(kernels)
    while pending:
        reached |= pending
        pending = {r for name in pending for r in module.symbols[name].references} - reached
    return printed(module.render(frozenset(n for n in reached if module.symbols[n].defined), frozenset(), {}))


@pytest.mark.parametrize(
    ("variable", "binding", "sharing"),
    [
        ("addrspace(1) global i32 0", Binding.STRONG, Sharing.ONCE),
        ("hidden addrspace(1) global i32 0", Binding.STRONG, Sharing.ONCE),
        ("weak addrspace(1) global i32 0", Binding.WEAK, Sharing.ONCE),
        ("weak_odr addrspace(1) constant i32 0", Binding.WEAK, Sharing.ONCE),
        ("common addrspace(1) global i32 0", Binding.WEAK, Sharing.ONCE),
        ("linkonce addrspace(1) global i32 0", Binding.WEAK, Sharing.ONCE),
        ("addrspace(1) global i32 0, comdat", Binding.WEAK, Sharing.ONCE),
        ("linkonce_odr addrspace(1) global i32 0, comdat", Binding.DISCARDABLE, Sharing.MERGE),
        ("linkonce_odr addrspace(1) constant i32 0", Binding.DISCARDABLE, Sharing.COPY),
        ("linkonce_odr addrspace(1) externally_initialized global i32 0", Binding.DISCARDABLE, Sharing.MERGE),
        ("internal addrspace(1) global i32 0", Binding.LOCAL, Sharing.ONCE_RENAMED),
        ("internal global i32 0", Binding.LOCAL, Sharing.ONCE_RENAMED),
        ("private unnamed_addr addrspace(1) constant i32 0", Binding.LOCAL, Sharing.COPY),
        ("private unnamed_addr constant i32 0", Binding.LOCAL, Sharing.COPY),
        ("internal addrspace(4) constant i32 0", Binding.LOCAL, Sharing.COPY_UNLESS_LINKED),
        ("internal addrspace(1) externally_initialized global i32 0", Binding.STRONG, Sharing.ONCE),
        ("internal addrspace(4) externally_initialized constant i32 0", Binding.STRONG, Sharing.ONCE),
        ("addrspace(3) global [4 x i32] undef", Binding.STRONG, Sharing.COPY),
        ("internal addrspace(3) global [4 x i32] poison", Binding.LOCAL, Sharing.COPY),
    ],
)
def test_variables(variable: str, binding: Binding, sharing: Sharing) -> None:
    symbol = outline("$v = comdat any\n" if "comdat" in variable else "", f"@v = {variable}\n").symbols["v"]
    assert (symbol.kind, symbol.defined) == (SymbolKind.VARIABLE, True)
    assert (symbol.binding, symbol.sharing) == (binding, sharing)
    assert symbol.in_constant_bank == ("addrspace(4)" in variable)


@pytest.mark.parametrize("linkage", ["external", "extern_weak", "available_externally"])
def test_variables_without_a_definition_are_declared_as_external(linkage: str) -> None:
    value = " 5" if linkage == "available_externally" else ""
    module = outline(f"@v = {linkage} addrspace(1) global i32{value}, align 8\n", load("k", "@v"))
    assert not module.symbols["v"].defined
    assert "@v = external addrspace(1) global i32, align 8\n" in shard(module, "k")


@pytest.mark.parametrize("list_", ["llvm.used", "llvm.compiler.used"])
@pytest.mark.parametrize("name", ["v", '"v (a, b) [c]"'])
def test_variables_in_used_lists_are_the_hosts(list_: str, name: str) -> None:
    element = f"ptr addrspacecast (ptr addrspace(1) @{name} to ptr)"
    module = outline(
        f"@{name} = internal addrspace(1) global [2 x i32] zeroinitializer\n",
        "@w = internal global i32 0\n",
        f'@{list_} = appending global [2 x ptr] [{element}, ptr @w], section "llvm.metadata"\n',
        load("k", f"@{name}"),
    )
    assert module.symbols[name].sharing is module.symbols["w"].sharing is Sharing.ONCE
    text = shard(module, "k")
    assert f"@{list_} = appending global [1 x ptr] [{element}]" in text
    assert "@w" not in text


@pytest.mark.parametrize(
    ("linkage", "binding"),
    [
        ("", Binding.STRONG),
        ("hidden", Binding.STRONG),
        ("weak", Binding.WEAK),
        ("weak_odr", Binding.WEAK),
        ("linkonce", Binding.WEAK),
        ("linkonce_odr", Binding.DISCARDABLE),
        ("available_externally", Binding.DISCARDABLE),
        ("internal", Binding.LOCAL),
        ("private", Binding.LOCAL),
    ],
)
def test_functions(linkage: str, binding: Binding) -> None:
    module = outline(function("f", linkage=linkage), call("k", "@f"))
    assert module.symbols["f"].kind is SymbolKind.FUNCTION
    assert module.symbols["f"].binding is binding
    assert not module.symbols["k"].addresses
    assert not module.symbols["k"].calls_indirectly
    assert "define" in shard(module, "k").split("@f(")[0]


def test_kernels_by_annotation() -> None:
    module = outline_llvm_ir(
        HEADER + "define void @k(ptr %p) {\n  ret void\n}\n\ndefine void @both(ptr %p) {\n  ret void\n}\n\n"
        "define void @none(ptr %p) {\n  ret void\n}\n\n"
        "!nvvm.annotations = !{!0, !1, !2, !3}\n"
        '!0 = !{ptr @k, !"kernel", i32 1, !"maxntidx", i32 64}\n'
        '!1 = !{ptr @both, !"maxntidx", i32 128, !"kernel", i32 1}\n'
        '!2 = !{ptr @none, !"kernel", i32 0}\n'
        '!3 = !{ptr @none, !"align", i32 8}\n'
    )
    kinds = {name: symbol.kind for name, symbol in module.symbols.items()}
    assert kinds == {"k": SymbolKind.KERNEL, "both": SymbolKind.KERNEL, "none": SymbolKind.FUNCTION}
    text = shard(module, "both")
    assert "define ptx_kernel void @both(ptr %p) #0" in text
    assert '"nvvm.maxntid"="128"' in text
    assert "@k" not in text


REFERENCES = {
    "a call": (function("f") + call("k", "@f"), {"f"}, set()),
    "an address": (function("f") + kernel("k", "  store ptr @f, ptr %p\n"), {"f"}, {"f"}),
    "an argument": (
        function("f") + "declare void @h(ptr)\n" + kernel("k", "  call void @h(ptr @f)\n"), {"f", "h"}, {"f"}
    ),
    "a constant expression": (
        "@v = global [4 x i32] zeroinitializer\n"
        + kernel("k", "  store ptr getelementptr (i8, ptr @v, i64 4), ptr %p\n"),
        {"v"},
        {"v"},
    ),
    "a block's address": (
        function("f", body="  br label %b\nb:\n  ret i32 1\n")
        + kernel("k", "  store ptr blockaddress(@f, %b), ptr %p\n"),
        {"f"},
        {"f"},
    ),
    "a prologue": (
        "@v = internal constant i32 1\n" + function("f", words="prologue ptr @v") + call("k", "@f"),
        {"f"},
        set(),
    ),
    "inline assembly": (
        "@v = addrspace(1) global i32 0\n" + assembly("k", "ld.global.u32 $0, [v];"), {"v"}, {"v"}
    ),
    "inline assembly with escapes": (
        '@"v$w" = addrspace(1) global i32 0\n' + assembly("k", "{\\0Ald.global.u32 $0,[v$$w+0];\\0A}"),
        {'"v$w"'},
        {'"v$w"'},
    ),
    "inline assembly that calls": (
        function("f") + assembly("k", "{\\0Acall.uni f;\\0A}"), {"f"}, {"f"}
    ),
    "metadata of a call": (
        function("f")
        + kernel("k", "  %q = load ptr, ptr %p\n  %y = call i32 %q(i32 5), !callees !0\n")
        + "!0 = !{ptr @f}\n",
        {"f"},
        {"f"},
    ),
    "nested metadata": (
        function("f")
        + kernel("k", "  %q = load ptr, ptr %p, !other !1\n")
        + "!0 = !{ptr @f}\n!1 = !{!2}\n!2 = !{!0, !2}\n",
        {"f"},
        {"f"},
    ),
    "an operand bundle": (
        function("f") + kernel("k", '  call void asm "", ""() [ "deopt"(ptr @f) ]\n'), {"f"}, {"f"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFERENCES)
def test_references(what: str) -> None:
    text, references, addresses = REFERENCES[what]
    module = outline(text)
    assert module.symbols["k"].references == references
    assert module.symbols["k"].addresses == addresses
    for name in references:
        assert f"@{name}" in shard(module, "k")


def test_references_of_variables_and_aliases() -> None:
    module = outline(
        "@table = internal constant [2 x ptr] [ptr @f, ptr @alias]\n",
        "@pointer = addrspace(1) global ptr getelementptr (i8, ptr @table, i64 8)\n",
        "@kept = internal addrspace(1) global i32 0, !associated !0\n",
        "@alias = hidden alias i32 (i32), ptr @f\n",
        function("f"),
        "!0 = !{ptr addrspace(1) @pointer}\n",
    )
    references = {name: set(symbol.references) for name, symbol in module.symbols.items()}
    assert references == {
        "table": {"f", "alias"}, "pointer": {"table"}, "kept": {"pointer"}, "alias": {"f"}, "f": set()
    }  # fmt: skip
    assert module.symbols["table"].addresses == {"f", "alias"}
    assert module.symbols["alias"].kind is SymbolKind.FUNCTION
    assert module.symbols["alias"].binding is Binding.STRONG


@pytest.mark.parametrize(
    ("body", "indirect"),
    [
        ("  %y = call i32 %q(i32 5)\n", True),
        ('  %y = call i32 %"a b"(i32 5)\n', True),
        ("  %y = call i32 inttoptr (i64 64 to ptr)(i32 5)\n", True),
        ("  %y = tail call noundef range(i32 0, 5) i32 %q(i32 noundef 5)\n", True),
        ('  %y = call i32 asm "{ call ($0), %rd1, (1), proto; }", "=r"()\n', True),
        ("  %y = call i32 @f(i32 5)\n", False),
        ("  %y = call i32 (i32, ...) @variadic(i32 5)\n", False),
        ('  %y = call i32 asm "mov.u32 $0, 5;", "=r"()\n', False),
        ("  %y = select i1 true, ptr %q, ptr %q\n", False),
    ],
)
def test_calls_through_pointers(body: str, indirect: bool) -> None:
    text = function("f") + "declare i32 @variadic(i32, ...)\n" + kernel("k", body, 'ptr %q, ptr %"a b"')
    assert outline(text).symbols["k"].calls_indirectly is indirect


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('module asm ".global .u32 v;"\n' + kernel("k"), "module-level assembly"),
        ("@i = ifunc i32 (i32), ptr @r\n" + call("k", "@i") + "define ptr @r() {\n  ret ptr null\n}\n", "@i"),
        ("@a = alias i32, ptr @v\n@v = global i32 0\n" + load("k", "@a", 0).replace("addrspace(0) ", ""), "alias"),
        (
            "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
            "[{ i32, ptr, ptr } { i32 1, ptr @c, ptr null }]\ndefine internal void @c() {\n  ret void\n}\n"
            + kernel("k"),
            "@llvm.global_ctors",
        ),
        ("@v = internal addrspace(1) global i32 0\n" + assembly("k", "ld.global.u32 $0, [v];"), "inline assembly"),
    ],
    ids=["module assembly", "ifunc", "alias of a variable", "constructors", "assembly that names a static variable"],
)
def test_what_is_compiled_whole(text: str, reason: str) -> None:
    module = outline(text)
    assert module.whole_reason
    assert reason in module.whole_reason
    assert printed(module.render(frozenset(), frozenset(), {})) == printed(HEADER + text)


def test_shards_hold_what_they_reach_and_no_more() -> None:
    module = outline(
        "%used = type { i32, %inner }\n%inner = type { [2 x i32] }\n%unused = type { i64 }\n%0 = type { i16 }\n"
        "%in_metadata = type { i8 }\n",
        "$f = comdat any\n$g = comdat any\n",
        '@llvm.global.annotations = appending global [1 x ptr] [ptr @f], section "llvm.metadata"\n',
        function("f", linkage="linkonce_odr", words="#0 comdat !m !4"),
        function("g", linkage="linkonce_odr", words="#1 comdat !m !5"),
        kernel(
            "k",
            "  %a = alloca %used\n  %b = getelementptr %used, ptr %a, i32 0, i32 1\n  %y = call i32 @f(i32 1), !m !6\n",
        ),
        kernel("other", "  %a = alloca %unused\n  %b = alloca %0\n  %y = call i32 @g(i32 1)\n"),
        "attributes #0 = { noinline }\nattributes #1 = { cold }\n",
        "!llvm.module.flags = !{!0}\n!opencl.ocl.version = !{!1}\n!about.symbols = !{!2, !3}\n",
        '!0 = !{i32 1, !"flag", i32 4}\n!1 = !{i32 2, i32 0}\n!2 = !{ptr @k}\n!3 = !{!8}\n!8 = !{ptr @other}\n',
        '!4 = !{!"of f"}\n!5 = !{!"of g"}\n!6 = !{!7, %in_metadata undef}\n!7 = distinct !{!7}\n',
    )
    expected = printed(
        HEADER
        + "%in_metadata = type { i8 }\n%inner = type { [2 x i32] }\n%used = type { i32, %inner }\n\n$f = comdat any\n\n"
        + function("f", linkage="linkonce_odr", words="#0 comdat !m !4")
        + kernel(
            "k",
            "  %a = alloca %used\n  %b = getelementptr %used, ptr %a, i32 0, i32 1\n  %y = call i32 @f(i32 1), !m !6\n",
        )
        + "attributes #0 = { noinline }\n"
        + "!llvm.module.flags = !{!0}\n!opencl.ocl.version = !{!1}\n!about.symbols = !{!2}\n"
        + '!0 = !{i32 1, !"flag", i32 4}\n!1 = !{i32 2, i32 0}\n!2 = !{ptr @k}\n'
        + '!4 = !{!"of f"}\n!6 = !{!7, %in_metadata undef}\n!7 = distinct !{!7}\n'
    )
    assert sorted(shard(module, "k").split("\n")) == sorted(expected.split("\n"))


def test_renamed_variables_are_visible_where_they_are_defined() -> None:
    module = outline(
        '@v = private unnamed_addr addrspace(1) global [2 x i8] c"@v", align 2\n',
        load("reader", "@v"),
        store("writer", "@v"),
    )
    defined = module.render(frozenset({"v"}), frozenset(), {"v": "shared"})
    assert '@shared = unnamed_addr addrspace(1) global [2 x i8] c"@v", align 2' in printed(defined)
    used = printed(module.render(frozenset({"reader"}), frozenset({"v"}), {"v": "shared"}))
    assert "@shared = external addrspace(1) global [2 x i8], align 2" in used
    assert "@v" not in used


@pytest.mark.parametrize(
    "type_",
    [
        "i32", "ptr", "ptr addrspace(3)", "[4 x [2 x ptr addrspace(1)]]", "{ i32, <4 x float>, [0 x i8] }",
        "<{ i8, ptr }>", '%"a, b { c"', "%S", "<2 x ptr addrspace(4)>",
    ],
)  # fmt: skip
def test_declarations_keep_type_and_alignment(type_: str) -> None:
    module = outline(
        '%"a, b { c" = type { i8 }\n%S = type { %"a, b { c", i32 }\n',
        f'@v = addrspace(1) global {type_} zeroinitializer, section "s, align 64", align 32\n',
        load("k", "@v"),
    )
    text = printed(module.render(frozenset({"k"}), frozenset({"v"}), {}))
    assert f"@v = external addrspace(1) global {type_}, align 32\n" in text


def test_constants_that_another_shard_defines_keep_their_value_for_folding() -> None:
    module = outline(
        "@v = addrspace(1) constant [2 x i32] [i32 5, i32 6], align 8\n",
        "@set = addrspace(4) externally_initialized constant i32 5\n",
        "@of_address = addrspace(1) constant ptr addrspacecast (ptr addrspace(1) @v to ptr)\n",
        load("k", "@v") + load("l", "@set", 4) + load("m", "@of_address"),
    )
    text = printed(module.render(frozenset({"k", "l", "m"}), frozenset({"v", "set", "of_address"}), {}))
    assert "@v = available_externally addrspace(1) constant [2 x i32] [i32 5, i32 6], align 8\n" in text
    assert "@set = external addrspace(4) externally_initialized constant i32\n" in text
    assert "@of_address = external addrspace(1) constant ptr\n" in text


def test_numbered_symbols_and_types() -> None:
    module = outline(
        "%0 = type { i32 }\n%1 = type { %0 }\n",
        "@0 = internal addrspace(1) global %1 zeroinitializer\n@1 = internal addrspace(1) global i32 1\n",
        "declare i32 @2(i32)\n\ndefine internal i32 @3(i32 %x) {\n  %y = call i32 @2(i32 %x)\n  ret i32 %y\n}\n\n",
        load("first", "@0") + load("second", "@1") + call("third", "@3"),
    )
    assert module.symbols["0"].binding is module.symbols["3"].binding is Binding.LOCAL
    for name in ("first", "second", "third"):
        assert f"@{name}(" in shard(module, name)


def test_debug_info_follows_its_code_and_pulls_no_symbols_in(debug_info: str) -> None:
    module = outline_llvm_ir(printed(debug_info))
    assert module.symbols["first"].references == {"helper", "counter"}
    assert module.symbols["helper"].references == {"counter"}
    text = shard(module, "first")
    assert re.findall(r"^@(\w+) = ", text, re.M) == ["counter"]
    assert re.findall(r"^define .*@(\w+)\(", text, re.M) == ["helper", "first"]
    assert text.count("value: ptr addrspace(1) poison") == 1  # of @unused
    assert "value: ptr @helper" in text
    assert text.count("distinct !DICompileUnit(") == 1
    assert "!llvm.dbg.cu = !{" in text


def test_shared_memory_and_intrinsics_are_declared_where_they_are_used() -> None:
    module = outline(
        "@s = addrspace(3) global [64 x i32] undef, align 16\n", THREAD, use_shared("k", "@s"), kernel("l")
    )
    assert "sreg.tid.x" in shard(module, "k")
    assert "sreg.tid.x" not in shard(module, "l")
