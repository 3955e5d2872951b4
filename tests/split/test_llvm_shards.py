"""LLVM IR split with one kernel a shard, bundled and linked, compared with the whole program: kernels, variables,
resources and code, as cuobjdump sees them."""

from __future__ import annotations

from collections import Counter

import pytest

import parcubin
from parcubin.errors import InputError, UnresolvedSymbolError
from parcubin.inspect.cubin import read_cubin
from parcubin.model import Emit
from parcubin.split.llvm_ir import outline_llvm_ir
from tests.split.comparison import Comparer
from tests.split.samples import HEADER, THREAD, assembly, call, function, kernel, load, lookup, store, use_shared
from tests.whole_program import printed, whole_program_ptx


@pytest.fixture(scope="module")
def compiler(compiler_of_each_llvm: parcubin.Compiler) -> parcubin.Compiler:
    """Everything here holds whichever LLVM lowers."""
    return compiler_of_each_llvm


OUTPUTS: tuple[Emit, ...] = ("bundle", "cubin")
HOST_VARIABLES = {
    "visible": "addrspace(1) global i32 1",
    "hidden": "hidden addrspace(1) global i32 2",
    "weak": "weak addrspace(1) global i32 3",
    "weak_odr": "weak_odr addrspace(1) global i32 4",
    "common": "common addrspace(1) global i32 0",
    "linkonce": "linkonce addrspace(1) global i32 4",
    "in_section": 'addrspace(1) global i32 5, section "somewhere", align 16',
    "generic": "global i32 6",
    "constant": "addrspace(4) constant [2 x i32] [i32 7, i32 8], align 4",
    "set_by_host": "addrspace(4) externally_initialized constant [2 x i32] zeroinitializer, align 4",
    "used": "internal addrspace(1) global i32 9",
    "compiler_used": "internal addrspace(4) constant i32 10",
    "static": "internal addrspace(1) externally_initialized global i32 11",
    '"dol$lar"': "addrspace(1) global i32 13",
    '"static$dollar"': "internal addrspace(1) externally_initialized global i32 14",
}
INTERNAL_VARIABLES = {
    "static_counter": "internal addrspace(1) global i32 15",
    '"odd name"': "internal addrspace(1) global i32 16",
    "inline_counter": "linkonce_odr addrspace(1) global i32 17",
    # As in a whole program, it is there while something refers to it.
    "inline": "linkonce_odr addrspace(1) externally_initialized global i32 12",
}
USED = (
    "@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @used to ptr)], "
    'section "llvm.metadata"\n'
    "@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(4) @compiler_used to ptr)], "
    'section "llvm.metadata"\n\n'
)


def space_of(variable: str) -> int:
    return 1 if "addrspace(1)" in variable else 4 if "addrspace(4)" in variable else 0


def fold(name: str, constant: str) -> str:
    """A kernel that stores the value of a constant, which LLVM knows if it knows the definition."""
    return load(name, constant).replace("volatile ", "")


def variables(found: dict[str, str]) -> str:
    return "".join(f"@{name} = {definition}\n" for name, definition in found.items())


@pytest.mark.parametrize("output", OUTPUTS)
def test_variables_that_the_host_may_name_are_defined_once_also_when_unused(compare: Comparer, output: Emit) -> None:
    text = HEADER + variables(HOST_VARIABLES | INTERNAL_VARIABLES) + USED + kernel("k")
    names = {name.strip('"') for name in HOST_VARIABLES}
    program = compare.compile(text, output=output)
    assert compare.read(program).copies == Counter(names)
    assert program.variables.keys() == {name for name in names if "$" not in name}


def test_shared_variables(compare: Comparer) -> None:
    """Each is read by one kernel and written by another, so that a link shares it between shards."""
    found = HOST_VARIABLES | INTERNAL_VARIABLES
    users = "".join(
        load(f"load{number}", f"@{name}", space_of(definition))
        + store(f"store{number}", f"@{name}", space_of(definition))
        for number, (name, definition) in enumerate(found.items())
        if "addrspace(4)" not in definition
    )
    constants = "".join(
        lookup(f"lookup{number}_{name}", f"@{name}", 4)
        for name, definition in HOST_VARIABLES.items()
        if "addrspace(4)" in definition
        for number in range(2)
    )
    result = compare(HEADER + variables(found) + USED + users + constants + THREAD, same_code=False)
    whole = {name.strip('"') for name in HOST_VARIABLES} | {"static_counter", "odd_$_name", "inline_counter", "inline"}
    assert result.whole.variables.keys() == whole
    assert result.bundle.copies == Counter(whole)
    internal = [name for name in result.linked.copies if "$parcubin_" in name]
    assert len(internal) == 2
    assert result.linked.copies == Counter((whole | set(internal)) - {"static_counter", "odd_$_name"})
    assert result.programs[1].report.shards > len(found)


FUNCTIONS = {
    "functions of every linkage": "".join(
        function(f"f_{linkage}", number, linkage=linkage) + call(f"k_{linkage}", f"@f_{linkage}")
        + call(f"l_{linkage}", f"@f_{linkage}")
        for number, linkage in enumerate(
            ("", "private", "internal", "linkonce", "linkonce_odr", "weak", "weak_odr", "available_externally")
        )
    ),
    "odd names": "".join(
        f'%"{name}" = type {{ i32, [{number} x i8] }}\n'
        + function(
            f'"f {name}"',
            body=f'  %a = alloca %"{name}", align 4\n  %g = getelementptr i8, ptr %a, i32 %x\n'
            f"  store volatile i8 {number}, ptr %g, align 1\n  %y = load volatile i32, ptr %a, align 4\n  ret i32 %y\n",
            words="",
        )
        + call(f"k{number}", f'@"f {name}"')
        for number, name in enumerate(("a b", "f(x)", "}", "q\\22", "i32", "uni\\C3\\AF", "nl\\0A}\\0A", "a;b", "$"), 3)
    ),
    "recursion": function(
        "f",
        body="  %c = icmp sgt i32 %x, 0\n  br i1 %c, label %more, label %end\nmore:\n  %m = sub i32 %x, 1\n"
        "  %r = call i32 @g(i32 %m)\n  %s = mul i32 %r, %x\n  %t = xor i32 %s, %m\n  ret i32 %t\nend:\n  ret i32 1\n",
    )
    + function("g", body="  %r = call i32 @f(i32 %x)\n  %s = mul i32 %r, %r\n  ret i32 %s\n")
    + call("a", "@f") + call("b", "@g"),
    "aliases": "@a = internal alias i32 (i32), ptr @f\n@b = alias i32 (i32), ptr @f\n"
    + function("f") + call("k", "@a") + call("l", "@b") + call("m", "@f"),
    "numbers for names": "%0 = type { i32, %1 }\n%1 = type { [3 x i32] }\n"
    "define internal i32 @0(i32 %x) noinline {\n  %y = mul i32 %x, 5\n  ret i32 %y\n}\n\n"
    "define internal i32 @1(i32 %x) noinline {\n  %y = mul i32 %x, 7\n  ret i32 %y\n}\n\n"
    + call("a", "@1") + call("b", "@0")
    + kernel("c", "  %x = alloca %0, align 4\n  store volatile i32 4, ptr %x, align 4\n"),
    "comdats and attribute groups": "$f = comdat any\n$g = comdat any\n"
    + function("f", linkage="linkonce_odr", words="#0 comdat")
    + function("g", 5, linkage="linkonce_odr", words="#1 comdat($f)")
    + call("a", "@f") + call("b", "@g") + "attributes #0 = { noinline }\nattributes #1 = { noinline cold }\n",
    "libdevice": "declare float @__nv_sinf(float)\ndeclare double @__nv_pow(double, double)\n"
    + "".join(
        kernel(f"s{n}", "  %x = load float, ptr %p\n  %y = call float @__nv_sinf(float %x)\n  store float %y, ptr %p\n")
        + kernel(
            f"d{n}",
            "  %x = load double, ptr %p\n  %y = call double @__nv_pow(double %x, double 3.0)\n"
            "  store double %y, ptr %p\n",
        )
        for n in range(2)
    ),
    "launch bounds": kernel("a", "  store i32 1, ptr %p\n").replace("{", "#0 {") + kernel("b").replace("{", "#1 {")
    + 'attributes #0 = { "nvvm.maxntid"="128,2" "nvvm.minctasm"="2" }\n'
    + 'attributes #1 = { "nvvm.reqntid"="32" "nvvm.cluster_dim"="2,1,1" "nvvm.maxnreg"="40" }\n',
    "parameters by value": "%S = type { i32, [7 x i64] }\n"
    + "".join(
        kernel(
            f"k{number}",
            "  %g = getelementptr %S, ptr %s, i32 0, i32 1, i32 3\n  %v = load i64, ptr %g\n  store i64 %v, ptr %p\n",
            f"ptr byval(%S) align 8 {word}%s, ptr %p",
        )
        for number, word in enumerate(("", '"nvvm.grid_constant" '))
    ),
    "shared memory": "@s = addrspace(3) global [64 x i32] undef, align 16\n"
    "@t = internal addrspace(3) global [64 x i32] poison, align 4\n"
    "@u = linkonce_odr addrspace(3) global [32 x i32] undef, comdat, align 4\n$u = comdat any\n"
    "@d = external addrspace(3) global [0 x i8], align 16\n"
    + THREAD + "".join(use_shared(f"k{number}_{array}", f"@{array}") for array in "stud" for number in range(2)),
    "intrinsics with metadata operands": "declare void @llvm.experimental.noalias.scope.decl(metadata)\n"
    + "".join(
        kernel(
            f"k{number}",
            "  call void @llvm.experimental.noalias.scope.decl(metadata !3)\n"
            "  %x = load float, ptr %p, align 4, !alias.scope !3\n"
            f"  %n = load i32, ptr %q, align 4, !noalias !3, !range !{number}\n"
            "  %z = sitofp i32 %n to float\n  %y = fadd float %x, %z, !fpmath !6\n  store float %y, ptr %p, align 4\n",
            "ptr %p, ptr %q",
        )
        for number in range(2)
    )
    + "!0 = !{i32 0, i32 5}\n!1 = !{i32 7, i32 9}\n!3 = !{!4}\n!4 = distinct !{!4, !5}\n!5 = distinct !{!5}\n"
    "!6 = !{float 2.5e+00}\n",
    "calls of the driver": '@format = private unnamed_addr constant [4 x i8] c"%d\\0A\\00", align 1\n'
    "declare i32 @vprintf(ptr, ptr)\ndeclare void @__assertfail(ptr, ptr, i32, ptr, i64)\n"
    "declare ptr @malloc(i64)\ndeclare void @free(ptr)\n"
    + kernel(
        "print",
        "  %b = alloca i32, align 8\n  store i32 5, ptr %b, align 4\n  %r = call i32 @vprintf(ptr @format, ptr %b)\n",
    )
    + kernel("fail", "  call void @__assertfail(ptr @format, ptr @format, i32 3, ptr @format, i64 1)\n")
    + kernel(
        "allocate",
        "  %m = call ptr @malloc(i64 8)\n  store volatile i32 5, ptr %m, align 4\n  call void @free(ptr %m)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FUNCTIONS)
def test_each_kernel_is_compiled_as_in_the_whole_program(compare: Comparer, what: str) -> None:
    result = compare(
        HEADER + FUNCTIONS[what], same_code=what != "calls of the driver"
    )  # which has addresses of strings
    assert len(result.programs[0].assemblies) == len(result.whole.usage)
    assert result.programs[1].kernels == result.programs[0].kernels


def test_kernels_of_every_linkage_are_kept(compare: Comparer) -> None:
    linkages = ("weak", "weak_odr", "linkonce_odr", "linkonce", "internal", "private", "hidden", "protected")
    text = HEADER + "".join(kernel(f"{linkage}_kernel", words=f"{linkage} ") for linkage in linkages)
    for output in OUTPUTS:
        program = compare.compile(text, output=output)
        assert program.kernels.keys() == {f"{linkage}_kernel" for linkage in linkages}


def test_kernels_by_annotation_with_launch_bounds(compare: Comparer) -> None:
    text = (
        HEADER + "define void @a() {\n  ret void\n}\n\ndefine void @b() {\n  ret void\n}\n\n"
        + '!nvvm.annotations = !{!0, !1, !2}\n!0 = !{ptr @a, !"kernel", i32 1, !"maxntidx", i32 64}\n'
        + '!1 = !{ptr @b, !"kernel", i32 1}\n!2 = !{ptr @b, !"maxntidx", i32 1024, !"minctasm", i32 2}\n'
    )  # fmt: skip
    ptx = [p.text for p in compare.compile(text, output="ptx").ptx]
    assert len(ptx) == 2
    assert [".entry a(" in p for p in ptx] == [".maxntid 64" in p for p in ptx] == [True, False]
    assert [".maxntid 1024" in p for p in ptx] == [".minnctapersm 2" in p for p in ptx] == [False, True]


def test_constant_expressions_that_reach_variables(compare: Comparer) -> None:
    generic = "addrspacecast (ptr addrspace(1) @v to ptr)"
    text = (
        HEADER + "@t = internal addrspace(1) constant [4 x i32] [i32 5, i32 6, i32 7, i32 8], align 4\n"
        "@v = addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4\n"
        f"@second = internal addrspace(1) constant ptr getelementptr (i8, ptr {generic}, i64 4), align 8\n"
        "@place = addrspace(1) global i64 ptrtoint (ptr addrspace(1) getelementptr (i32, ptr addrspace(1) @v, i64 3) "
        "to i64), align 8\n\n"
        + "".join(
            kernel(
                f"k{number}_{table}",
                "  %a = load volatile i32, ptr addrspace(1) "
                f"getelementptr (i32, ptr addrspace(1) @{table}, i64 {number})\n"
                "  %q = load volatile ptr, ptr addrspace(1) @second, align 8\n  %b = load volatile i32, ptr %q\n"
                f"  %d = load volatile i32, ptr getelementptr (i8, ptr {generic}, i64 8)\n"
                "  %e = add i32 %a, %b\n  %s = add i32 %e, %d\n  store i32 %s, ptr %p\n",
            )
            for table in "tv"
            for number in range(2)
        )
    )  # fmt: skip
    result = compare(text)
    assert result.programs[1].report.shards == 5
    assert result.whole.variables.keys() == {"t", "v", "second", "place"}
    assert result.bundle.copies["v"] == result.linked.copies["v"] == result.linked.copies["place"] == 1


def test_pointers_to_functions(compare: Comparer) -> None:
    text = (
        HEADER + "@table = internal addrspace(1) constant [2 x ptr] [ptr @f, ptr @g]\n"
        + function("f") + function("g", 7)
        + kernel(
            "take",
            "  %i = load i64, ptr %p, align 8\n  %g = getelementptr ptr, ptr addrspace(1) @table, i64 %i\n"
            "  %v = load ptr, ptr addrspace(1) %g, align 8\n  store ptr %v, ptr %p, align 8\n",
        )
        + kernel("use", "  %q = load ptr, ptr %p\n  %y = call i32 %q(i32 5)\n  store i32 %y, ptr %p\n")
        + call("direct", "@h") + function("h", 9)
    )  # fmt: skip
    result = compare(text)
    assert [len(compare.tools.resource_usage(a.cubin)) for a in result.programs[0].assemblies] == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        assembly("a", "ld.global.u32 $0, [v];") + assembly("b", "{\\0Ald.global.u32 $0,[v];\\0A}"),
        assembly("a", "ld.global.u32 $0, [v];").replace("v]", "w$$x]") + assembly("b", "ld.global.u32 $0, [w$$x];"),
        assembly("a", "ld.global.u32 $0, [static];") + load("b", "@static") + store("c", "@static"),
    ],
    ids=["in two shards", "with a dollar", "static"],
)
def test_inline_assembly_that_names_variables(compare: Comparer, text: str) -> None:
    names = (
        '@v = addrspace(1) global i32 1\n@"w$x" = global i32 2\n@static = internal addrspace(1) global i32 3\n'
        if "static" in text
        else '@v = addrspace(1) global i32 1\n@"w$x" = global i32 2\n'
    )
    compare(HEADER + names + text)


def test_inline_assembly_that_calls(compare: Comparer) -> None:
    used = '@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"\n'
    text = assembly(
        "a", "{ .param .b32 x; .param .b32 r; st.param.b32 [x], 5; call.uni (r), f, (x); ld.param.b32 $0, [r]; }"
    )
    compare(HEADER + used + function("f") + text + assembly("b", "mov.u32 $0, 7;"))


def test_modules_that_cannot_be_split_are_compiled_whole(compare: Comparer) -> None:
    text = (
        HEADER + 'module asm ".global .align 4 .u32 v = 7;"\n' + assembly("a", "ld.global.u32 $0, [v];") + kernel("b")
    )
    result = compare(text, HEADER + kernel("c"))
    for program, shards in zip(result.programs, (2, 2), strict=True):
        assert program.report.shards == shards
        assert any("is compiled whole: it has module-level assembly" in warning for warning in program.report.warnings)


SEVERAL_MODULES = {
    "a function": ("declare i32 @f(i32)\n" + call("a", "@f"), function("f", linkage="") + call("b", "@f")),
    "a weak function and a strong one": (
        function("f", linkage="weak") + call("a", "@f"), function("f", 5, linkage="") + call("b", "@f")
    ),
    "two different functions that may be dropped": (
        function("f", linkage="linkonce") + call("a", "@f"), function("f", 5, linkage="linkonce") + call("b", "@f")
    ),
    "internal functions of one name": (function("f") + call("a", "@f"), function("f", 5) + call("b", "@f")),
    "functions that are called like kernels": (function("b") + call("a", "@b"), function("a", 5) + call("b", "@a")),
    "an alias": (
        "@b = alias i32 (i32), ptr @f\n" + function("f") + call("a", "@b"), "declare i32 @b(i32)\n" + call("c", "@b")
    ),
    "a variable": (
        "@v = addrspace(1) global i32 5\n" + load("a", "@v"),
        "@v = external addrspace(1) global i32\n" + store("b", "@v"),
    ),
    "a weak variable and a strong one": (
        "@v = weak addrspace(1) global i32 5\n" + load("a", "@v"), "@v = addrspace(1) global i32 6\n" + store("b", "@v")
    ),
    "a weak constant and a strong one": (
        "@v = weak addrspace(1) constant i32 5\n" + fold("a", "@v"),
        "@v = addrspace(1) constant i32 6\n" + fold("b", "@v"),
    ),
    "a variable that may be missing": (
        "@v = extern_weak addrspace(1) global i32\n" + load("a", "@v"),
        "@v = addrspace(1) global i32 6\n" + store("b", "@v"),
    ),
    "a variable that is defined for optimisation": (
        "@v = available_externally addrspace(1) global i32 6\n" + load("a", "@v"),
        "@v = addrspace(1) global i32 6\n" + store("b", "@v"),
    ),
    "common variables of two sizes": (
        "@v = common addrspace(1) global i32 0\n" + load("a", "@v"),
        "@v = common addrspace(1) global [4 x i32] zeroinitializer\n" + store("b", "@v"),
    ),
    "an inline variable": (
        "@v = linkonce_odr addrspace(1) global i32 5\n" + load("a", "@v"),
        "@v = linkonce_odr addrspace(1) global i32 5\n" + store("b", "@v"),
    ),
    "shared memory": (
        "@s = addrspace(3) global [64 x i32] undef, align 16\n" + THREAD + use_shared("a", "@s"),
        "@s = external addrspace(3) global [64 x i32], align 16\n" + THREAD + use_shared("b", "@s"),
    ),
    "dynamic shared memory of two alignments": (
        "@s = external addrspace(3) global [0 x i8], align 4\n" + THREAD + use_shared("a", "@s"),
        "@s = external addrspace(3) global [0 x float], align 128\n" + THREAD + use_shared("b", "@s"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SEVERAL_MODULES)
def test_several_modules_make_one_program(compare: Comparer, what: str) -> None:
    result = compare(*(HEADER + text for text in SEVERAL_MODULES[what]))
    assert result.bundle.variables == result.whole.variables
    assert result.linked.variables == result.whole.variables
    assert set(result.bundle.copies.values()) | set(result.linked.copies.values()) <= {1}


def test_constants_are_folded_also_where_another_shard_defines_them(compare: Comparer) -> None:
    first = "@v = addrspace(1) constant i32 77\n@w = weak addrspace(1) constant i32 78\n"
    first += fold("a", "@v") + fold("b", "@v") + fold("c", "@w")
    second = "@w = addrspace(1) constant i32 79\n" + fold("d", "@w")
    result = compare(HEADER + first, HEADER + second)
    assert result.programs[1].report.shards == 5
    assert result.linked.code == result.whole.code


def test_static_variables_of_one_name_are_separate(compare: Comparer) -> None:
    modules = [
        HEADER + f"@v = internal addrspace(1) global i32 {value}\n" + load(f"l{value}", "@v") + store(f"s{value}", "@v")
        for value in (1, 2)
    ]
    result = compare(*modules)
    assert len(result.whole.variables) == len(result.linked.variables) == 2
    assert result.bundle.copies == {"v": 2}


def test_a_static_variable_of_the_host_keeps_its_name(compare: Comparer) -> None:
    """LLVM's linker renames local symbols when two modules that meet in a shard have the same."""
    first = "@v = internal addrspace(1) global i32 1\ndeclare i32 @f(i32)\n" + call("a", "@f") + load("b", "@v")
    second = (
        "@v = internal addrspace(1) externally_initialized global i32 2\n"
        + function("f", linkage="", body="  %y = load volatile i32, ptr addrspace(1) @v, align 4\n  ret i32 %y\n")
    )  # fmt: skip
    for output in OUTPUTS:
        for modules in ((first, second), (second, first)):
            program = compare.compile(*(HEADER + text for text in modules), output=output)
            assert program.variables.keys() >= {"v"}


@pytest.mark.parametrize("linkage", ["external", "extern_weak", "available_externally"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_variable_that_nothing_defines_is_an_error(compare: Comparer, linkage: str, output: Emit) -> None:
    value = " 5" if linkage == "available_externally" else ""
    text = HEADER + f"@v = {linkage} addrspace(1) global i32{value}\n" + load("k", "@v")
    with pytest.raises((InputError, UnresolvedSymbolError), match=r"\bv\b") as caught:
        compare.compile(text, output=output)
    assert caught.value.kernels == ("k",)


def test_conflicting_flags_are_an_error_only_where_the_modules_meet(compare: Comparer) -> None:
    flags = '!llvm.module.flags = !{{!0}}\n!0 = !{{i32 1, !"flag", i32 {}}}\n'
    first, second = (
        HEADER + call("a", "@f") + "declare i32 @f(i32)\n" + flags.format(1),
        HEADER + kernel("b") + flags.format(2),
    )
    other = HEADER + function("f", linkage="") + flags.format(2)
    with pytest.raises(InputError, match=r"flag.*conflicting values"):
        compare.compile(first, other)
    assert compare.compile(first.replace("@f(i32 %x)", "@g(i32 %x)") + function("g"), second).kernels.keys() == {
        "a",
        "b",
    }


def test_texture_references_are_shared(compare: Comparer) -> None:
    text = (
        HEADER + "%texel = type { float, float, float, float }\n@texture = addrspace(1) global i64 0, align 8\n"
        "declare %texel @llvm.nvvm.tex.unified.1d.v4f32.s32(i64, i32)\n"
        "declare i64 @llvm.nvvm.texsurf.handle.internal.p1(ptr addrspace(1))\n"
        + "".join(
            kernel(
                f"k{number}",
                "  %h = tail call i64 @llvm.nvvm.texsurf.handle.internal.p1(ptr addrspace(1) @texture)\n"
                f"  %v = call %texel @llvm.nvvm.tex.unified.1d.v4f32.s32(i64 %h, i32 {number})\n"
                "  %f = extractvalue %texel %v, 0\n  store float %f, ptr %p\n",
            )
            for number in range(2)
        )
        + '!nvvm.annotations = !{!0}\n!0 = !{ptr addrspace(1) @texture, !"texture", i32 1}\n'
    )
    for output in OUTPUTS:
        program = compare.compile(text, output=output)
        assert program.kernels.keys() == {"k0", "k1"}
        assert [s.name for s in read_cubin(program.cubin).undefined if s.kind == "texture"] == ["texture"]


def test_functions_and_aliases_stay_callable_in_relocatable_output(compare: Comparer) -> None:
    text = (
        HEADER + "@other_name = alias i32 (i32), ptr @f\n@hidden_name = internal alias i32 (i32), ptr @g\n"
        + function("f", linkage="") + function("g", 5)
        + call("a", "@f") + call("b", "@hidden_name") + call("c", "@other_name")
    )  # fmt: skip
    program = compare.compile(text, output="relocatable")
    visible = Counter(
        s.name for s in read_cubin(program.cubin).defined if s.kind == "function" and s.binding == "global"
    )
    assert visible == {"f": 1, "other_name": 1}
    caller = whole_program_ptx([HEADER + "declare i32 @other_name(i32)\n" + call("d", "@other_name")], "sm_90")
    linked = compare.tools.link([program.cubin, compare.tools.assemble(caller, "sm_90", "-c")], "sm_90")
    assert read_cubin(linked).kernels.keys() == {"a", "b", "c", "d"}


PLAIN = HEADER + "@v = addrspace(1) global i32 0, align 4\n\n" + function("f") + call("a", "@f") + load("b", "@v")
OTHER_FORMS = {
    "carriage returns": PLAIN.replace("\n", "\r\n"),
    "one line a function": PLAIN.replace("\n  ", " ").replace("\n}", " }"),
    "no end of the last line": PLAIN.rstrip(),
    "comments": PLAIN.replace("\n", " ; define void @x() {\n"),
    "tabs and more lines": PLAIN.replace("  ", "\n\t").replace("(", " ( ").replace(")", " ) "),
    "quotes": PLAIN.replace("@f(", '@"f"(').replace("@v", '@"\\76"'),
    "indentation": PLAIN.replace("\n", "\n    "),
}


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_other_forms_of_text_mean_the_same(compare: Comparer, form: str) -> None:
    text = OTHER_FORMS[form]
    assert text != PLAIN
    assert compare.compile(text, output="ptx").ptx == compare.compile(PLAIN, output="ptx").ptx


OLDER = {
    "before some intrinsics and calling conventions": (
        'target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"\ntarget triple = "nvptx64-nvidia-cuda"\n\n'
        "declare i32 @llvm.nvvm.ldg.global.i.i32.p1(ptr addrspace(1), i32)\n\ndeclare void @llvm.nvvm.barrier0()\n\n"
        "declare i32 @llvm.nvvm.abs.i(i32)\n\n"
        + "".join(
            f"define void @{name}(ptr addrspace(1) nocapture %p) {{\n"
            "  %v = call i32 @llvm.nvvm.ldg.global.i.i32.p1(ptr addrspace(1) %p, i32 4)\n"
            "  call void @llvm.nvvm.barrier0()\n  %a = call i32 @llvm.nvvm.abs.i(i32 %v)\n"
            "  store i32 %a, ptr addrspace(1) %p, align 4\n  ret void\n}\n\n"
            for name in ("first", "second")
        )
        + "!nvvm.annotations = !{!0, !1, !2}\n"
        + '!0 = !{ptr @first, !"kernel", i32 1}\n!1 = !{ptr @second, !"kernel", i32 1}\n'
        + '!2 = !{ptr @second, !"maxntidx", i32 64}\n'
    ),
    "pointers with types": (
        HEADER + "%S = type { i32*, [2 x i8 addrspace(1)*] }\n\n"
        "@function = addrspace(1) global i32 (i32)* @f, align 8\n"
        "@value = internal addrspace(1) global i32 1, align 4\n"
        "@pointer = addrspace(1) global i32 addrspace(1)* @value, align 8\n"
        "@used = internal addrspace(1) global i32 2, align 4\n"
        "@llvm.used = appending global [1 x i8*] [i8* addrspacecast (i8 addrspace(1)* bitcast "
        '(i32 addrspace(1)* @used to i8 addrspace(1)*) to i8*)], section "llvm.metadata"\n\n'
        "define internal i32 @f(i32 %x) #0 {\n  %y = mul i32 %x, 3\n  ret i32 %y\n}\n\n"
        "define void @calls(i32* nocapture %p) {\n  %x = load i32, i32* %p, align 4\n  %y = call i32 @f(i32 %x)\n"
        "  store i32 %y, i32* %p, align 4\n  ret void\n}\n\n"
        "define void @through(i32* %p) {\n  %f = load i32 (i32)*, i32 (i32)* addrspace(1)* @function, align 8\n"
        "  %y = call i32 %f(i32 1)\n  store i32 %y, i32* %p, align 4\n  ret void\n}\n\n"
        "define void @points(%S* %p) {\n"
        "  %q = load i32 addrspace(1)*, i32 addrspace(1)* addrspace(1)* @pointer, align 8\n"
        "  store i32 5, i32 addrspace(1)* %q, align 4\n  ret void\n}\n\n"
        "define void @reads(i32* %p) {\n  %x = load volatile i32, i32 addrspace(1)* @value, align 4\n"
        "  store i32 %x, i32* %p, align 4\n  ret void\n}\n\n"
        "attributes #0 = { noinline }\n\n!nvvm.annotations = !{!0, !1, !2, !3}\n"
        '!0 = !{void (i32*)* @calls, !"kernel", i32 1}\n!1 = !{void (i32*)* @through, !"kernel", i32 1}\n'
        '!2 = !{void (%S*)* @points, !"kernel", i32 1}\n!3 = !{void (i32*)* @reads, !"kernel", i32 1}\n'
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", OLDER)
def test_text_of_older_llvm_means_what_it_is_upgraded_to(compare: Comparer, what: str) -> None:
    text = OLDER[what]
    assert outline_llvm_ir(text).whole_reason is None
    upgraded = printed(text)
    assert "ptx_kernel" in upgraded
    for output in OUTPUTS:
        assert compare.read(compare.compile(text, output=output)) == compare.read(
            compare.compile(upgraded, output=output)
        )


def test_a_kernel_without_a_name_is_an_error(compare: Comparer) -> None:
    with pytest.raises(InputError, match="lacks 0"):
        compare.compile(HEADER + kernel("0") + kernel("other"))
