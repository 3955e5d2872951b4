"""Programs in PTX, like those in `programs`."""

from __future__ import annotations

from tests.split.ptx_samples import CALL, CALL_POINTER, function, kernel, module, prototype

_ELEMENT = "and.b32 %r2, %r1, 3; mad.wide.u32 %rd2, %r2, {size}, {array}; "
_TABLE = "mov.u64 %rd3, {0}; " + _ELEMENT.format(size=4, array="%rd3")

FUNCTION_POINTERS = module(
    function("twice", "shl.b32 %r1, %r1, 1;"),
    function("square", "mul.lo.u32 %r1, %r1, %r1;", linkage=""),
    function("negated", "neg.s32 %r1, %r1;", linkage=""),
    ".global .align 8 .u64 callees[4] = {twice, square, twice, square};\n",
    kernel("change", "mov.u64 %rd2, negated; st.global.u64 [callees+16], %rd2;"),
    kernel(
        "invoke",
        "mov.u64 %rd3, callees; "
        + _ELEMENT.format(size=8, array="%rd3")
        + "ld.global.u64 %rd4, [%rd2];"
        # A pointer may differ between threads.
        + CALL_POINTER.format("%rd4"),
    ),
    kernel("directly", CALL.format("square")),
)

VARIABLES = module(
    ".global .align 4 .u32 counter = 100;\n.global .align 4 .u32 function_$_calls = 7;\n",
    ".const .align 4 .u32 named[4] = {11, 22, 33, 44};\n.const .align 4 .u32 un$named[4] = {5, 6, 7, 8};\n",
    ".global .align 4 .u32 $str[4] = {1, 2, 3, 5};\n.global .align 8 .u64 where = counter;\n",
    kernel("count", "atom.global.add.u32 %r2, [counter], %r1; atom.global.add.u32 %r3, [function_$_calls], 2;"),
    kernel(
        "look", "ld.global.u32 %r2, [counter]; ld.global.u32 %r3, [function_$_calls]; mad.lo.u32 %r1, %r2, %r3, %r1;"
    ),
    kernel("follow", "ld.global.u64 %rd2, [where]; ld.global.u32 %r2, [%rd2]; add.u32 %r1, %r1, %r2;"),
    kernel("named_table", _TABLE.format("named") + "ld.const.u32 %r1, [%rd2];"),
    kernel("named_table_too", _TABLE.format("named") + "ld.const.u32 %r1, [%rd2]; shl.b32 %r1, %r1, 4;"),
    kernel("unnamed_table", _TABLE.format("un$named") + "ld.const.u32 %r1, [%rd2];"),
    kernel("string", _TABLE.format("$str") + "ld.global.u32 %r1, [%rd2];"),
)

FUNCTIONS = module(
    prototype("odd", ""),
    ".shared .align 4 .u32 fixed[32];\n.extern .shared .align 16 .b8 dynamic[];\n",
    function(
        "even", f".reg .pred p; setp.lt.s32 p, %r1, 1; @p bra end; sub.s32 %r1, %r1, 1; {CALL.format('odd')} end:", ""
    ),
    function(
        "odd", f".reg .pred p; setp.lt.s32 p, %r1, 1; @p bra end; sub.s32 %r1, %r1, 2; {CALL.format('even')} end:", ""
    ),
    function(
        "neighbour",
        "mov.u32 %r2, %tid.x; xor.b32 %r3, %r2, 1; shl.b32 %r2, %r2, 2; shl.b32 %r3, %r3, 2; mov.u32 %r4, fixed;"
        "add.u32 %r2, %r2, %r4; add.u32 %r3, %r3, %r4; st.shared.u32 [%r2], %r1; bar.sync 0;"
        "ld.shared.u32 %r1, [%r3]; bar.sync 0;",
        linkage=".weak ",
    ),
    prototype("alias_of_neighbour", ".visible "),
    function("plain_neighbour", CALL.format("neighbour")),
    ".alias alias_of_neighbour, plain_neighbour;\n",
    kernel("recurse", CALL.format("even")),
    kernel("recurse_too", CALL.format("odd") + "add.u32 %r1, %r1, 40;"),
    kernel("exchange", "mul.lo.u32 %r1, %r1, 3;" + CALL.format("neighbour")),
    kernel("exchange_twice", CALL.format("alias_of_neighbour") + "add.u32 %r1, %r1, 1;" + CALL.format("neighbour")),
    kernel(
        "reverse",
        "shl.b32 %r2, %r1, 2; mov.u32 %r3, dynamic; add.u32 %r4, %r3, %r2; st.shared.u32 [%r4], %r1; bar.sync 0;"
        "sub.u32 %r5, 124, %r2; add.u32 %r4, %r3, %r5; ld.shared.u32 %r1, [%r4];",
    ),
)
