"""Source line tables of split PTX, compared with those of the whole program."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import parcubin
from parcubin.lower.llvmlite import LlvmliteLlvm
from parcubin.lower.lowering import lower
from parcubin.model import CompilationOptions, Emit, Target
from parcubin.split.llvm_ir import outline_llvm_ir
from tests.inspect.cuda_tools import Tools
from tests.split.ptx_samples import kernel, module

INLINED = (Path(__file__).parent.parent / "data" / "inlined.ptx").read_text()


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard a kernel."""
    monkeypatch.setattr("parcubin.split.grouping.ALONE_COST", 0)


def line_tables(tools: Tools, program: parcubin.Program) -> dict[str, list[str]]:
    return {name: rows for image in images(program) for name, rows in tools.line_table(image).items()}


def images(program: parcubin.Program) -> list[bytes]:
    return [a.cubin for a in program.assemblies] or [program.cubin]


def inlined_functions(image: bytes) -> Iterator[str]:
    """The function of every change of the inlining context in a line table.

    ptxas marks one with the extended opcode 0x90 and two LEB128 numbers: the row that it was inlined at, 0 for none,
    and the function's name, relative to a place in `.debug_str` that is the last word of the unit's header.
    """
    elf = ELFFile(BytesIO(image))
    lines, strings = (elf.get_section_by_name(name) for name in (".debug_line", ".debug_str"))
    assert lines is not None
    data, names = lines.data(), strings.data() if strings else b""
    start = 0
    while start < len(data):
        length, _, header_length = struct.unpack_from("<IHI", data, start)
        position, end = start + 10 + header_length, start + 4 + length
        (base,) = struct.unpack_from("<I", data, position - 4)
        while position < end:
            opcode = data[position]
            position += 1
            if opcode == 0:
                size, position = leb128(data, position)
                if data[position] == 0x90:
                    context, after = leb128(data, position + 1)
                    name = base + leb128(data, after)[0]
                    if context:
                        yield names[name : names.index(b"\0", name)].decode()
                position += size
            elif opcode in (2, 3, 4, 5, 12):  # those with one operand
                _, position = leb128(data, position)
            elif opcode == 9:
                position += 2
        start = end


def leb128(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned number and the position after it; of a signed one, the position."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position


@pytest.mark.parametrize("output", ["bundle", "cubin", "relocatable"])
def test_inlined_functions(output: Emit, tools: Tools) -> None:
    whole = tools.assemble(INLINED, "sm_80", "-lineinfo", *(["-c"] if output == "relocatable" else []))
    program = parcubin.compile(INLINED, "sm_80", output=output, options=CompilationOptions(line_info=True), jobs=1)
    expected = tools.line_table(whole)
    assert sum("inlined at" in row for rows in expected.values() for row in rows) >= 5
    tables = line_tables(tools, program)
    assert {name: tables[name] for name in expected} == expected
    names = Counter(inlined_functions(whole))
    assert names.keys() >= {"_Z6squarei", "_Z4cubei", "_Z7negatedi"}
    found = Counter(name for image in images(program) for name in inlined_functions(image))
    if output == "relocatable":  # `called` is in three shards
        assert found.keys() == names.keys()
    else:
        assert found == names


def test_shards_carry_only_the_strings_and_files_that_they_refer_to() -> None:
    program = parcubin.compile(INLINED, "sm_80", output="ptx", jobs=1)
    shards = {re.findall(r"\.entry (\w+)", p.text)[0]: p.text for p in program.ptx}
    assert {name: text.count("_info_string") for name, text in shards.items() if ".section" not in text} == {
        "_Z5plainPi": 0
    }
    strings = {name: len(re.findall(r"^\$\w+:", text, re.M)) for name, text in shards.items()}
    assert strings == {"_Z5firstPi": 3, "_Z6secondPi": 1, "_Z5thirdPi": 1, "_Z5plainPi": 0}


def with_lines(name: str, *lines: str) -> str:
    return kernel(name, "\n".join(f"{line}\nadd.u32 %r1, %r1, %r1;" for line in lines))


def test_files_out_of_order_and_with_gaps(tools: Tools) -> None:
    """ptxas 13.5 writes a wrong line table for file numbers with gaps."""
    text = module(
        '.file 3 "/a/three.cu"\n',
        with_lines("k1", ".loc 3 10 1", ".loc 1 11 2"),
        with_lines("k2", ".loc 2 20 1", ".loc 3 21 1"),
        with_lines("k3", ".loc 1 30 1"),
        '.file 1 "/a/one.cu", 1700000000, 77\n.file 2 "/b/two.cu"\n',
    )
    options = CompilationOptions(line_info=True)
    expected = tools.line_table(tools.assemble(text, "sm_90", "-lineinfo"))
    files = {n: {r.split('"')[1] for r in rows if r.startswith("File")} for n, rows in expected.items()}
    assert files == {"k1": {"/a/one.cu", "/a/three.cu"}, "k2": {"/a/three.cu", "/b/two.cu"}, "k3": {"/a/one.cu"}}
    with parcubin.Compiler("sm_90", jobs=1) as compiler:
        for output in ("bundle", "cubin"):
            assert line_tables(tools, compiler.compile(text, output=output, options=options)) == expected


def test_files_and_strings_of_modules_that_meet_in_a_shard(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    renamed = INLINED.replace("/src/", "/other/").replace("Pi", "Pj").replace("_Z6called", "_Z6callee")
    renamed = renamed.replace("95,90,55,110", "95,90,55,111")  # another name: _Z7oegated
    texts = [INLINED, renamed]
    program = parcubin.compile(texts, "sm_80", options=CompilationOptions(line_info=True), jobs=1)
    assert program.report.shards == 1
    whole = [tools.assemble(text, "sm_80", "-lineinfo") for text in texts]
    expected = {name: rows for image in whole for name, rows in tools.line_table(image).items()}
    assert len(expected) == 8
    assert line_tables(tools, program) == expected
    names = Counter(name for image in whole for name in inlined_functions(image))
    assert {"_Z7oegatedi", "_Z7negatedi"} <= names.keys()
    assert Counter(inlined_functions(program.cubin)) == names


def constants(name: str) -> str:
    return f".const .u32 table_{name}[4] = {{1, 2, 3, 4}};\n" + kernel(
        name, f"mov.u64 %rd2, table_{name};\nld.const.u32 %r2, [%rd2+8];\nadd.u32 %r1, %r1, %r2;"
    )


@pytest.mark.parametrize(
    ("output", "provider"),
    [("bundle", "subprocess"), ("cubin", "subprocess"), ("cubin", "subprocess+nvjitlink")],
)
def test_machine_code_is_traced_back_to_its_ptx(output: Emit, provider: str, tools: Tools) -> None:
    """In a link of modules of both kinds, some of more lines than a byte can count."""
    text = module(
        *(
            with_lines(f"k{n}", *(f".loc 1 {n}{i} 1\nxor.b32 %r1, %r1, {n}{i};" for i in range(40)))
            for n in range(1, 6)
        ),
        *map(constants, ("c1", "c2")),
        *(f"// {i}\n" for i in range(300)),
        with_lines("last", ".loc 1 5 1"),
        '.file 1 "/a/one.cu"\n',
    )
    options = CompilationOptions(line_info=True)
    expected = tools.ptx_of_code(tools.assemble(text, "sm_90", "-lineinfo"))
    assert sum("xor.b32" in row for rows in expected.values() for row in rows) > 60
    with parcubin.Compiler("sm_90", jobs=1, provider=provider) as compiler:
        program = compiler.compile(text, output=output, options=options)
    assert not any("PTX texts" in warning for warning in program.report.warnings)
    found = {name: rows for image in images(program) for name, rows in tools.ptx_of_code(image).items()}
    if output == "cubin":
        assert any("-c, " in w and w.endswith("constants.") for w in program.report.warnings), program.report.warnings
    if output == "bundle":
        assert found == expected
    assert {name: found[name] for name in expected if name[0] != "c"} == {
        name: rows for name, rows in expected.items() if name[0] != "c"
    }


def test_llvm_module_with_debug_info(tools: Tools, corpus_text: Callable[[str], str]) -> None:
    """LLVM's PTX describes types and scopes, too, in sections that ptxas uses for full debug info only."""
    outline = outline_llvm_ir(corpus_text("inductor.ll"))
    kernels = sorted(name for name in outline.symbols if re.match(r"k\d*7_", name))[:12]
    define = frozenset(kernels).union(*(outline.symbols[k].references for k in kernels))
    define = frozenset(name for name in define if outline.symbols[name].defined)
    ptx = lower(
        LlvmliteLlvm(),
        [("part", outline.render(define, frozenset(), {}))],
        target=Target("sm_90a"),
        options=CompilationOptions(line_info=True),
        ptx_version=90,
        keep=frozenset(kernels),
        libdevice=None,
        name="part",
    ).ptx
    assert ".section	.debug_info" in ptx
    whole = tools.assemble(ptx, "sm_90a", "-lineinfo")
    expected, code = tools.line_table(whole), tools.sass(whole)
    assert len(expected) == len(kernels)
    with parcubin.Compiler("sm_90a", jobs=2) as compiler:
        for output in ("bundle", "cubin"):
            program = compiler.compile(ptx, output=output, options=CompilationOptions(line_info=True))
            assert program.report.shards >= len(kernels)
            tables = line_tables(tools, program)
            split = {name: text for image in images(program) for name, text in tools.sass(image).items()}
            same = [name for name in kernels if split[name] == code[name]]
            assert len(same) >= len(kernels) - 1  # addresses of variables may be formed in another way
            assert {n: tables[n] for n in same} == {n: expected[n] for n in same}
