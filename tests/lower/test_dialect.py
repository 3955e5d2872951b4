"""Literals of newer LLVM versions, checked against `struct`, which rounds and spells bits on its own."""

from __future__ import annotations

import random
import struct

import llvmlite.binding as llvm
import pytest

from parcubin.lower.dialect import in_llvm_22


def single(value: float) -> int:
    return int.from_bytes(struct.pack(">f", value), "big")


def double_of_single(bits: int) -> str:
    """How LLVM 22 writes the float with these bits."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', struct.unpack('>f', bits.to_bytes(4, 'big'))[0]))[0]:016X}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  %x = fadd float %y, f0x3727C5AC", "  %x = fadd float %y, 0x3EE4F8B580000000"),
        ("  %x = fadd double %y, f0x3FF0000000000001", "  %x = fadd double %y, 0x3FF0000000000001"),
        ("  %x = fadd half %y, f0x3C01", "  %x = fadd half %y, 0xH3C01"),
        ("  %x = fadd bfloat %y, f0x3F81", "  %x = fadd bfloat %y, 0xR3F81"),
        ("  %x = fmul float %y, 1.000000e-03", "  %x = fmul float %y, 0x3F50624DE0000000"),
        ("  %x = fmul float %y, 3.906250e-03", "  %x = fmul float %y, 3.906250e-03"),
        ("  %x = fmul double %y, 1.000000e-03", "  %x = fmul double %y, 1.000000e-03"),
        ("  %x = fmul float %y, 0x1.8p3", "  %x = fmul float %y, 0x4028000000000000"),
        (
            "  %x = select i1 %c, float -inf, float +inf",
            "  %x = select i1 %c, float 0xFFF0000000000000, float 0x7FF0000000000000",
        ),
        ("  %x = phi float [ +qnan, %a ], [ %v, %b ]", "  %x = phi float [ 0x7FF8000000000000, %a ], [ %v, %b ]"),
        ("@x = global float -snan(0x1)", "@x = global float 0xFFF0000020000000"),
        ("@x = global double +nan(0x1)", "@x = global double 0x7FF8000000000001"),
        ("  ret <2 x float> splat (float +qnan)", "  ret <2 x float> splat (float 0x7FF8000000000000)"),
        # What is no literal, or has no certain meaning, stays.
        ('  %x = call float asm "f0x3727C5AC 1.0e-03", "=f"() ; float 1.0e-03', None),
        ("  %float1.5e = fadd float %a+inf, %b", None),
        ("  %x = add i32 1, f0x3727C5AC", None),
        ("  %x = fadd float %y, f0x3727", None),
        ("  %x = fadd float %y, 1.0e+99", None),
        ("@x = global float +snan(0x0)", None),
    ],
)
def test_line(line: str, expected: str | None) -> None:
    assert in_llvm_22(line) == (line if expected is None else expected)


def test_bits_and_rounded_decimals_of_many_floats() -> None:
    numbers = random.Random(1)
    for _ in range(2000):
        bits = numbers.getrandbits(32)
        if (bits >> 23) & 0xFF == 0xFF:
            continue
        assert in_llvm_22(f"float f0x{bits:08X}") == f"float {double_of_single(bits)}"
        decimal = f"{numbers.uniform(1, 10):.17f}e{numbers.randint(-37, 37)}"
        assert in_llvm_22(f"float {decimal}") == f"float {double_of_single(single(float(decimal)))}"


def test_llvm_reads_what_comes_out() -> None:
    text = "@a = global float f0x3727C5AC\n@b = global half 1.0e-01\n"
    text += "@c = global bfloat -inf\n@d = global double +snan(0x5)\n"
    with pytest.raises(RuntimeError):
        llvm.parse_assembly(text)
    module = llvm.parse_assembly(in_llvm_22(text))
    assert [str(v).split(" ")[-1] for v in module.global_variables] == [
        "0x3EE4F8B580000000",
        "0xH2E66",
        "0xRFF80",
        "0x7FF0000000000005",
    ]
