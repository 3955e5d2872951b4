"""Messages of parts as those of the whole. That they are those of ptxas is checked in test_parts.py."""

from __future__ import annotations

import pytest

from parcubin.ptxas.messages import UnknownMessageError, joined_messages


def kernel(name: str, registers: int) -> str:
    return (
        f"ptxas info    : Compiling entry function '{name}' for 'sm_90'\n"
        f"ptxas info    : Function properties for {name}\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        f"ptxas info    : Used {registers} registers, used 0 barriers\n"
    )


def memory(size: int, other: str = "") -> str:
    return f"ptxas info    : {size} bytes gmem{other}\n"


def test_kernels_in_the_order_of_ptxas() -> None:
    logs = [memory(4) + kernel("b", 8), "", memory(0) + kernel("c", 9) + kernel("a", 10)]
    expected = memory(7) + kernel("c", 9) + kernel("b", 8) + kernel("a", 10)
    assert joined_messages(logs, ["a", "b", "c"], 7, verbose=True) == expected
    assert joined_messages(logs, ["a", "b", "c"], 7, verbose=False) == ""


def test_constants_are_added_up() -> None:
    logs = [memory(0, ", 40 bytes cmem[3]") + kernel("a", 8), memory(0) + kernel("b", 8)]
    assert joined_messages(logs, ["a", "b"], 0, verbose=True).startswith(memory(0, ", 40 bytes cmem[3]"))


def test_what_copies_of_a_function_say_is_said_once() -> None:
    deprecated = "ptxas a.ptx, line 9; warning : Instruction 'vote' is deprecated\n"
    double = "ptxas a.ptx, line 4; warning : Program is doing double precision computations.\n"
    logs = [deprecated + memory(0) + kernel("a", 8), double * 2 + deprecated + memory(0) + kernel("b", 8)]
    assert joined_messages(logs, ["a", "b"], 0, verbose=False) == double * 2 + deprecated


def test_messages_about_functions_stand_with_the_kernel() -> None:
    spill = "ptxas warning : Registers are spilled to local memory in function 'f', 4 bytes spill stores\n"
    stack = "ptxas warning : Stack size for entry function '{}' cannot be statically determined\n"
    logs = [stack.format("a") + spill + memory(0) + kernel("a", 8), spill + memory(0) + kernel("b", 8)]
    assert joined_messages(logs, ["a", "b"], 0, verbose=False) == spill + stack.format("a") + spill


def test_what_extensible_compiles_say_twice_is_said_once() -> None:
    override = "ptxas info    : Overriding maximum register limit 256 for 'a' with  24 of maxrregcount option\n"
    dummy = override.replace("'a'", "'__cuda_dummy_entry__'")
    log = override * 2 + dummy + memory(0) + kernel("a", 8)
    assert joined_messages([log], ["a"], 0, verbose=True) == override + memory(0) + kernel("a", 8)


@pytest.mark.parametrize("line", ["something else", "ptxas info    : 4 bytes gmem and more"])
def test_unknown_message(line: str) -> None:
    with pytest.raises(UnknownMessageError):
        joined_messages([line], ["a"], 0, verbose=True)
