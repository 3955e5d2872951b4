"""Room for dynamic shared memory where a release loses its alignment; test_conformance.py has what comes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parcubin.errors import LinkCheckError
from parcubin.inspect.cubin import CubinInfo, CubinKind
from parcubin.model import DeferredModule, KernelInfo, Ptx
from parcubin.providers.dynamic_alignment import check_alignments, dynamic_alignments, with_room, with_room_in_module

OLD, NEW = (13, 0), (13, 1)
HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
DYNAMIC = ".extern .shared .align 128 .b8 dynamic[];\n"


@pytest.mark.parametrize(
    ("written", "larger"),
    [
        (".shared .align 1 .b8 v[5];", ".shared .align 128 .b8 v[128];"),
        (".shared .align 4 .u32 a, b[40];", ".shared .align 128 .u32 a[32], b[64];"),
        (".shared .b64 barrier;", ".shared .align 128 .b64 barrier[16];"),
        (".shared .align 256 .b8 v[0x81];", ".shared .align 256 .b8 v[256];"),
        (".shared .align 4 .u32 v[5][3];", ".shared .align 128 .u32 v[32][3];"),
        (".shared .align 16 .v4 .f32 v[8];", ".shared .align 128 .v4 .f32 v[8];"),
        (".shared .align 4 // .shared .b8 no[3];\n.b8 v[5];", ".shared .align 128 .b8 v[128];\n"),
    ],
)
def test_static_memory_is_rounded_up(written: str, larger: str) -> None:
    around = "{before}.visible .entry k(.param .u64 .ptr .shared .align 4 p)\n{{\n{inside}\nst.shared.u32 [v], 1;\n}}\n"
    for place in ("before", "inside"):
        text, wanted = (
            HEADER + DYNAMIC + around.format(**{"before": "", "inside": "", place: v}) for v in (written, larger)
        )
        assert with_room_in_module(Ptx(text), OLD).text == wanted


@pytest.mark.parametrize(
    "text",
    [
        DYNAMIC + ".visible .shared .align 1 .b8 v[5];\n.extern .shared .align 1 .b8 w[5];\n",
        DYNAMIC + "// .shared .align 1 .b8 v[5];\n",
        ".extern .shared .align 16 .b8 dynamic[];\n.shared .align 1 .b8 v[5];\n",
        ".shared .align 128 .b8 v[5];\n",
    ],
)
def test_what_stays(text: str) -> None:
    assert with_room_in_module(Ptx(HEADER + text), OLD) == Ptx(HEADER + text)


def test_newer_releases_need_nothing() -> None:
    ptx = Ptx(HEADER + DYNAMIC + ".shared .align 1 .b8 v[5];\n")
    assert with_room([ptx], NEW) == [ptx]


def test_all_ptx_of_a_link_makes_room() -> None:
    """Kernels of one call functions of the other."""
    static = Ptx(HEADER + ".shared .align 1 .b8 v[5];\n", "static")
    found = with_room([DeferredModule(static), Ptx(HEADER + DYNAMIC, "dynamic")], OLD)
    assert found == [
        Ptx(HEADER + ".shared .align 128 .b8 v[128];\n", "static"),
        Ptx(HEADER + DYNAMIC, "dynamic"),
    ]


def test_alignments_are_read() -> None:
    text = HEADER + DYNAMIC + ".extern .shared .b8 small[];\n.extern .shared .align 64 .b8 sized[8];\n"
    assert dynamic_alignments(text) == {"dynamic": 128, "small": 16}


def test_what_lies_in_front_of_dynamic_memory_is_checked() -> None:
    kernel = KernelInfo("k", 8, 128, 0, None, None)
    module = CubinInfo(CubinKind.PLAIN, 90, {"k": kernel}, {}, (), (), dynamic_alignments={"k": 128})
    output = CubinInfo(CubinKind.ASSEMBLY, 90, {"k": kernel}, {}, (), ())
    check_alignments(output, [module])
    wrong = replace(output, kernels={"k": replace(kernel, shared_bytes=133)})
    with pytest.raises(LinkCheckError, match=r"kernel k must be aligned to 128 bytes.*13\.1 or newer") as raised:
        check_alignments(wrong, [module])
    assert raised.value.kernels == ("k",)
    check_alignments(wrong, [replace(module, kind=CubinKind.EXTENSIBLE_WHOLE_PROGRAM)])
