"""What is changed in relocatable modules changes nothing but that."""

from __future__ import annotations

import pytest

from parcubin.inspect.cubin import read_cubin
from parcubin.inspect.shared_symbols import has_static_memory, with_alignments, with_weak_static_memory
from tests.inspect.cuda_tools import Tools
from tests.split.ptx_samples import CALL, function, kernel, module

ARCHITECTURE = "sm_90"


def writer(name: str, size: int, alignment: int) -> str:
    """A module with variables that are called as in every other: of the module, of a function and of a kernel."""
    write = "mov.u32 %r2, {0}; add.u32 %r2, %r2, %r1; st.volatile.shared.u8 [%r2], %r1;"
    return module(
        f".shared .align {alignment} .b8 tile[{size}];\n",
        function(f"write_{name}", f".shared .align 2 .b8 own[{size + 3}];" + write.format("own"), ""),
        kernel(
            name,
            f".shared .align 8 .b8 own[{size + 9}];"
            + write.format("own")
            + write.format("tile")
            + CALL.format(f"write_{name}"),
        ),
    )


def test_weak_static_memory_links_as_it_did(tools: Tools) -> None:
    """Directly and through `nvlink -r`, in every module under names of its own."""
    texts = (writer("first", 20, 4), writer("second", 70, 64))
    modules = [tools.assemble(text, ARCHITECTURE, "-c", name=f"m{i}") for i, text in enumerate(texts)]
    wanted = tools.link(modules, ARCHITECTURE)
    weak = [with_weak_static_memory(m) for m in modules]
    symbols = [[s for s in read_cubin(m).defined if s.kind == "shared"] for m in weak]
    assert all(s.binding == "weak" for several in symbols for s in several)
    assert [len(several) for several in symbols] == [3, 3]
    assert {s.name for s in symbols[0]}.isdisjoint(s.name for s in symbols[1])
    joined = tools.link(weak, ARCHITECTURE, "-r")
    for linked in (tools.link(weak, ARCHITECTURE), tools.link([joined], ARCHITECTURE)):
        assert tools.sass(linked) == tools.sass(wanted)
        assert tools.resource_usage(linked) == tools.resource_usage(wanted)


def test_visible_shared_memory_keeps_its_name(tools: Tools) -> None:
    text = module(".visible .shared .align 4 .b8 tile[20];\n", kernel("k", "st.volatile.shared.u32 [tile], %r1;"))
    weak = with_weak_static_memory(tools.assemble(text, ARCHITECTURE, "-c"))
    assert [(s.name, s.binding) for s in read_cubin(weak).defined if s.kind == "shared"] == [("tile", "weak")]


def test_nothing_to_change(tools: Tools) -> None:
    cubin = tools.assemble(module(kernel("k", "")), ARCHITECTURE, "-c")
    assert with_weak_static_memory(cubin) == cubin
    assert with_alignments(cubin, {"dynamic": 128}) == cubin
    assert not has_static_memory(cubin)


@pytest.mark.parametrize("kind", ["-c", "-ewp"])
def test_static_memory_is_seen(tools: Tools, kind: str) -> None:
    assert has_static_memory(tools.assemble(writer("k", 20, 4), ARCHITECTURE, kind))


def test_alignments_are_written(tools: Tools) -> None:
    code = "mov.u32 %r2, {0}; st.shared.u32 [%r2], %r1;"
    text = module(
        ".extern .shared .align 16 .b8 small[];\n.extern .shared .align 16 .b8 large[];\n",
        kernel("uses_large", code.format("large")),
        kernel("uses_small", code.format("small")),
    )
    info = read_cubin(with_alignments(tools.assemble(text, ARCHITECTURE, "-c"), {"large": 256, "small": 4}))
    assert {s.name: s.alignment for s in info.undefined if s.kind == "shared"}["large"] == 256
    assert info.dynamic_alignments["uses_large"] == 256
    assert info.dynamic_alignments["uses_small"] < 256
