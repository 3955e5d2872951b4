"""The CUBIN reader, against cuobjdump, ptxas's own report and pyelftools."""

from __future__ import annotations

import io
import pickle
import random
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from parcubin.errors import InputError
from parcubin.inspect.cubin import RESERVED_SHARED_BYTES, CubinInfo, CubinKind, Symbol, read_cubin
from parcubin.model import VariableInfo
from tests.inspect.cuda_tools import Tools, Usage

DATA = Path(__file__).parent.parent / "data"
ARCHITECTURES = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100", "sm_120")
KERNELS = {"leaf", "caller", "big_shared", "dynamic_shared", "recursion", "without_visible"}


@pytest.fixture(scope="module")
def kernels_ptx() -> str:
    return (DATA / "kernels.ptx").read_text()


def spilling_kernel(values: int) -> str:
    """A kernel that needs `values` registers at once."""
    loads = "\n".join(f"ld.volatile.global.u32 %r{i}, [%rd1+{4 * i}];" for i in range(values))
    stores = "\n".join(f"st.volatile.global.u32 [%rd1+{4 * i}], %r{values - 1 - i};" for i in range(values))
    return f"""
.version 8.7
.target SM
.address_size 64
.visible .entry spills(.param .u64 p)
{{
.reg .b32 %r<{values}>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
{loads}
{stores}
ret;
}}
"""


def section(elf: ELFFile, name: str) -> Any:
    """A section by name, untyped: which class it is depends on its type."""
    found = elf.get_section_by_name(name)
    assert found is not None
    return found


def expected_shared(usage: Usage, info: CubinInfo) -> int:
    includes_reserved = info.kind is CubinKind.ASSEMBLY and info.sm >= 90 and usage.shared > 0
    return usage.shared - (RESERVED_SHARED_BYTES if includes_reserved else 0)


def assert_usage_as_cuobjdump_says(tools: Tools, cubin: bytes) -> CubinInfo:
    info = read_cubin(cubin)
    usage = tools.resource_usage(cubin)
    for name, kernel in info.kernels.items():
        assert kernel.registers == usage[name].registers, name
        assert kernel.shared_bytes == expected_shared(usage[name], info), name
        if info.kind is CubinKind.ASSEMBLY:
            assert kernel.stack_bytes == usage[name].stack, name
    return info


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_assembly(tools: Tools, kernels_ptx: str, architecture: str) -> None:
    info = assert_usage_as_cuobjdump_says(tools, tools.assemble(kernels_ptx, architecture))
    assert info.kind is CubinKind.ASSEMBLY
    assert f"sm_{info.sm}" == architecture.rstrip("a")
    assert info.kernels.keys() == KERNELS
    assert info.kernels["leaf"].stack_bytes == 200
    assert info.kernels["caller"].stack_bytes == 296  # its own frame and that of the function it calls
    assert info.kernels["recursion"].stack_bytes is None
    assert info.kernels["dynamic_shared"].shared_bytes == 0


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("option", "kind"), [("-c", CubinKind.PLAIN), ("-ewp", CubinKind.EXTENSIBLE_WHOLE_PROGRAM)], ids=["c", "ewp"]
)
def test_relocatable_and_linked(
    tools: Tools, kernels_ptx: str, architecture: str, option: str, kind: CubinKind
) -> None:
    module = tools.assemble(kernels_ptx, architecture, option)
    relocatable = assert_usage_as_cuobjdump_says(tools, module)
    linked = assert_usage_as_cuobjdump_says(tools, tools.link([module], architecture))
    joined = assert_usage_as_cuobjdump_says(tools, tools.link([module], architecture, "-r"))
    assert (relocatable.kind, linked.kind, joined.kind) == (kind, CubinKind.ASSEMBLY, CubinKind.PLAIN)
    assert relocatable.sm == linked.sm
    assert relocatable.kernels.keys() == linked.kernels.keys() == KERNELS
    assert linked.kernels["caller"].stack_bytes == 296


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_shared_memory_and_stack_as_ptxas_reports_them(tools: Tools, architecture: str) -> None:
    ptx = (
        spilling_kernel(60)
        .replace("ret;", "st.shared.u32 [s], %r1;\nret;")
        .replace(".reg .b64", ".shared .align 4 .b8 s[1000];\n.reg .b64")
    )
    (tools.folder / "s.ptx").write_text(ptx.replace("SM", architecture))
    log = tools.run("ptxas", "-v", "-arch", architecture, "--maxrregcount", "32", "s.ptx", "-o", "s.cubin")
    kernel = read_cubin((tools.folder / "s.cubin").read_bytes()).kernels["spills"]
    frame, spilled = re.findall(r"(\d+) bytes (?:stack frame|spill stores)", log)
    assert int(spilled) > 0
    assert kernel.stack_bytes == int(frame)
    assert f"Used {kernel.registers} registers" in log
    assert f"{kernel.shared_bytes} bytes smem" in log
    assert kernel.spill_bytes is None


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_barriers_as_ptxas_reports_them(tools: Tools, architecture: str) -> None:
    def kernel(name: str, body: str) -> str:
        return f".visible .entry {name}() {{ {body} ret; }}\n"

    ptx = ".version 8.7\n.target SM\n.address_size 64\n.func f() { bar.sync 5; ret; }\n" + "".join(
        kernel(f"uses_{n}", "".join(f"bar.sync {i};" for i in range(n))) for n in (0, 1, 3, 16)
    )
    ptx += kernel("calls", "call f;")
    (tools.folder / "b.ptx").write_text(ptx.replace("SM", architecture))
    log = tools.run("ptxas", "-v", "-arch", architecture, "b.ptx", "-o", "b.cubin")
    reported = re.findall(r"entry function '(\w+)'.*?used (\d+) barriers", log, re.S)
    assert dict(reported) == {"uses_0": "0", "uses_1": "1", "uses_3": "3", "uses_16": "16", "calls": "6"}
    ewp = tools.assemble(ptx, architecture, "-ewp")
    for cubin in ((tools.folder / "b.cubin").read_bytes(), ewp, tools.link([ewp], architecture)):
        assert {k.name: k.barriers for k in read_cubin(cubin).kernels.values()} == {
            name: int(count) for name, count in reported
        }


def test_stack_of_a_function_in_another_module(tools: Tools) -> None:
    caller = """
.version 8.7
.target SM
.address_size 64
.extern .func (.param .b32 r) far(.param .b32 x);
.visible .entry k(.param .u64 p)
{
.reg .b32 %r<3>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
ld.global.u32 %r1, [%rd1];
{
.param .b32 a;
.param .b32 b;
st.param.b32 [a], %r1;
call (b), far, (a);
ld.param.b32 %r2, [b];
}
st.global.u32 [%rd1], %r2;
ret;
}
"""
    kernels = (DATA / "kernels.ptx").read_text()
    callee = kernels[: kernels.index(".visible .func")].replace(".func", ".visible .func").replace("inner", "far")
    modules = [
        tools.assemble(caller, "sm_90a", "-c", name="caller"),
        tools.assemble(callee, "sm_90a", "-c", name="callee"),
    ]
    linked = assert_usage_as_cuobjdump_says(tools, tools.link(modules, "sm_90a"))
    assert read_cubin(modules[0]).kernels["k"].stack_bytes == 0
    assert linked.kernels["k"].stack_bytes == 96


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(("file", "kind"), [("assembly", 2), ("c", 1), ("ewp", 0xFF00)])
def test_abi_version_7(tools: Tools, architecture: str, file: str, kind: int) -> None:
    cubin = (DATA / "cubin-abi7" / f"{architecture}.{file}.cubin").read_bytes()
    assert cubin[8] == 7
    info = assert_usage_as_cuobjdump_says(tools, cubin)
    assert info.kind.value == kind
    assert f"sm_{info.sm}" == architecture.rstrip("a")
    assert info.kernels.keys() == KERNELS
    assert info.variables["hidden"] == VariableInfo("hidden", "global", 400)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("options", [(), ("-c",), ("-ewp",)], ids=["assembly", "c", "ewp"])
def test_symbols_and_code_size_as_pyelftools_reads_them(
    tools: Tools, kernels_ptx: str, architecture: str, options: tuple[str, ...]
) -> None:
    cubin = tools.assemble(kernels_ptx, architecture, *options)
    info = read_cubin(cubin)
    elf = ELFFile(io.BytesIO(cubin))
    for name, kernel in info.kernels.items():
        assert kernel.code_bytes == section(elf, f".text.{name}")["sh_size"]
    theirs = {
        (symbol.name, symbol["st_size"])
        for symbol in section(elf, ".symtab").iter_symbols()
        if symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK") and not re.match(r"\$\w+\$", symbol.name)
    }
    ours = {(symbol.name, symbol.size) for symbol in info.defined + info.undefined if symbol.binding != "local"}
    assert ours == theirs
    assert {"leaf", "visible", "table"} <= {name for name, _ in ours}


def by_name(symbols: tuple[Symbol, ...]) -> dict[str, Symbol]:
    return {symbol.name: symbol for symbol in symbols}


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_variables_and_bindings(tools: Tools, kernels_ptx: str, architecture: str) -> None:
    plain = read_cubin(tools.assemble(kernels_ptx, architecture, "-c"))
    defined = by_name(plain.defined)
    assert defined["without_visible"] == Symbol("without_visible", "kernel", "local", defined["without_visible"].size)
    assert (defined["big_shared"].kind, defined["big_shared"].binding) == ("kernel", "weak")
    assert (defined["recursive"].kind, defined["recursive"].binding) == ("function", "global")
    assert (defined["inner"].kind, defined["inner"].binding) == ("function", "local")
    assert defined["visible"] == Symbol("visible", "global", "global", 4)
    assert defined["weak"] == Symbol("weak", "global", "weak", 4)
    assert defined["common"] == Symbol("common", "global", "common", 24, alignment=8)
    assert defined["table"] == Symbol("table", "constant", "global", 64)
    assert by_name(plain.undefined)["dynamic"] == Symbol("dynamic", "shared", "global", 0, alignment=128)

    sizes = {"visible": 4, "weak": 4, "common": 24, "hidden": 400}
    expected = {name: VariableInfo(name, "global", size) for name, size in sizes.items()}
    expected["table"] = VariableInfo("table", "constant", 64)
    assert plain.variables == expected  # not `$text`: no C identifier
    for cubin in (
        tools.assemble(kernels_ptx, architecture),
        tools.link([tools.assemble(kernels_ptx, architecture, "-ewp")], architecture),
    ):
        assert read_cubin(cubin).variables == expected


def test_literals_are_no_variables(tools: Tools) -> None:
    """Before sm_90 `-c` names double-precision literals, and puts them in a constant bank of the kernel's."""
    ptx = """
.version 8.7
.target SM
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .f64 %d<3>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
ld.global.f64 %d1, [%rd1];
fma.rn.f64 %d2, %d1, 0d3FF123456789ABCD, 0d4001234567FFFFFF;
st.global.f64 [%rd1], %d2;
ret;
}
"""
    defined = by_name(read_cubin(tools.assemble(ptx, "sm_80", "-c")).defined)
    assert [symbol.kind for name, symbol in defined.items() if "const_opt" in name] == ["other"]
    assert "constant" not in {symbol.kind for symbol in defined.values()}


def test_helpers_inside_a_kernel_are_no_symbols_of_the_module(tools: Tools, kernels_ptx: str) -> None:
    cubin = tools.assemble(kernels_ptx, "sm_90a", "-ewp")
    assert b"$recursion$recursive" in cubin
    assert not [symbol for symbol in read_cubin(cubin).defined if "$recursion" in symbol.name]


def test_info_pickles(tools: Tools, kernels_ptx: str) -> None:
    info = read_cubin(tools.assemble(kernels_ptx, "sm_90a"))
    assert pickle.loads(pickle.dumps(info)) == info


def extend_numbering(cubin: bytes) -> bytes:
    """The same file with ELF's extended section numbering, as ptxas writes it from about 20,000 kernels on."""
    image = bytearray(cubin)
    (table,) = struct.unpack_from("<Q", image, 0x28)
    _, count, names = struct.unpack_from("<HHH", image, 0x3A)
    struct.pack_into("<HH", image, 0x3C, 0, 0xFFFF)
    struct.pack_into("<QI", image, table + 32, count, names)
    return bytes(image)


def test_extended_section_numbering(tools: Tools, kernels_ptx: str) -> None:
    cubin = tools.assemble(kernels_ptx, "sm_90a")
    assert read_cubin(extend_numbering(cubin)) == read_cubin(cubin)


def test_section_indices_of_symbols_beyond_16_bits(tools: Tools, kernels_ptx: str) -> None:
    cubin = tools.assemble(kernels_ptx, "sm_90a")
    elf = ELFFile(io.BytesIO(cubin))
    symbols = section(elf, ".symtab")
    table, count = elf["e_shoff"], elf["e_shnum"]
    image = bytearray(cubin)
    indices = b""
    for number in range(symbols.num_symbols()):
        position = symbols["sh_offset"] + 24 * number + 6
        (index,) = struct.unpack_from("<H", image, position)
        reserved = index == 0 or index >= 0xFF00
        indices += struct.pack("<I", 0 if reserved else index)
        if not reserved:
            struct.pack_into("<H", image, position, 0xFFFF)
    headers = image[table : table + 64 * count]
    headers += struct.pack(
        "<IIQQQQIIQQ", 0, 18, 0, 0, len(image), len(indices), elf.get_section_index(".symtab"), 0, 4, 4
    )
    image += indices
    struct.pack_into("<Q", image, 0x28, len(image))
    struct.pack_into("<H", image, 0x3C, count + 1)
    assert read_cubin(bytes(image + headers)) == read_cubin(cubin)
    with pytest.raises(InputError, match="section index is missing"):
        read_cubin(bytes(image + headers[:-64] + bytes(64)))


# --- what is not a CUBIN ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample() -> bytes:
    return (DATA / "cubin-abi7" / "sm_90a.c.cubin").read_bytes()


def patched(image: bytes, offset: int, layout: str, *values: int) -> bytes:
    copy = bytearray(image)
    struct.pack_into(layout, copy, offset, *values)
    return bytes(copy)


def section_header(image: bytes, name: str) -> int:
    elf = ELFFile(io.BytesIO(image))
    return int(elf["e_shoff"]) + 64 * (elf.get_section_index(name) or 0)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda _: b"", "it is empty"),
        (lambda _: b"not an ELF file at all", "does not start as an ELF"),
        (lambda image: image[:40], "within the ELF header"),
        (lambda image: image[: len(image) // 2], "truncated"),
        (lambda image: patched(image, 18, "<H", 62), "not for NVIDIA GPUs"),
        (lambda image: patched(image, 4, "<B", 1), "not for NVIDIA GPUs"),
        (lambda image: patched(image, 8, "<B", 9), "ABI version 9 is newer"),
        (lambda image: patched(image, 16, "<H", 3), "ELF type 0x3"),
        (lambda image: patched(image, 0x28, "<Q", 0), "no sections"),
        (lambda image: patched(image, 0x28, "<Q", 2**64 - 64), "past the end"),
        (lambda image: patched(image, 0x3A, "<H", 0), "wrong size"),
        (lambda image: patched(image, 0x3E, "<H", 0xFEFF), "section that does not exist"),
        (lambda image: patched(patched(image, 0x3C, "<H", 0), *_first_section_size(image, 2**60)), "past the end"),
        (lambda image: patched(image, section_header(image, ".symtab") + 32, "<Q", 2**63), "past the end"),
        (lambda image: patched(image, section_header(image, ".symtab") + 32, "<Q", 100), "partial entry"),
        (lambda image: patched(image, section_header(image, ".symtab") + 40, "<I", 2**31), "does not exist"),
        (lambda image: patched(image, section_header(image, ".strtab") + 32, "<Q", 1), "outside its string table"),
        (lambda image: patched(image, section_header(image, ".strtab") + 4, "<I", 8), "no contents"),
        (lambda image: patched(image, section_header(image, ".nv.info") + 32, "<Q", 6), ".nv.info section is damaged"),
    ],
)
def test_damaged_files_are_input_errors(sample: bytes, damage: Callable[[bytes], bytes], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        read_cubin(damage(sample), "bad.cubin")
    assert caught.value.input_name == "bad.cubin"
    assert str(caught.value).startswith("bad.cubin is not a readable CUBIN")


def _first_section_size(image: bytes, size: int) -> tuple[int, str, int]:
    (table,) = struct.unpack_from("<Q", image, 0x28)
    return table + 32, "<Q", size


def test_names_that_share_one_long_string(sample: bytes) -> None:
    """A file of 2 MB that asks for 30 GB of names."""
    elf = ELFFile(io.BytesIO(sample))
    sections, table = int(elf["e_shnum"]), int(elf["e_shoff"])
    symtab, strtab = section_header(sample, ".symtab"), section_header(sample, ".strtab")
    image = bytearray(sample)
    struct.pack_into("<QQ", image, strtab + 24, len(image), 1_000_001)
    image += b"A" * 1_000_000 + b"\0"
    struct.pack_into("<QQ", image, symtab + 24, len(image), 24 * 30_000)
    image += struct.pack("<IBBHQQ", 0, 0x10, 0, 0, 0, 0) * 30_000
    headers = image[table : table + 64 * sections]
    struct.pack_into("<Q", image, 0x28, len(image))
    with pytest.raises(InputError, match="names are longer"):
        read_cubin(bytes(image + headers))


def test_every_truncation_is_an_input_error(sample: bytes) -> None:
    end_of_headers = section_header(sample, ".symtab")  # cutting here loses section headers in any case
    for length in range(0, end_of_headers, 7):
        with pytest.raises(InputError):
            read_cubin(sample[:length])


def test_random_damage_never_crashes(sample: bytes) -> None:
    source = random.Random(1)
    outcomes = {"read": 0, "refused": 0}
    interesting = [*range(64), *range(section_header(sample, ".strtab") - 64, len(sample))]
    for _ in range(3000):
        image = bytearray(sample)
        for _ in range(source.randint(1, 4)):
            position = source.choice(interesting) if source.random() < 0.8 else source.randrange(len(image))
            image[position] = source.randrange(256)
        try:
            read_cubin(bytes(image))
            outcomes["read"] += 1
        except InputError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 100, outcomes
