"""What makes wrong code without a word, and the rule that keeps it from happening (docs/correctness.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import parcubin
from parcubin.inspect.cubin import CubinInfo, CubinKind, read_cubin
from parcubin.model import Emit
from parcubin.split.grouping import drawn
from tests.inspect.cuda_tools import Tools
from tests.split.comparison import Comparer
from tests.split.ptx_samples import CALL, CALL_POINTER, prototype
from tests.split.ptx_samples import kernel as ptx_kernel
from tests.split.ptx_samples import module as ptx_module
from tests.split.samples import HEADER, THREAD, call, function, kernel, load, lookup, store, use_shared
from tests.whole_program import whole_program_ptx


@pytest.fixture(scope="module")
def compiler(compiler_of_each_llvm: parcubin.Compiler) -> parcubin.Compiler:
    """Everything here holds whichever LLVM lowers."""
    return compiler_of_each_llvm


@dataclass(frozen=True)
class Linked:
    """A module of a link."""

    info: CubinInfo
    ptx: str


def modules_of(compare: Comparer, folder: Path, *inputs: str, **options: Any) -> list[Linked]:
    """The modules of a link with one kernel a shard, in the order in which they are linked."""
    compare.compile(*inputs, output="cubin", options=parcubin.CompilationOptions(**options), keep=folder)
    return [
        Linked(read_cubin(path.read_bytes()), path.with_suffix(".ptx").read_text())
        for path in sorted(folder.glob("*.cubin"))
    ]


def kinds(modules: list[Linked]) -> dict[str, CubinKind]:
    return {kernel: module.info.kind for module in modules for kernel in module.info.kernels}


TABLE = "@t = internal addrspace(4) constant [2 x i32] [i32 1, i32 2], align 4\n"


def test_of_several_shards_with_constants_the_first_is_extensible(compare: Comparer, tmp_path: Path) -> None:
    """Extensible code addresses the constant bank without relocations, from its start: a second such module would read
    the first's data."""
    text = HEADER + TABLE + lookup("a", "@t", 4) + lookup("b", "@t", 4) + lookup("c", "@t", 4) + kernel("d")
    modules = modules_of(compare, tmp_path / "kept", text)
    assert len(modules) == 4
    assert [module.info.kind for module in modules if ".const" in module.ptx] == [
        CubinKind.EXTENSIBLE_WHOLE_PROGRAM,
        CubinKind.PLAIN,
        CubinKind.PLAIN,
    ]
    assert ".const" in modules[0].ptx


def test_the_only_shard_with_constants_is_extensible_and_linked_first(compare: Comparer, tmp_path: Path) -> None:
    unused = "@v = addrspace(4) externally_initialized global i32 0, align 4\n"
    text = HEADER + unused + TABLE + kernel("a") + kernel("b") + lookup("z", "@t", 4) + load("y", "@g")
    modules = modules_of(compare, tmp_path / "kept", text + "@g = addrspace(1) global i32 0\n")
    assert set(kinds(modules).values()) == {CubinKind.EXTENSIBLE_WHOLE_PROGRAM}
    assert modules[0].info.kernels.keys() == {"z"}
    assert [".const" in module.ptx for module in modules] == [True, False, False, False, False]


def test_copies_are_local_to_their_module(compare: Comparer, tmp_path: Path) -> None:
    """Visible copies clash, and nvJitLink takes the first without a word."""
    text = (
        HEADER
        + "@s = addrspace(3) global [64 x i32] undef, align 16\n@alias = alias i32 (i32), ptr @f\n"
        + THREAD
        + function("f", linkage="")
        + function("g", linkage="weak_odr")
        + use_shared("a", "@s")
        + use_shared("b", "@s")
        + "".join(call(f"{callee}_{number}", f"@{callee}") for callee in ("f", "g", "alias") for number in range(2))
    )
    modules = modules_of(compare, tmp_path / "kept", text)
    assert len(modules) == 8
    visible = r"^\.(?:visible|weak)\s+\.(\w+).*?([\w$]+)(?:\[\d*\];|\()"
    found = [match for module in modules for match in re.findall(visible, module.ptx, re.M)]
    assert {kind for kind, _ in found} == {"entry"}
    for module in modules:
        assert not [s for s in module.info.defined if s.kind in ("function", "shared") and s.binding != "local"]


def test_pointers_to_functions_stay_in_one_module(compare: Comparer, tmp_path: Path) -> None:
    """They mean nothing outside the module that took them, extensible or whole."""
    text = HEADER + function("f") + kernel("z", "  store ptr @f, ptr %p\n") + call("m", "@f")
    text += kernel("a", "  %q = load ptr, ptr %p\n  %y = call i32 %q(i32 1)\n  store i32 %y, ptr %p\n")
    modules = modules_of(compare, tmp_path / "kept", text)
    assert [set(module.info.kernels) for module in modules] == [{"a", "z"}, {"m"}]


def test_pointers_to_functions_of_two_formats_are_plain(compare: Comparer, tmp_path: Path) -> None:
    """LLVM IR and PTX cannot be in one shard, and a pointer may come from the other; so may what is called by name."""
    llvm = HEADER + function("f", linkage="") + kernel("takes", "  store ptr @f, ptr %p\n") + kernel("bystander")
    ptx = ptx_module(
        prototype("f", ".extern "),
        ptx_kernel("calls", "ld.global.u64 %rd2, [%rd1];" + CALL_POINTER.format("%rd2")),
        ptx_kernel("calls_by_name", CALL.format("f")),
        ptx_kernel("ptx_bystander", ""),
    )
    assert kinds(modules_of(compare, tmp_path / "kept", llvm, ptx)) == {
        "takes": CubinKind.PLAIN,
        "calls": CubinKind.PLAIN,
        "calls_by_name": CubinKind.PLAIN,
        "bystander": CubinKind.EXTENSIBLE_WHOLE_PROGRAM,
        "ptx_bystander": CubinKind.EXTENSIBLE_WHOLE_PROGRAM,
    }


def test_dynamic_shared_memory_has_a_name_of_its_own_in_each_plain_module(compare: Comparer, tmp_path: Path) -> None:
    """Of two plain modules that call it alike, the linker takes the first's alignment for both."""
    modules = [
        f"@s = external addrspace(3) global [0 x i8], align {alignment}\n" + THREAD + use_shared(name, "@s")
        for name, alignment in (("a", 4), ("b", 128))
    ]
    least = min(drawn("constants", name) for name in "ab")
    home = next(name for name in map("c{}".format, range(99)) if drawn("constants", name) < least)
    with_table = [
        HEADER
        + TABLE
        + text.replace(
            "  ret void", "  %c = load volatile i32, ptr addrspace(4) @t\n  store i32 %c, ptr %p\n  ret void"
        )
        for text in modules
    ]
    linked = modules_of(compare, tmp_path / "kept", *with_table, HEADER + TABLE + lookup(home, "@t", 4))
    assert kinds(linked) == {home: CubinKind.EXTENSIBLE_WHOLE_PROGRAM, "a": CubinKind.PLAIN, "b": CubinKind.PLAIN}
    dynamic = [s for module in linked for s in module.info.undefined if s.kind == "shared"]
    assert len(dynamic) == len({s.name for s in dynamic}) == 2


def test_variables_are_shared_and_not_copied(compare: Comparer, tmp_path: Path) -> None:
    """A copy in each module would let a kernel read what no other ever writes."""
    text = HEADER + "@v = internal addrspace(1) global i32 1\n" + load("a", "@v") + store("b", "@v")
    modules = modules_of(compare, tmp_path / "kept", text)
    definitions = [s for module in modules for s in module.info.defined if s.kind == "global"]
    references = [s for module in modules for s in module.info.undefined if s.kind == "global"]
    assert len(definitions) == 1
    assert [s.name for s in references] == [definitions[0].name] * 2
    (assembly,) = compare.compile(text).assemblies
    assert read_cubin(assembly.cubin).kernels.keys() == {"a", "b"}


def source_lines(tools: Tools, *cubins: bytes) -> dict[str, set[str]]:
    """The lines of source code that each kernel's line table has."""
    found = {}
    for cubin in cubins:
        (tools.folder / "lines.cubin").write_bytes(cubin)
        listing = tools.run("nvdisasm", "-g", "-c", "lines.cubin")
        for name in read_cubin(cubin).kernels:
            _, _, code = listing.partition(f"//--------------------- .text.{name} ")
            found[name] = set(re.findall(r"//## (File .*)", code.partition("//---------------------")[0]))
    return found


@pytest.mark.parametrize("opt_level", [0, 1, 3])
def test_line_tables_are_those_of_the_whole_program(compare: Comparer, debug_info: str, opt_level: int) -> None:
    text = re.sub(r" *#dbg_.*\n", "", debug_info).replace("FullDebug", "DebugDirectivesOnly")
    tools, options = compare.tools, parcubin.CompilationOptions(line_info=True, opt_level=opt_level)
    ptx = whole_program_ptx([text], "sm_90", opt_level)
    whole = source_lines(tools, tools.assemble(ptx, "sm_90", "-lineinfo", f"-O{opt_level}"))
    assert whole.keys() == {"first", "second"}
    assert all(len(lines) > 3 for lines in whole.values())
    bundle, linked = (compare.cubins_of(compare.compile(text, output=o, options=options)) for o in ("bundle", "cubin"))
    assert source_lines(tools, *bundle) == source_lines(tools, *linked) == whole


@pytest.mark.parametrize("output", ["bundle", "cubin"])
@pytest.mark.parametrize("opt_level", [0, 3])
def test_full_debug_info(compare: Comparer, debug_info: str, tmp_path: Path, output: Emit, opt_level: int) -> None:
    options = parcubin.CompilationOptions(debug_info=True, opt_level=opt_level)
    program = compare.compile(debug_info, output=output, options=options, keep=tmp_path / "kept")
    assert program.kernels.keys() == {"first", "second"}
    for ptx in (tmp_path / "kept").glob("*.ptx"):
        assert re.search(r"^\.target sm_90, debug$", ptx.read_text(), re.M)
    if output == "cubin":
        modules = [read_cubin(path.read_bytes()) for path in (tmp_path / "kept").glob("*.cubin")]
        assert {module.kind for module in modules} == {CubinKind.PLAIN}
    for cubin in compare.cubins_of(program):
        (tmp_path / "debug.cubin").write_bytes(cubin)
        listing = compare.tools.run("cuobjdump", "-elf", str(tmp_path / "debug.cubin"))
        assert ".debug_info" in listing
        # Each module's PTX, which machine code is traced back to, has a section of its own; -ewp has one for all.
        texts = set(re.findall(r"\.nv_debug_ptx_txt\S*", listing))
        assert len(texts) == (program.report.shards if output == "cubin" else 1)
