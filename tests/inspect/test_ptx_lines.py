"""PTX that machine code of linked CUBINs is traced back to; tests/split/test_ptx_lines.py checks whole programs."""

from __future__ import annotations

from io import BytesIO

import pytest
from elftools.elf.elffile import ELFFile

from parcubin.inspect.ptx_lines import with_own_ptx_lines, without_ptx_lines
from tests.inspect.cuda_tools import Tools
from tests.split.ptx_samples import kernel, module


def modules(tools: Tools, arch: str, kind: str) -> list[bytes]:
    bodies = {f"k{n}": f".loc 1 {n} 1\nadd.u32 %r1, %r1, {n}7;\n" + "\n" * 70 * n for n in range(3)}
    texts = [module(kernel(name, body), kernel(f"{name}b", body), '.file 1 "/a.cu"\n') for name, body in bodies.items()]
    texts[1] = texts[1].replace("k1_param_0", "p").rstrip()  # a text whose last line does not end
    return [
        tools.assemble(t.replace("sm_90", arch), arch, "-lineinfo", kind, name=f"m{n}") for n, t in enumerate(texts)
    ]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])  # whose relocations differ
def test_extensible_modules(arch: str, tools: Tools) -> None:
    inputs = modules(tools, arch, "-ewp")
    expected = {name: rows for m in inputs for name, rows in tools.ptx_of_code(m).items()}
    assert len(expected) == 6
    linked = tools.link(inputs, arch)
    assert tools.ptx_of_code(linked) != expected
    corrected = with_own_ptx_lines(linked, inputs)
    assert corrected is not None
    assert tools.ptx_of_code(corrected) == expected
    assert tools.line_table(corrected) == tools.line_table(linked)
    assert tools.sass(corrected) == tools.sass(linked)


def test_plain_modules_are_right_as_they_are(tools: Tools) -> None:
    inputs = modules(tools, "sm_90", "-c")
    linked = tools.link(inputs, "sm_90")
    assert with_own_ptx_lines(linked, inputs) == linked


def test_what_is_not_as_expected_is_left_out(tools: Tools) -> None:
    inputs = modules(tools, "sm_80", "-ewp")
    linked = tools.link(inputs, "sm_80")
    assert with_own_ptx_lines(linked, inputs[:2]) is None
    assert with_own_ptx_lines(linked, inputs[::-1]) is None
    assert with_own_ptx_lines(inputs[0], inputs) is None
    for image in (linked, with_own_ptx_lines(linked, inputs)):
        assert image is not None
        bare = without_ptx_lines(image)
        assert not any("File" in row for rows in tools.line_table(bare, "-gp").values() for row in rows)
        assert tools.line_table(bare) == tools.line_table(linked)


def test_local_functions_of_one_name_keep_their_sections(tools: Tools) -> None:
    """Modules compiled with -c have a copy each of the helper routine that divides."""
    texts = [
        module(kernel(f"k{n}", ".reg .b64 %rq;\ndiv.u64 %rq, %rd1, %rd1;\nst.u64 [%rd1], %rq;\n")) for n in range(5)
    ]
    inputs = [
        tools.assemble(text, "sm_90", "-lineinfo", "-c" if n < 2 else "-ewp", name=f"m{n}")
        for n, text in enumerate(texts)
    ]
    linked = tools.link(inputs, "sm_90")
    names = [section.name for section in ELFFile(BytesIO(linked)).iter_sections()]
    assert len(set(names)) < len(names)
    corrected = with_own_ptx_lines(linked, inputs)
    assert corrected is not None
    before, after = (list(ELFFile(BytesIO(image)).iter_sections()) for image in (linked, corrected))
    changed = {a.name for a, b in zip(after, before, strict=True) if a.header != b.header or a.data() != b.data()}
    assert changed == {".nv_debug_line_sass", ".rela.nv_debug_line_sass"}
