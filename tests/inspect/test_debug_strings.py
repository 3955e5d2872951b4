"""Line tables of linked CUBINs; tests/split/test_ptx_lines.py checks what they say after a link."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcubin.inspect.cubin import section_places
from parcubin.inspect.debug_strings import with_own_strings
from tests.inspect.cuda_tools import Tools

INLINED = (Path(__file__).parent.parent / "data" / "inlined.ptx").read_text()


def modules(tools: Tools, *options: str) -> list[bytes]:
    texts = [INLINED, INLINED.replace("Pi", "Pj").replace("_Z6called", "_Z6callee").replace("/src/", "/other/")]
    return [tools.assemble(text, "sm_80", "-lineinfo", *options, name=f"m{n}") for n, text in enumerate(texts)]


def test_extensible_modules(tools: Tools) -> None:
    """ptxas writes no relocation, so nvlink leaves the second module's line table with the first one's strings."""
    inputs = modules(tools, "-ewp")
    linked = tools.link(inputs, "sm_80")
    corrected = with_own_strings(linked, inputs)
    changed = [i for i, (before, after) in enumerate(zip(linked, corrected, strict=True)) if before != after]
    assert changed
    table = section_places(linked)[".debug_line"]
    assert all(i in range(table.start, table.stop) for i in changed)
    strings = section_places(inputs[0])[".debug_str"]
    assert int.from_bytes(corrected[changed[0] : changed[0] + 4], "little") == strings.stop - strings.start
    assert with_own_strings(corrected, inputs) == corrected


def test_plain_modules_are_right_as_they_are(tools: Tools) -> None:
    inputs = modules(tools, "-c")
    linked = tools.link(inputs, "sm_80")
    assert with_own_strings(linked, inputs) == linked


@pytest.mark.parametrize("kind", ["-ewp", "-c"])
def test_what_is_not_as_expected_stays_as_it_is(tools: Tools, kind: str) -> None:
    inputs = modules(tools, kind)
    linked = tools.link(inputs, "sm_80")
    without_lines = tools.assemble(
        ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }", "sm_80", kind
    )
    assert with_own_strings(linked, inputs[:1]) == linked
    assert with_own_strings(linked, inputs[::-1]) == linked
    assert with_own_strings(linked, [*inputs, inputs[0]]) == linked
    assert with_own_strings(without_lines, inputs) == without_lines
    damaged = inputs[0].replace(b"inlined.cu\0", b"inlined.cu\xff")
    assert with_own_strings(linked, [damaged, inputs[1]]) == linked
    assert with_own_strings(linked, [without_lines, *inputs]) == with_own_strings(linked, inputs)
