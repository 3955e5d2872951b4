"""LLVM's passes at a level of their own: what is right without them, and what is still optimised."""

from __future__ import annotations

import pytest

import parcubin
from parcubin.model import CompilationOptions
from tests.split.comparison import Comparer
from tests.split.samples import HEADER, function, kernel

REFLECTS = (
    """@ftz = private unnamed_addr addrspace(1) constant [11 x i8] c"__CUDA_FTZ\\00"
@arch = private unnamed_addr addrspace(1) constant [12 x i8] c"__CUDA_ARCH\\00"
declare i32 @__nvvm_reflect(ptr)
declare float @__nv_sinf(float)
declare float @__nv_expf(float)

"""
    + function("scale", words="alwaysinline")
    + function("once")
    + kernel(
        "reflects",
        """  %ftz = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(1) @ftz to ptr))
  %arch = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(1) @arch to ptr))
  %sum = add i32 %ftz, %arch
  %product = call i32 @scale(i32 %sum)
  store i32 %product, ptr %p, align 4
""",
    )
    + kernel(
        "sine",
        """  %x = load float, ptr %p, align 4
  %y = call float @__nv_sinf(float %x)
  store float %y, ptr %p, align 4
""",
    )
    + kernel(
        "exponential",
        """  %x = load float, ptr %p, align 4
  %y = call float @__nv_expf(float %x)
  %i = fptosi float %y to i32
  %z = call i32 @once(i32 %i)
  store i32 %z, ptr %p, align 4
""",
    )
)


@pytest.mark.parametrize("level", range(4))
def test_the_code_is_that_of_the_whole_program(compare: Comparer, level: int) -> None:
    compare(HEADER + REFLECTS, options=CompilationOptions(llvm_opt_level=level))


SUMS = function("twice", words="") + kernel(
    "sums",
    """  %x = load i32, ptr %p, align 4
  %y = call i32 @twice(i32 %x)
  store i32 %y, ptr %p, align 4
""",
)


def test_passes_are_left_out_and_code_generation_optimises(compiler: parcubin.Compiler) -> None:
    def ptx(opt_level: int = 3, llvm_opt_level: int | None = None) -> str:
        options = CompilationOptions(opt_level=opt_level, llvm_opt_level=llvm_opt_level)
        (text,) = compiler.compile(HEADER + SUMS, output="ptx", options=options).ptx
        return text.text

    assert "call.uni" not in ptx()
    assert "call.uni" in ptx(llvm_opt_level=0)
    assert "ld.global" in ptx(llvm_opt_level=0)
    assert "ld.global" not in ptx(opt_level=0)
    assert ptx(llvm_opt_level=3) == ptx()
    assert "call.uni" not in ptx(opt_level=0, llvm_opt_level=3)
