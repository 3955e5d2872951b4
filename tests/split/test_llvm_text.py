"""Cutting LLVM IR into entities: what LLVM prints is taken apart, everything else is refused, nothing is misread."""

from __future__ import annotations

import random

import llvmlite.binding as llvm
import pytest

from parcubin.split.llvm_ir import LlvmOutline, outline_llvm_ir
from parcubin.split.llvm_text import NotInPrintedFormError, local_ptx_name, plain_name
from tests.split.samples import HEADER, call, function, kernel, load
from tests.whole_program import printed

ODD_NAMES = (
    "sp ace", "f(x)", "f{", "}", 'qu\\22ote', "\\01raw", "i32", "global", "define", "declare", "ret", "a.b", "a@b",
    "$x", "x$", "0start", "uni\\C3\\AF", "invalid\\FF", "back\\\\slash", "back\\\\41", "t%d", "!0", "#1", "a;b",
    "-dash", "tab\\09", "newline\\0A}\\0A", "declare x", "define y", "@0", ".dot", "_", "x = global i32 0",
    "attributes #0 = {",
)  # fmt: skip


def spelled(name: str) -> str:
    return f'"{name}"'


def reprinted(outline: LlvmOutline) -> str:
    """All definitions, rendered as one part and printed by LLVM."""
    return printed(outline.render(frozenset(n for n, s in outline.symbols.items() if s.defined), frozenset(), {}))


def names_of(text: str) -> tuple[set[str], set[str]]:
    """Names of functions and variables, by llvmlite."""
    module = llvm.parse_assembly(text, llvm.create_context())
    return {f.name for f in module.functions}, {v.name for v in module.global_variables}


def test_names_of_any_kind() -> None:
    text = HEADER
    for number, name in enumerate(ODD_NAMES):
        text += f"%{spelled(name)} = type {{ i32, [{number + 1} x i8] }}\n"
        text += f"@{spelled('v ' + name)} = internal addrspace(1) global i32 {number}, align 4\n"
        text += function(
            spelled("f " + name),
            body=f"  %a = alloca %{spelled(name)}, align 4\n"
            f"  %v = load i32, ptr addrspace(1) @{spelled('v ' + name)}, align 4\n  ret i32 %v\n",
        )
        text += call(f"k{number}", f"@{spelled('f ' + name)}")
    text = printed(text)
    outline = outline_llvm_ir(text)
    assert outline.whole_reason is None
    assert len(outline.symbols) == 3 * len(ODD_NAMES)
    for symbol in outline.symbols.values():
        assert len(symbol.references) == (0 if symbol.name.startswith('"v ') else 1)
    assert reprinted(outline).count("\ndefine ") == 2 * len(ODD_NAMES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", "plain"),
        ('"a b"', "a b"),
        ('"a$b"', "a$b"),
        ('"qu\\22ote"', 'qu"ote'),
        ('"\\C3\\AF"', "ï"),
        ('"back\\\\41"', "back\\41"),
        ('"\\01raw"', "raw"),
    ],
)
def test_plain_names(name: str, expected: str) -> None:
    assert plain_name(name) == expected


@pytest.mark.parametrize(
    "name",
    ["plain", '"a b"', '"a$b"', "a.b", '"a@b"', '"\\C3\\AF"', '"back\\\\slash"', '"(x)"'],
)
def test_local_names_are_those_of_llvm(name: str) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(HEADER + f"@{name} = internal addrspace(1) global i32 7\n" + load("k", f"@{name}"))
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_90", features="+ptx80")
    assert f".global .align 4 .u32 {local_ptx_name(name)} = 7;" in machine.emit_assembly(module)


TRAPS = HEADER + (
    '@s1 = internal addrspace(1) constant [28 x i8] c"define void @x, align 64 {\\0A\\00", align 1\n'
    '@s2 = internal addrspace(1) constant [19 x i8] c"x, comdat, align 32", align 1\n'
    '@s3 = addrspace(1) global [12 x i8] c"a= align 128", align 2\n'
    '@s4 = internal addrspace(1) global [22 x i8] c"; @s1 = attributes #0 ", section "a ; \\22 @s2, align 8", align 4\n'
    "\n"
    "; define void @commented() {\n"
    + load("l1", "@s1")
    + load("l2", "@s2")
    + load("l3", "@s3")
    + load("l4", "@s4")
    + kernel("loop", "  br label %define\n\ndefine:                                           ; preds = %0, @s1\n")
)


def test_text_in_strings_and_comments_is_no_code() -> None:
    outline = outline_llvm_ir(TRAPS)
    assert {name: set(symbol.references) for name, symbol in outline.symbols.items()} == {
        "s1": set(), "s2": set(), "s3": set(), "s4": set(),
        "l1": {"s1"}, "l2": {"s2"}, "l3": {"s3"}, "l4": {"s4"}, "loop": set(),
    }  # fmt: skip
    declared = outline.render(frozenset({"l1", "l2", "l3", "l4"}), frozenset({"s1", "s2", "s3", "s4"}), {})
    assert "@s3 = external addrspace(1) global [12 x i8], align 2\n" in declared
    assert "@s4 = external addrspace(1) global [22 x i8], align 4\n" in declared
    assert names_of(declared) == ({"l1", "l2", "l3", "l4"}, {"s1", "s2", "s3", "s4"})


GOOD = printed(HEADER + "@g = addrspace(1) global i32 0\n" + function("f") + call("a", "@f") + load("b", "@g"))

NOT_PRINTED = {
    "carriage returns": GOOD.replace("\n", "\r\n"),
    "a body on one line": GOOD + "define void @x() { ret void }\n",
    "a closing brace at the end of a line": GOOD.replace("  ret void\n}", "  ret void }", 1),
    "an indented closing brace": GOOD.replace("  ret void\n}", "  ret void\n  }", 1),
    "an indented function": GOOD.replace("define ptx_kernel void @b", "  define ptx_kernel void @b"),
    "a function behind another": GOOD.replace("}\n\ndefine ptx_kernel void @b", "} define ptx_kernel void @b"),
    "a function behind an instruction": GOOD.replace(
        "\n}\n\ndefine ptx_kernel void @b", " } define ptx_kernel void @b"
    ),
    "metadata in a body": GOOD.partition("\nattributes")[0].replace(" #0", "").removesuffix("\n}\n")
    + " }\n!nvvm.annotations = !{!0}\n!0 = !{\n  ptr @f\n}\n",
    "an indented variable": GOOD.replace("@g = ", "  @g = "),
    "a header on two lines": GOOD.replace("@f(i32 %x)", "@f(\n  i32 %x)", 1),
    "a variable on two lines": GOOD.replace("global i32 0", "global\n  i32 0"),
    "no spaces around =": GOOD.replace("@g = ", "@g="),
    "needless quotes": GOOD.replace("@f(", '@"f"('),
    "needless quotes of one use": GOOD.replace("call i32 @f(", 'call i32 @"f"('),
    "a needless escape": GOOD.replace("call i32 @f(", 'call i32 @"\\66"('),
    "two definitions of a function": GOOD + function("f"),
    "two definitions of a variable": GOOD + "@g = global i32 0\n",
    "a comment behind a variable": GOOD.replace("global i32 0", "global i32 0 ; comment"),
    "a comment behind a header": GOOD.replace("@a(ptr %p) {", "@a(ptr %p) { ; comment"),
    "an undeclared function": GOOD.replace("call i32 @f(", "call i32 @unknown("),
    "a function that does not end": GOOD.rstrip().removesuffix("}"),
    "something else": GOOD + "this is no LLVM IR\n",
    "metadata on two lines": GOOD + "!named = !{\n!0}\n!0 = !{}\n",
    "a variable behind a comdat": GOOD.replace("@g = ", "$f = comdat any @g = "),
    "metadata behind a variable": GOOD.replace("global i32 0", "global i32 0 !nvvm.annotations=!{!0}")
    + "!0 = !{ptr @f}\n",
    "metadata behind metadata": GOOD + '!nvvm.annotations = !{!0} !0 = !{ptr @f, !"kernel", i32 1}\n',
    "metadata behind a declaration": GOOD + "declare void @x() !nvvm.annotations = !{!0}\n!0 = !{ptr @f}\n",
    "a kernel behind two spaces": GOOD.replace("define ", "define  ", 1),
    "a linkage behind two spaces": GOOD.replace("define ", "define linkonce_odr  dso_local ", 1),
    "a linkage in front of a tab": GOOD.replace("define ", "define weak\t", 1),
    "a comdat behind a tab": GOOD + "$x = comdat any\ndefine void @x()\tcomdat {\n  ret void\n}\n",
    "an address space with spaces": GOOD.replace("@g = ", "@g = addrspace( 4 ) "),
    "attributes on two lines": GOOD + "attributes #7 = {\n  nounwind }\n",
}


def test_the_good_module_is_good() -> None:
    assert outline_llvm_ir(GOOD).symbols.keys() == {"g", "f", "a", "b"}
    assert reprinted(outline_llvm_ir(GOOD)) == GOOD


@pytest.mark.parametrize("what", NOT_PRINTED)
def test_other_forms_are_refused(what: str) -> None:
    assert NOT_PRINTED[what] != GOOD
    with pytest.raises(NotInPrintedFormError):
        outline_llvm_ir(NOT_PRINTED[what])


def test_calls_through_pointers_are_seen_in_any_spacing() -> None:
    for line in ("call void %q(i32 1)", "call void %q (i32 1)", "call void inttoptr (i64 4 to ptr) (i32 1)"):
        text = HEADER + kernel("k", f"  {line}\n", "ptr %q")
        assert outline_llvm_ir(text).symbols["k"].calls_indirectly
    text = (
        HEADER + kernel("k", "  %v = call i32 (ptr, ...) @f(ptr %q), !x !0\n", "ptr %q") + "declare i32 @f(ptr, ...)\n"
    )
    assert not outline_llvm_ir(text + "!0 = !{}\n").symbols["k"].calls_indirectly


def test_damaged_text_is_refused_or_keeps_its_kernels() -> None:
    """Text with a line lost, doubled, joined or indented is refused, or LLVM sees the same functions in it."""
    lines = GOOD.split("\n")
    random.seed(1)
    accepted = 0
    for _ in range(600):
        damaged = list(lines)
        for _ in range(random.randint(1, 2)):
            position = random.randrange(len(damaged) - 1)
            match random.randrange(4):
                case 0:
                    del damaged[position]
                case 1:
                    damaged[position : position + 2] = [damaged[position] + " " + damaged[position + 1]]
                case 2:
                    damaged[position] = "  " + damaged[position]
                case 3:
                    damaged.insert(position, damaged[position])
        text = "\n".join(damaged)
        try:
            outline = outline_llvm_ir(text)
            functions, variables = names_of(text)
        except (NotInPrintedFormError, RuntimeError):
            continue
        accepted += 1
        assert outline.symbols.keys() == functions | variables
    assert accepted > 20
