"""What compiling takes, predicted from text."""

from __future__ import annotations

from parcubin.split.cost import INLINED_COST, back_edges, inlined_costs
from parcubin.split.llvm_ir import LlvmOutline, outline_llvm_ir
from parcubin.split.plan import plan_shards
from tests.split.samples import HEADER, call, function, kernel

LOOPS = kernel(
    "k",
    """  br label %outer

outer:                                            ; preds = %"in ner", %0
  br label %"in ner"

"in ner":                                         ; preds = %"in ner", %outer
  br i1 true, label %outer, label %"in ner"

5:                                                ; No predecessors!
  br label %6

6:                                                ; preds = %5
""",
)


def test_loops_are_branches_backwards() -> None:
    assert back_edges(LOOPS) == 2
    assert back_edges(kernel("k")) == 0


def test_each_copy_of_an_inlined_function_costs() -> None:
    # 0 calls 1 twice and 2 once, 1 calls 2 three times
    calls = [[(1, 2), (2, 1)], [(2, 3)], []]
    assert inlined_costs([100, 10, 1], calls, [True, False, False]) == [100 + 2 * (10 + 3) + 1, 0, 0]
    assert inlined_costs([100, 10, 1], calls, [True, True, False]) == [100 + 1, 10 + 3, 0]


def test_what_is_too_large_or_reaches_itself_is_not_inlined() -> None:
    assert inlined_costs([1, INLINED_COST + 1], [[(1, 5)], []], [True, False]) == [1, INLINED_COST + 1]
    assert inlined_costs([1, 2, 3], [[(1, 5)], [(2, 1)], [(1, 1)]], [True, False, False]) == [1, 2, 3]


def outline(text: str) -> LlvmOutline:
    return outline_llvm_ir(HEADER + text)


def cost(text: str) -> int:
    """Of the kernels in one shard."""
    (shard,) = plan_shards([outline(text)], "bundle").shards
    return shard.cost


ADDS = "".join(f"  %y{i} = add i32 %x, {i}\n" for i in range(20)) + "  ret i32 %x\n"


def test_kernels_that_share_a_function_have_a_copy_each_unless_it_is_not_inlined() -> None:
    def shared(words: str) -> str:
        return function("f", body=ADDS, words=words)

    one, two = call("a", "@f"), call("a", "@f") + call("b", "@f")
    empty = cost(kernel("a"))
    inlined, kept = (cost(shared(words) + two) - cost(shared(words) + one) for words in ("", "noinline"))
    assert inlined > 2 * kept > empty
    grouped = function("f", body=ADDS, words="#0") + two + "attributes #0 = { noinline nounwind }\n"
    assert cost(grouped) == cost(shared("noinline") + two)


def test_calls_are_counted_without_the_head() -> None:
    symbols = outline(
        function("f", body="  %a = call i32 @f(i32 %x)\n  %b = call i32 @g(i32 %a)\n  ret i32 %b\n") + function("g")
    ).symbols
    assert symbols["f"].calls == {"f": 1, "g": 1}
    assert symbols["g"].calls == {}


def test_functions_of_libdevice_cost() -> None:
    declared = "declare i32 @__nv_f(i32)\ndeclare i32 @f(i32)\n"
    assert cost(declared + call("k", "@__nv_f")) > 1.4 * cost(declared + call("k", "@f"))
