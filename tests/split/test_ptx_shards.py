"""Shards of PTX, compiled and linked by the real tools and compared with the whole program."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

import parcubin
from parcubin.errors import PtxSyntaxError, UnresolvedSymbolError
from parcubin.inspect.cubin import CubinInfo, read_cubin
from parcubin.model import CompilationOptions, Emit
from tests.cuda_tools import cuda_tool
from tests.inspect.cuda_tools import Tools
from tests.split.ptx_samples import CALL, CALL_POINTER, function, kernel, module, prototype
from tests.split.samples import HEADER, load, store

ARCH = "sm_90"
READ, ADD = "ld.global.u32 %r1, [{0}];", "ld.global.u32 %r1, [{0}]; add.u32 %r1, %r1, 5; st.global.u32 [{0}], %r1;"


@pytest.fixture(scope="module")
def compiler() -> Iterator[parcubin.Compiler]:
    with parcubin.Compiler(ARCH, jobs=2) as compiler:
        yield compiler


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard a kernel, wherever kernels need not stay together."""
    monkeypatch.setattr("parcubin.split.grouping.ALONE_COST", 0)


Compile = Callable[..., parcubin.Program]


@pytest.fixture
def compiled(compiler: parcubin.Compiler) -> Compile:
    def compiled(*modules: str, output: Emit = "bundle", **options: Any) -> parcubin.Program:
        return compiler.compile(list(modules), output=output, options=CompilationOptions(**options))

    return compiled


def images(program: parcubin.Program) -> list[bytes]:
    return [a.cubin for a in program.assemblies] or [program.cubin]


def kernels(program: parcubin.Program) -> list[set[str]]:
    """The kernels of each assembly."""
    return [set(read_cubin(image).kernels) for image in images(program)]


def code(tools: Tools, program: parcubin.Program) -> dict[str, str]:
    return {name: text for image in images(program) for name, text in tools.sass(image).items()}


def without_addresses(code: dict[str, str]) -> dict[str, str]:
    """Code without the places in constant bank 4 where the addresses of variables are, and without encodings."""
    return {name: re.sub(r"c\[0x4\]\[\w+\]|/\* 0x\w+ \*/", "", text) for name, text in code.items()}


def definitions(info: CubinInfo) -> Counter[tuple[str, str]]:
    """Functions and variables with their bindings."""
    kinds = ("kernel", "function", "global", "constant", "shared")
    return Counter((s.name, s.binding) for s in info.defined if s.kind in kinds)


@pytest.mark.usefixtures("alone")
def test_every_construct_compiles_as_in_the_whole_program(compiled: Compile, tools: Tools) -> None:
    text = module(
        "/* a } comment ; */ // another { one\n",
        prototype("forward", ""),
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b)\n;\n",
        ".global .align 1 .b8 $str[3] = {72, 105, 0}; .global .u32 one = 1, two[2] = {2, 3};\n",
        ".extern .shared .align 16 .b8 dynamic[];\n.shared .align 4 .b8 fixed[64];\n",
        ".weak .shared .u32 weak_fixed[4];\n",
        ".visible .global .attribute(.managed) .align 4 .u32 managed;\n",
        function("f"),
        function("g", CALL.format("f"), linkage=""),
        function("forward", CALL.format("g"), linkage=""),
        prototype("other_name", ".visible "),
        ".alias other_name, g;\n",
        kernel("plain", '// %r { ; "\n\t{ .reg .u32 t; mov.u32 t, 3; add.u32 %r1, %r1, t; }'),
        kernel("calls", CALL.format("forward") + CALL.format("other_name")),
        kernel("calls_too", CALL.format("forward")),
        kernel("recursive", CALL.format("down")).replace(".visible", prototype("down", "") + ".visible"),
        function("down", f"setp.eq.u32 p, %r1, 0; @p bra end; {CALL.format('down')} end:", "").replace(
            ".reg .b64", ".reg .pred p; .reg .b64"
        ),
        kernel("shares", "st.shared.u32 [fixed+4], %r1; bar.sync 0; ld.shared.u32 %r1, [dynamic];"),
        kernel("shares_too", "st.shared.u32 [fixed], %r1; bar.sync 0; ld.shared.u32 %r1, [fixed+8];"),
        kernel("own_memory", "ld.shared.u32 %r1, [weak_fixed];"),
        kernel("own_memory_too", ".shared .u32 s[9]; st.shared.u32 [s+4], %r1; bar.sync 0; ld.shared.u32 %r1, [s];"),
        kernel("bounded", "bar.sync 0;").replace(")\n{", ') .maxntid 64, 2, 1 .pragma "nounroll";\n.minnctapersm 4\n{'),
        kernel("hidden", "add.u32 %r1, %r1, 3;", linkage=""),
        ".weak .entry weak_kernel { ret; } .visible .entry no_parameters () { ret; }\n",
        '.file 1 "some {file}.cu"\n.section .debug_info { .b32 5\n.b8 3 }\n',
    )
    whole = tools.sass(tools.assemble(text, ARCH))
    assert len(whole) == 12
    bundle, linked = compiled(text), compiled(text, output="cubin")
    assert not [w for p in (bundle, linked) for w in p.report.warnings if "Stack size" not in w]
    assert bundle.report.shards == 13  # variables that no kernel refers to have a shard of their own
    assert sorted(map(len, kernels(bundle))) == [0] + 12 * [1]
    assert code(tools, bundle) == code(tools, linked) == whole
    assert bundle.variables.keys() == linked.variables.keys() == {"one", "two", "managed"}


@pytest.mark.usefixtures("alone")
def test_names_of_the_whole_program_stay_callable(compiled: Compile, tools: Tools) -> None:
    """And nothing else does."""
    text = module(
        function("f"),
        function("weak", linkage=".weak "),
        function("hidden", CALL.format("f"), linkage=""),
        prototype("alias_of_f", ".visible "),
        prototype("alias_of_hidden", ".visible "),
        ".alias alias_of_f, f;\n.alias alias_of_hidden, hidden;\n",
        ".visible .shared .u32 memory[4];\n.visible .global .u32 variable;\n",
        *(
            kernel(
                name, "st.shared.u32 [memory], %r1;" + "".join(map(CALL.format, ("f", "weak", "hidden", "alias_of_f")))
            )
            for name in ("k1", "k2")
        ),
    )
    whole = definitions(read_cubin(tools.assemble(text, ARCH, "-c")))
    linked = definitions(read_cubin(compiled(text, output="relocatable").cubin))
    outside = {name: count for name, count in linked.items() if name[1] != "local"}
    assert outside == {name: 1 for name in whole if name[1] != "local" and name[0] != "memory"}
    assert ("alias_of_hidden", "local") in whole
    assert linked["f", "local"] > 1


def test_alias_that_another_module_calls(compiled: Compile) -> None:
    """It is as visible as what it names."""
    aliases = module(function("f"), prototype("g", ".visible "), ".alias g, f;\n", kernel("k1", CALL.format("g")))
    caller = module(prototype("g", ".extern "), kernel("k2", CALL.format("g"))).replace("9.0", "8.8")
    linked = definitions(read_cubin(compiled(aliases, caller, output="cubin").cubin))
    assert linked["g", "global"] == 1


@pytest.mark.usefixtures("alone")
def test_address_of_an_alias(compiled: Compile) -> None:
    """`-ewp` refuses to take it."""
    text = module(
        function("f", linkage=""),
        prototype("g", ""),
        ".alias g, f;\n",
        kernel("k", "mov.u64 %rd2, g; " + CALL_POINTER.format("%rd2")),
        kernel("other", ""),
    )
    program = compiled(text, output="cubin")
    assert program.report.shards == 2
    assert program.kernels.keys() == {"k", "other"}


@pytest.mark.usefixtures("alone")
def test_variable_that_the_host_may_name(compiled: Compile) -> None:
    text = module(
        ".global .align 8 .b8 v[12] = {1, 2};\n", kernel("k1", READ.format("v")), kernel("k2", ADD.format("v+4"))
    )
    bundle, linked = compiled(text), compiled(text, output="cubin")
    assert kernels(bundle) == [{"k1", "k2"}]
    assert linked.report.shards == 3
    assert definitions(read_cubin(linked.cubin)) == {(n, "global"): 1 for n in ("k1", "k2", "v")}
    assert bundle.variables == linked.variables
    assert linked.variables["v"].size == 12


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("format_", ["LLVM IR", "PTX"])
def test_variable_that_is_called_like_one_of_the_host(compiled: Compile, format_: str) -> None:
    """It is in another CUBIN of the bundle, in which the driver would find it."""
    if format_ == "PTX":
        first = module(".visible .global .align 4 .u32 v = 7;\n", kernel("a", READ.format("v")))
        second = module(".global .align 4 .u32 v[9];\n", kernel("b", ADD.format("v")))
    else:
        first = HEADER + "@v = addrspace(1) global i32 7\n" + load("a", "@v")
        second = (
            HEADER
            + "@v = internal addrspace(1) global [9 x i32] zeroinitializer\n"
            + store("b", "@v")
            + load("c", "@v")
        )
    program = compiled(first, second)
    assert len(program.assemblies) == 2
    holders = [info for image in images(program) if "v" in (info := read_cubin(image)).variables]
    assert [holder.variables["v"].size for holder in holders] == [4]


@pytest.mark.usefixtures("alone")
def test_variable_that_nobody_outside_names(compiled: Compile) -> None:
    text = module(".global .u64 k_$_v = 7;\n", kernel("k1", READ.format("k_$_v")), kernel("k2", ADD.format("k_$_v+4")))
    assert kernels(compiled(text)) == [{"k1", "k2"}]
    linked = read_cubin(compiled(text, output="cubin").cubin)
    (shared,) = (s for s in linked.defined if s.kind == "global")
    assert (shared.binding, shared.size) == ("global", 8)
    assert re.fullmatch(r"_k___v\$parcubin_\w+", shared.name)


@pytest.mark.usefixtures("alone")
def test_constant_data_is_copied(compiled: Compile, tools: Tools) -> None:
    text = module(
        ".global .u32 __unnamed_1[2] = {3, 4};\n", *(kernel(k, READ.format("__unnamed_1+4")) for k in ("k1", "k2"))
    )
    bundle, linked = compiled(text), compiled(text, output="cubin")
    assert kernels(bundle) == [{"k1"}, {"k2"}]
    assert definitions(read_cubin(linked.cubin))["__unnamed_1", "local"] == 2
    whole = tools.sass(tools.assemble(text, ARCH))
    assert code(tools, bundle) == whole


@pytest.mark.usefixtures("alone")
def test_constant_bank(compiled: Compile) -> None:
    """A whole link has one bank of 64 KiB."""
    text = module(
        ".const .align 4 .b8 named[40000] = {1};\n.const .align 4 .b8 un$named[20000] = {2};\n",
        kernel("k1", "ld.const.u32 %r1, [named];"),
        kernel("k2", "ld.const.u32 %r1, [un$named];"),
        kernel("k3", "ld.const.u32 %r1, [un$named+4];"),
        kernel("k4", "ld.const.u32 %r1, [named+4];"),
        kernel("k5", "add.u32 %r1, %r1, 1;"),
    )
    bundle, linked = compiled(text), compiled(text, output="cubin")
    assert sorted(map(sorted, kernels(bundle))) == [["k1", "k4"], ["k2"], ["k3"], ["k5"]]
    info = read_cubin(linked.cubin)
    assert sum(s.size for s in info.defined if s.kind == "constant") == 60000
    assert linked.report.warnings == (
        "3 kernels were compiled with -c, which costs registers where functions are called: constants.",
    )


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("provider", ["subprocess", "subprocess+nvjitlink"])
def test_table_of_functions_with_aliases_that_no_kernel_reaches(provider: str) -> None:
    """Where such a table is compiled with `-c`, linkers fail."""
    text = module(
        prototype("g", ""),
        function("user", CALL.format("g"), linkage=""),
        function("f", linkage=""),
        ".alias g, f;\n",
        ".global .align 8 .u64 table[2] = {user, f};\n",
        kernel("k", CALL.format("user")),
        kernel("other", ""),
    )
    with parcubin.Compiler(ARCH, jobs=1, provider=provider) as compiler:
        linked = compiler.compile(text, output="cubin")
    assert linked.report.shards == 3
    assert linked.variables["table"].size == 16
    elf = ELFFile(BytesIO(linked.cubin))
    relocations, symbols = (elf.get_section_by_name(name) for name in (".rela.nv.global.init", ".symtab"))
    assert isinstance(relocations, RelocationSection)
    assert isinstance(symbols, SymbolTableSection)
    pointers = [symbols.get_symbol(r["r_info_sym"]).name for r in relocations.iter_relocations()]
    assert pointers == ["user", "f"]


@pytest.mark.usefixtures("alone")
def test_function_pointers_stay_in_one_shard(compiled: Compile, tools: Tools) -> None:
    text = module(
        function("f"),
        function("g", "add.u32 %r1, %r1, 2;"),
        ".global .u64 table[2] = {f, g};\n",
        kernel("fills", "mov.u64 %rd2, g; st.global.u64 [table], %rd2;"),
        kernel("only_calls", "ld.global.u64 %rd2, [%rd1+8];" + CALL_POINTER.format("%rd2")),
        kernel("reads_table", "ld.global.u64 %rd2, [table+8];" + CALL_POINTER.format("%rd2")),
        kernel("calls_directly", CALL.format("g")),
    )
    bundle, linked = compiled(text), compiled(text, output="cubin")
    assert sorted(map(sorted, kernels(bundle))) == [["calls_directly"], ["fills", "only_calls", "reads_table"]]
    assert linked.report.shards == 2
    assert linked.report.warnings == ()
    whole = tools.sass(tools.assemble(text, ARCH))
    assert len(whole.pop("calls_directly")) > 0  # it is better alone, where nothing takes the address of what it calls
    assert {n: c for n, c in code(tools, bundle).items() if n in whole} == whole


TEXTURE = "mov.u32 %r2, 3; tex.1d.v4.f32.s32 {{%f1, %f2, %f3, %f4}}, [{0}, {{%r2}}]; mov.b32 %r1, %f1;"


def textures(image: bytes) -> set[str]:
    return {s.name for s in read_cubin(image).undefined if s.kind == "texture"}


@pytest.mark.usefixtures("alone")
def test_texture_reference_of_several_shards(compiled: Compile, tools: Tools) -> None:
    text = module(".global .texref tex;\n", kernel("k1", TEXTURE.format("tex")), kernel("k2", TEXTURE.format("tex")))
    bundle, linked = compiled(text), compiled(text, output="cubin")
    assert kernels(bundle) == [{"k1", "k2"}]
    assert linked.report.shards == 2
    assert textures(linked.cubin) == {"tex"}
    assert code(tools, linked) == tools.sass(tools.assemble(text, ARCH))


@pytest.mark.usefixtures("alone")
def test_texture_references_of_two_modules_are_two(compiled: Compile) -> None:
    modules = [module(".global .texref tex;\n", kernel(name, TEXTURE.format("tex"))) for name in ("k1", "k2")]
    assert textures(compiled(*modules, output="cubin").cubin) == {"tex", "tex__parcubin_1"}
    assert textures(compiled(*(m.replace(".global .tex", ".visible .global .tex") for m in modules[:1])).cubin) == {
        "tex"
    }


MODULES_THAT_NEED_EACH_OTHER = (
    module(
        ".extern .global .align 4 .b8 bytes[];\n",
        prototype("f", ".extern "),
        ".visible .global .align 4 .u32 count[2];\n",
        kernel("k1", CALL.format("f") + ADD.format("bytes+8")),
    ),
    module(
        ".extern .global .align 4 .u32 count[];\n",
        ".visible .global .align 4 .b8 bytes[16] = {1, 2, 3};\n",
        function("f", READ.format("count")),
        kernel("k2", CALL.format("f") + READ.format("bytes")),
        kernel("k3", READ.format("count")),
    ),
)


@pytest.mark.usefixtures("alone")
def test_modules_that_need_each_other(compiled: Compile) -> None:
    bundle = compiled(*MODULES_THAT_NEED_EACH_OTHER)
    assert kernels(bundle) == [{"k1", "k2", "k3"}]
    linked = compiled(*MODULES_THAT_NEED_EACH_OTHER, output="cubin")
    assert linked.report.shards == 4
    assert linked.report.warnings == ()  # the sizes of the arrays are known to their users
    assert definitions(read_cubin(linked.cubin)) == {(n, "global"): 1 for n in ("k1", "k2", "k3", "bytes", "count")}
    assert bundle.variables == linked.variables
    assert bundle.variables["bytes"].size == 16


def test_modules_that_use_shared_memory_of_each_other(compiled: Compile) -> None:
    """Each is declared in front of its definition, wherever the modules stand."""

    def half(own: str, other: str) -> str:
        return module(
            f".visible .shared .align 4 .u32 {own}[32];\n.extern .shared .align 4 .u32 {other}[32];\n",
            function(f"f_{own}", f"st.shared.u32 [{own}], %r1; st.shared.u32 [{other}], %r1;"),
            prototype(f"f_{other}", ".extern "),
            kernel(f"k_{own}", CALL.format(f"f_{own}") + CALL.format(f"f_{other}")),
        )

    program = compiled(half("a", "b"), half("b", "a"))
    assert {name: k.shared_bytes for name, k in program.kernels.items()} == {"k_a": 256, "k_b": 256}


@pytest.mark.usefixtures("alone")
def test_weak_shared_memory_that_another_module_uses(compiled: Compile) -> None:
    first = module(".weak .shared .align 4 .u32 s[32];\n", kernel("k1", "st.shared.u32 [s], %r1;"))
    second = module(".extern .shared .align 4 .u32 s[32];\n", kernel("k2", "st.shared.u32 [s+4], %r1;"))
    program = compiled(first, second)
    assert {name: k.shared_bytes for name, k in program.kernels.items()} == {"k1": 128, "k2": 128}


@pytest.mark.usefixtures("alone")
def test_extern_array_without_a_size(compiled: Compile) -> None:
    """Where its size is known, kernels can be compiled with -ewp, which refuses an array without one."""
    user = module(".extern .global .align 4 .b8 v[];\n", kernel("k1", READ.format("v+8")))
    definer = module(".visible .global .align 4 .b8 v[16];\n", kernel("k2", READ.format("v")))
    known = compiled(user, definer, output="cubin")
    assert (known.report.shards, known.report.warnings) == (3, ())
    for order in ((user, definer), (definer, user)):
        # ptxas warns of a declaration in front of the definition, and would of one without.
        assert compiled(*order).report.warnings == ()
    with pytest.raises(UnresolvedSymbolError, match="v"):
        compiled(user, output="cubin")
    apart = compiled(user, definer.replace("9.0", "8.8"), output="cubin")  # no shard holds parts of both
    assert apart.report.shards == 3
    assert any("extern array without a size" in w for w in apart.report.warnings)


def test_names_alike_in_two_modules(compiled: Compile, tools: Tools) -> None:
    """They meet in one shard, and mean what they meant."""
    modules = [
        module(
            f".global .align 4 .u32 v = {number};\n.global .align 1 .b8 $str[2] = {{{number}, 0}};\n",
            f".shared .u32 tile[{number}];\n.extern .shared .align {8 * number} .b8 dynamic[];\n",
            function("f", f"add.u32 %r1, %r1, {number};", linkage=""),
            kernel(
                f"k{number}",
                CALL.format("f")
                + READ.format("v").replace("r1", "r2")
                + "ld.global.u8 %r3, [$str]; st.shared.u32 [tile], %r1; ld.shared.u32 %r4, [dynamic+4];"
                "add.u32 %r1, %r2, %r3; add.u32 %r1, %r1, %r4;",
            ),
        )
        for number in (1, 2)
    ]
    program = compiled(*modules)
    assert program.report.shards == 1
    whole = {name: text for m in modules for name, text in tools.sass(tools.assemble(m, ARCH)).items()}
    # Only the order of the variables' addresses in constant bank 4 may differ.
    without_addresses = [
        {n: re.sub(r"c\[0x4\]\[\w+\]|/\* 0x\w+ \*/", "", t) for n, t in c.items()}
        for c in (code(tools, program), whole)
    ]
    assert without_addresses[0] == without_addresses[1]
    values = {s.name: s.size for s in read_cubin(program.cubin).defined if s.kind == "global"}
    assert values == {"v$local": 4, "v$local__2": 4, "$str": 2, "$str__2": 2}


@pytest.mark.usefixtures("alone")
def test_shared_variable_of_a_name_that_means_something_else_in_another_module(compiled: Compile) -> None:
    first = module(
        ".visible .shared .align 4 .u32 $v[8];\n",
        function("f", "st.shared.u32 [$v], %r1;"),
        kernel("a", CALL.format("f")),
    )
    second = module(
        ".global .align 4 .u32 $v;\n",
        prototype("f", ".extern "),
        kernel("b", ADD.format("$v") + CALL.format("f")),
        kernel("c", READ.format("$v")),
    )
    linked = compiled(first, second, output="cubin")
    assert {name: k.shared_bytes for name, k in linked.kernels.items()} == {"a": 32, "b": 32, "c": 0}


def test_variable_that_the_host_may_name_keeps_its_name(compiled: Compile) -> None:
    first = module(function("v", linkage=""), kernel("a", CALL.format("v")))
    second = module(
        ".global .align 4 .u32 v;\n", prototype("f", ".extern "), kernel("b", READ.format("v") + CALL.format("f"))
    )
    third = module(function("f"), kernel("c", ""))
    for output in ("bundle", "cubin"):
        assert compiled(first, second, third, output=output).variables.keys() == {"v"}


@pytest.mark.parametrize("linkage", [".visible ", ".weak "])
def test_local_variable_that_is_called_like_a_function_of_another_module(
    linkage: str, compiled: Compile, tools: Tools
) -> None:
    """They meet in one shard. The host finds the variable where nobody outside can name the function."""
    modules = [
        module(".global .align 4 .u32 v[3];\n", kernel("a", ADD.format("v+8"))),
        module(function("v", linkage=linkage), kernel("b", CALL.format("v"))),
        module(prototype("v", ".extern "), kernel("c", CALL.format("v"))),
    ]
    for output in ("bundle", "cubin"):
        program = compiled(*modules, output=output)
        assert program.report.shards == 1
        assert {v.name: v.size for v in program.variables.values()} == {"v": 12}
    alone = tools.sass(tools.assemble(modules[1], ARCH))["b"]
    assert [code(tools, program)[name] for name in "bc"] == [alone, alone]
    symbols = {s.name: s.kind for s in read_cubin(compiled(*modules, output="relocatable").cubin).defined}
    assert (symbols["v"], symbols["v__2"]) == ("function", "global")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("output", ["cubin", "relocatable"])
def test_local_texture_reference_that_is_called_like_another_module_s_symbol(output: Emit, compiled: Compile) -> None:
    modules = [
        module(".global .texref t;\n", kernel("a", TEXTURE.format("t"))),
        module(".global .texref f;\n", kernel("b", TEXTURE.format("f"))),
        module(
            ".visible .global .align 4 .u32 t[4];\n",
            function("f", ADD.format("t")),
            kernel("c", CALL.format("f")),
            kernel("d", READ.format("t")),
        ),
    ]
    linked = compiled(*modules, output=output)
    assert textures(linked.cubin) == {"t__parcubin_1", "f__parcubin_1"}
    assert linked.variables["t"].size == 16


def test_dynamic_shared_memory_alike_in_two_modules(compiled: Compile) -> None:
    modules = [
        module(".extern .shared .align 16 .b8 smem[];\n", kernel(name, "ld.shared.u32 %r1, [smem];"))
        for name in ("k1", "k2")
    ]
    (shard,) = compiled(*modules, output="ptx").ptx
    assert shard.text.count(".extern .shared .align 16 .b8 smem[];") == 1


@pytest.mark.usefixtures("alone")
def test_weak_definitions_of_two_modules(compiled: Compile) -> None:
    modules = [
        module(
            ".weak .global .align 4 .u32 w = 3;\n.common .global .align 4 .u32 c;\n.weak .entry both() { ret; }\n",
            function("f", READ.format("w"), linkage=".weak "),
            kernel(name, CALL.format("f") + ADD.format("c")),
        )
        for name in ("k1", "k2")
    ]
    bundle, linked = compiled(*modules), compiled(*modules, output="cubin")
    assert sorted(map(sorted, kernels(bundle))) == [["both"], ["k1", "k2"]]
    assert {n for n, _ in definitions(read_cubin(linked.cubin))} == {"k1", "k2", "both", "w", "c"}
    assert set(definitions(read_cubin(linked.cubin)).values()) == {1}
    assert linked.variables == bundle.variables


def test_largest_common_definition_counts(compiled: Compile) -> None:
    modules = [
        module(f".common .global .align 8 .b8 c[{size}];\n", kernel(f"k{size}", READ.format("c")))
        for size in (4, 16, 8)
    ]
    for output in ("bundle", "cubin"):
        program = compiled(*modules, output=output)
        assert program.variables["c"].size == 16
        assert len(program.kernels) == 3


def test_strong_function_replaces_a_weak_one(compiled: Compile, tools: Tools) -> None:
    weak = module(kernel("a", ""), function("f", "mov.u32 %r1, 11;", linkage=".weak "), kernel("k1", CALL.format("f")))
    strong = module(function("f", "mov.u32 %r1, 22;"), kernel("k2", CALL.format("f")))
    for order in ((weak, strong), (strong, weak)):
        found = code(tools, compiled(*order))
        assert all("0x16" in found[name] and "0xb ;" not in found[name] for name in ("k1", "k2"))


DYNAMIC_PARALLELISM = (
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2\n"
    "(.param .b64 a, .param .align 4 .b8 b[12], .param .align 4 .b8 c[12], .param .b32 d);\n"
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2 (.param .b64 a, .param .b64 b);\n",
    kernel(
        "parent",
        """mov.u64 %rd2, child;
        { .param .b64 a; .param .align 4 .b8 b[12]; .param .align 4 .b8 c[12]; .param .b32 d; .param .b64 r;
        st.param.b64 [a], %rd2; st.param.b32 [d], 0;
        call.uni (r), __cudaCDP2GetParameterBufferV2, (a, b, c, d); ld.param.b64 %rd3, [r]; }
        st.u64 [%rd3], %rd1;
        { .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd3; st.param.b64 [b], 0;
        call.uni (r), __cudaCDP2LaunchDeviceV2, (a, b); ld.param.b32 %r1, [r]; }""",
    ),
)


@pytest.mark.usefixtures("alone")
def test_dynamic_parallelism(compiled: Compile, tools: Tools) -> None:
    library = Path(cuda_tool("ptxas")).parent.parent / "lib" / "libcudadevrt.a"
    library = library if library.exists() else Path("/usr/local/cuda/lib64/libcudadevrt.a")
    child = kernel("child", "add.u32 %r1, %r1, 1;")
    external, parent = DYNAMIC_PARALLELISM
    one = [module(external, child, parent, kernel("other", ""))]
    two = [
        module(external, ".extern .entry child(.param .u64 child_param_0);\n", parent),
        module(child, kernel("other", "")),
    ]
    for modules in (one, two):
        with pytest.raises(UnresolvedSymbolError, match="__cudaCDP2"):
            compiled(*modules)
        program = compiled(*modules, output="relocatable")
        assert program.report.shards == 2  # parent and child; other
        (tools.folder / "parallel.cubin").write_bytes(program.cubin)
        tools.run("nvlink", "-arch", ARCH, "parallel.cubin", str(library), "-o", "parallel.linked.cubin")
        info = read_cubin((tools.folder / "parallel.linked.cubin").read_bytes())
        assert {"parent", "child", "other"} <= info.kernels.keys()


@pytest.mark.usefixtures("alone")
def test_ptx_and_llvm_ir_call_each_other_in_a_link(compiled: Compile) -> None:
    ptx = module(
        ".extern .global .align 4 .u32 of_llvm;\n.visible .global .align 4 .u32 of_ptx = 5;\n",
        prototype("llvm_function", ".extern "),
        function("ptx_function", READ.format("of_llvm")),
        function("hidden", linkage=""),
        kernel("k1", CALL.format("llvm_function") + CALL.format("hidden")),
        kernel("k2", "add.u32 %r1, %r1, 1;"),
    )
    llvm = """target triple = "nvptx64-nvidia-cuda"
@of_llvm = addrspace(1) global i32 4, align 4
@of_ptx = external addrspace(1) global i32, align 4
declare i32 @ptx_function(i32)
define i32 @llvm_function(i32 %x) noinline {
  %y = load i32, ptr addrspace(1) @of_ptx
  %z = add i32 %x, %y
  ret i32 %z
}
define ptx_kernel void @k3(ptr %p) {
  %x = call i32 @ptx_function(i32 3)
  store i32 %x, ptr %p
  ret void
}
define ptx_kernel void @k4(ptr %p) {
  store i32 7, ptr %p
  ret void
}
"""
    program = compiled(ptx, llvm, output="cubin")
    found = definitions(read_cubin(program.cubin))
    names = ("k1", "k2", "k3", "k4", "of_llvm", "of_ptx", "llvm_function", "ptx_function")
    assert {name for name in found if name[1] == "global"} == {(name, "global") for name in names}
    with pytest.raises(parcubin.ParcubinError, match=r"_function|of_"):
        compiled(ptx, llvm)


@pytest.mark.usefixtures("alone")
def test_instruction_and_variable_of_one_name(compiled: Compile) -> None:
    """Only the variable is renamed."""
    modules = [module(".global .texref tex;\n", kernel(name, TEXTURE.format("tex"))) for name in ("k1", "k2")]
    assert compiled(*modules, output="cubin").kernels.keys() == {"k1", "k2"}
    dynamic = module(".extern .shared .align 16 .b8 ld[];\n", kernel("k1", "ld.shared.u32 %r1, [ld+4];"))
    assert compiled(dynamic, output="relocatable").kernels.keys() == {"k1"}


def test_what_is_compiled_whole(compiled: Compile, tools: Tools) -> None:
    text = module(
        *(kernel(name, "add.u32 %r1, %r1, 1;") for name in ("k1", "k2")),
        function("counts", ".global .u32 calls; ld.global.u32 %r1, [calls];"),
    )
    program, linked = compiled(text), compiled(text, output="cubin")
    assert program.report.warnings == (
        "input 1 is compiled whole: the function counts has a variable of its own, which must not be copied.",
    )
    assert code(tools, program) == code(tools, linked) == tools.sass(tools.assemble(text, ARCH))


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("with_wrong_statement", [False, True], ids=["split", "whole"])
def test_errors_name_kernel_and_line_of_the_input(compiled: Compile, with_wrong_statement: bool) -> None:
    text = module(
        kernel("good", "add.u32 %r1, %r1, 1;"),
        "/* four\nlines\nof\ncomment */\n",
        kernel("wrong", "bar.sync 0;\n\tadd.what %r1, %r1, 1;"),
        kernel("good_too", ""),
    )
    if with_wrong_statement:
        text += ".what;\n"
    with pytest.raises(PtxSyntaxError) as caught:
        compiled(text)
    line = text[: text.index("add.what")].count("\n") + 1
    assert caught.value.line == line
    assert f"line {line} of input 1" in str(caught.value)
    assert "wrong" in caught.value.kernels


def test_program_that_is_not_split(compiler: parcubin.Compiler) -> None:
    modules = list(MODULES_THAT_NEED_EACH_OTHER)
    assert compiler.compile(modules, split=False, output="cubin").report.shards == 1
