"""Programs in LLVM IR whose kernels `void k(ptr)` show whether a split program computes what the whole one computes."""

from __future__ import annotations

from tests.gpu.ptx_programs import PTX_PROGRAMS
from tests.pipeline.samples import CONSTANT_TABLES, kernel, module

_THREAD = "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
_OUT = "  %o = getelementptr i32, ptr %p, i32 %t\n"
_DECLARES = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"


def _per_thread(name: str, value: str, attributes: str = "") -> str:
    """A kernel in which thread t stores `%v`, which `value` computes, to element t."""
    return kernel(name, f"{_THREAD}{value}{_OUT}  store i32 %v, ptr %o\n", attributes)


FUNCTION_POINTERS = module(
    _DECLARES,
    "@callees = internal addrspace(1) global [2 x ptr] [ptr @double, ptr @square], align 8\n",
    "define internal i32 @double(i32 %x) noinline {\n  %y = shl i32 %x, 1\n  ret i32 %y\n}\n",
    "define internal i32 @square(i32 %x) noinline {\n  %y = mul i32 %x, %x\n  ret i32 %y\n}\n",
    *(
        _per_thread(
            name,
            f"  %i = and i32 %t, 1\n  %s = xor i32 %i, {swap}\n"
            "  %g = getelementptr [2 x ptr], ptr addrspace(1) @callees, i32 0, i32 %s\n"
            "  %f = load volatile ptr, ptr addrspace(1) %g\n  %v = call i32 %f(i32 %t)\n",
        )
        for name, swap in (("straight", 0), ("crossed", 1))
    ),
    _per_thread("bystander", "  %v = add i32 %t, 7\n"),
)

HELPERS_AND_RECURSION = module(
    _DECLARES,
    "declare float @__nv_sinf(float)\n",
    "define i32 @fibonacci(i32 %n) noinline {\n"
    "  %small = icmp slt i32 %n, 2\n  br i1 %small, label %base, label %deeper\n"
    "base:\n  ret i32 %n\n"
    "deeper:\n  %a = sub i32 %n, 1\n  %b = sub i32 %n, 2\n  %x = call i32 @fibonacci(i32 %a)\n"
    "  %y = call i32 @fibonacci(i32 %b)\n  %z = add i32 %x, %y\n  ret i32 %z\n}\n",
    _per_thread("recurse", "  %m = and i32 %t, 15\n  %v = call i32 @fibonacci(i32 %m)\n"),
    _per_thread("recurse_too", "  %m = and i32 %t, 7\n  %w = call i32 @fibonacci(i32 %m)\n  %v = mul i32 %w, 3\n"),
    _per_thread(
        "sine",
        "  %f = sitofp i32 %t to float\n  %big = fmul float %f, 1.0e+06\n  %s = call float @__nv_sinf(float %big)\n"
        "  %v = bitcast float %s to i32\n",
    ),
    _per_thread(
        "divide", "  %d = add i32 %t, 3\n  %q = sdiv i32 100000, %d\n  %r = srem i32 %q, %d\n  %v = xor i32 %q, %r\n"
    ),
    _per_thread(
        "divide_floats",
        "  %f = sitofp i32 %t to double\n  %g = fadd double %f, 0.3\n  %q = fdiv double 1.0, %g\n"
        "  %b = bitcast double %q to i64\n  %h = lshr i64 %b, 17\n  %v = trunc i64 %h to i32\n",
    ),
)

SHARED_MEMORY = module(
    _DECLARES,
    "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n",
    "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)\n",
    "@fixed = internal addrspace(3) global [32 x i32] undef, align 4\n",
    "@dynamic = external addrspace(3) global [0 x i32], align 16\n",
    *(
        _per_thread(
            f"reverse_{array}",
            f"  %s = getelementptr i32, ptr addrspace(3) @{array}, i32 %t\n  %x = mul i32 %t, {factor}\n"
            "  store i32 %x, ptr addrspace(3) %s\n  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
            f"  %u = sub i32 31, %t\n  %r = getelementptr i32, ptr addrspace(3) @{array}, i32 %u\n"
            "  %v = load i32, ptr addrspace(3) %r\n",
        )
        for array, factor in (("fixed", 3), ("dynamic", 5))
    ),
    _per_thread("shuffle", "  %v = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 5, i32 31)\n"),
)

SHARED_STATE = module(
    _DECLARES,
    "@state = internal addrspace(1) global [32 x i32] zeroinitializer, align 4\n",
    "@seed = internal unnamed_addr addrspace(1) constant [4 x i32] [i32 3, i32 1, i32 4, i32 1], align 4\n",
    kernel(
        "produce",
        f"{_THREAD}  %i = and i32 %t, 3\n  %g = getelementptr [4 x i32], ptr addrspace(1) @seed, i32 0, i32 %i\n"
        "  %s = load i32, ptr addrspace(1) %g\n  %w = mul i32 %s, %t\n"
        "  %o = getelementptr [32 x i32], ptr addrspace(1) @state, i32 0, i32 %t\n"
        "  store i32 %w, ptr addrspace(1) %o\n",
    ),
    _per_thread(
        "consume",
        "  %g = getelementptr [32 x i32], ptr addrspace(1) @state, i32 0, i32 %t\n"
        "  %s = load i32, ptr addrspace(1) %g\n  %v = add i32 %s, 1000\n",
    ),
)

PROGRAMS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "constant tables": (CONSTANT_TABLES, ("first", "second", "third", "first"), ("table", "other", "counter")),
    "function pointers": (FUNCTION_POINTERS, ("straight", "crossed", "bystander"), ()),
    "helpers": (HELPERS_AND_RECURSION, ("recurse", "recurse_too", "sine", "divide", "divide_floats"), ()),
    "shared memory": (SHARED_MEMORY, ("reverse_fixed", "reverse_dynamic", "shuffle"), ()),
    "shared state": (SHARED_STATE, ("produce", "consume"), ()),
    **PTX_PROGRAMS,
}
"""Each program with the kernels to run, in order, and the variables to read afterwards."""
