"""Programs whose kernels `void k(ptr)` show whether a split program computes what the whole one computes.

Most are CUDA C++ (the folder `cuda`), as LLVM IR from clang and as PTX from nvcc; the rest is written by hand.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.gpu import ptx_programs
from tests.gpu.launch import Launch
from tests.pipeline.samples import CONSTANT_TABLES, kernel, module

CUDA = Path(__file__).resolve().parent / "cuda"

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


TENSOR_CORES = module(
    _DECLARES,
    "declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>,"
    " float, float, float, float)\n",
    *(
        _per_thread(
            f"multiply_by_{factor}",
            "  %b = and i32 %t, 7\n  %n = sitofp i32 %b to half\n  %h = insertelement <2 x half> <half 0xH3C00, half"
            f" 0xH4000>, half %n, i32 0\n  %k = fmul <2 x half> %h, <half 0xH{factor:04X}, half 0xH3C00>\n"
            "  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.f32.f32(<2 x half> %h,"
            " <2 x half> %k, <2 x half> %h, float 1.0, float 2.0, float 3.0, float 4.0)\n"
            "  %x = extractvalue { float, float, float, float } %d, 1\n"
            "  %y = extractvalue { float, float, float, float } %d, 2\n  %s = fadd float %x, %y\n"
            "  %v = bitcast float %s to i32\n",
        )
        for factor in (0x3C00, 0x4200)
    ),
)


def _with_dynamic_memory(name: str, alignment: int) -> str:
    """A kernel whose threads exchange values through dynamic shared memory behind an odd number of other bytes; each
    adds the low bits of the memory's address, which are zero when it is aligned."""
    return module(
        _DECLARES,
        "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n",
        "@odd = internal addrspace(3) global [5 x i8] undef, align 1\n",
        f"@dynamic = external addrspace(3) global [0 x i8], align {alignment}\n",
        _per_thread(
            name,
            "  %i = urem i32 %t, 5\n  %q = getelementptr i8, ptr addrspace(3) @odd, i32 %i\n"
            "  store volatile i8 7, ptr addrspace(3) %q\n  %s = getelementptr i32, ptr addrspace(3) @dynamic, i32 %t\n"
            f"  %x = mul i32 %t, {alignment}\n  store i32 %x, ptr addrspace(3) %s\n"
            "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n  %u = sub i32 31, %t\n"
            "  %r = getelementptr i32, ptr addrspace(3) @dynamic, i32 %u\n  %w = load i32, ptr addrspace(3) %r\n"
            "  %a = ptrtoint ptr addrspace(3) @dynamic to i32\n"
            '  %m = call i32 asm "and.b32 $0, $1, $2;", "=r,r,n"(i32 %a, '
            f"i32 {alignment - 1})\n  %h = shl i32 %m, 16\n  %v = add i32 %w, %h\n",
        ),
    )


KERNELS_THAT_LAUNCH = module(
    _DECLARES,
    "%dim3 = type { i32, i32, i32 }\n",
    "declare ptr @__cudaCDP2GetParameterBufferV2(ptr, %dim3, %dim3, i32)\n",
    "declare i32 @__cudaCDP2LaunchDeviceV2(ptr, ptr)\n",
    _per_thread("child", "  %v = mul i32 %t, 9\n"),
    kernel(
        "parent",
        "  %b = call ptr @__cudaCDP2GetParameterBufferV2(ptr @child, %dim3 { i32 1, i32 1, i32 1 },"
        " %dim3 { i32 32, i32 1, i32 1 }, i32 0)\n  store ptr %p, ptr %b, align 8\n"
        "  %r = call i32 @__cudaCDP2LaunchDeviceV2(ptr %b, ptr null)\n",
    ),
    _per_thread("bystander", "  %v = add i32 %t, 7\n"),
)


@dataclass(frozen=True)
class Program:
    """A program and how to run it.

    Attributes:
        modules: LLVM IR or PTX.
        launches: the kernels to run, in order.
        variables: variables to read afterwards.
        reference: the modules of the whole program to compare with, where they are not `modules`.
        impossible: the ways that the program cannot go, because its kernels need a link.
        missing: what the error says is missing then.
        needs_device_runtime: kernels launch kernels.
        is_apart: it prints or fails, so it runs in a process of its own.
    """

    modules: tuple[str, ...]
    launches: tuple[Launch, ...]
    variables: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()
    missing: str = ""
    needs_device_runtime: bool = False
    is_apart: bool = False

    @property
    def kernels(self) -> frozenset[str]:
        """The kernels that are run."""
        return frozenset(launch.kernel for launch in self.launches)


def _runs(*kernels: str, **how: Any) -> tuple[Launch, ...]:
    return tuple(Launch(kernel, **how) for kernel in kernels)


_SETTINGS = struct.pack("<6Id", 3, 10, 20, 30, 40, 50, 1.75)
_LAUNCHES: Mapping[str, tuple[Launch, ...]] = {
    "arithmetic": _runs(
        *("divide_integers", "divide_long_integers", "divide_floats", "divide_doubles"),
        *("trigonometry_of_floats", "trigonometry_of_doubles", "powers"),
    ),
    "cluster": _runs("swap_in_cluster", "reverse_in_cluster", blocks=4),
    "grid": (*_runs("sum_of_blocks", blocks=4), *_runs("start_again"), *_runs("sum_of_blocks", blocks=3)),
    "heap": _runs("allocate", "use", "release", "allocate_and_free"),
    "launch": (
        *_runs("bounded", "bounded_more", "bounded_directly"),
        *(Launch(k, arguments=(_SETTINGS,)) for k in ("by_value", "by_value_and_changed", "grid_constant")),
    ),
    "memory": _runs(
        *("exchange", "exchange_twice", "reverse_words", "reverse_bytes", "reverse_doubles", "add_in_shared_memory"),
        threads=64,
        shared=512,
    ),
    "output": _runs("print", "print_more", "check", "fail"),
    "recursion": _runs("recurse", "recurse_too", "recurse_mutually", "recurse_mutually_too", "recurse_deeply"),
    "state": _runs(
        *("count", "count_backwards", "remember", "recall", "follow", "hide", "count_backwards", "recall", "count"),
        *("follow", "remember"),
    ),
    "tables": (
        *_runs("look_up", "look_up_too", "look_up_squares", "choose", "choose_twice", "spell", "spell_too"),
        Launch("look_up_what_the_host_set", set_before=(("set_by_host", struct.pack("<4I", 500, 600, 700, 800)),)),
        *_runs("look_up"),
    ),
    "tensor": _runs("multiply_halves", "multiply_bytes", "multiply_tiles"),
    "textures": (Launch("fetch", texture=True), Launch("fetch_twice", texture=True)),
    "virtuals": _runs(
        *("make_shapes", "use_shapes", "use_own_shapes", "free_shapes", "operate", "change_operations", "operate"),
        "call_directly",
    ),
    "warp": _runs("shuffle_all", "shuffle_some", "vote_all", "vote_some", "match", "reduce"),
}
_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "state": ("counter", "history", "total", "largest"),
    "tables": ("primes", "factors", "set_by_host"),
}
_TWO_MODULES = _runs(
    *("call_scaled", "call_shifted", "write_of_callee", "write_of_caller", "call_back", "call_scaled", "call_shifted")
)
_OF_TWO_MODULES = ("of_callee", "of_caller")
_BUNDLES = ("bundle", "linked late")


def _compiled(source: str, form: str) -> str:
    """A file of the folder `cuda`: `warp.ll`."""
    text = (CUDA / f"{source}.{form}").read_text()
    if (source, form) == ("cluster", "ll"):  # clang 22 ignores `__cluster_dims__`
        text = text.replace('"nvvm.maxntid"="32"', '"nvvm.maxntid"="32" "nvvm.cluster_dim"="2,1,1"')
    return text


def _all_of(form: str) -> Program:
    """All programs of a form as one, but for what ends a process."""
    names = [name for name in _LAUNCHES if name != "output"]
    return Program(
        modules=tuple(_compiled(name, form) for name in (*names, "caller", "callee")),
        launches=(*(launch for name in names for launch in _LAUNCHES[name]), *_TWO_MODULES),
        variables=(*(variable for name in names for variable in _VARIABLES.get(name, ())), *_OF_TWO_MODULES),
    )


PROGRAMS: Mapping[str, Program] = {
    **{
        f"{name}.{form}": Program(
            (_compiled(name, form),), launches, _VARIABLES.get(name, ()), is_apart=name == "output"
        )
        for name, launches in _LAUNCHES.items()
        for form in ("ll", "ptx")
    },
    **{
        f"caller.{form} and callee.{form}": Program(
            (_compiled("caller", form), _compiled("callee", form)), _TWO_MODULES, _OF_TWO_MODULES
        )
        for form in ("ll", "ptx")
    },
    "caller.ll and callee.ptx": Program(
        (_compiled("caller", "ll"), _compiled("callee", "ptx")),
        _TWO_MODULES,
        _OF_TWO_MODULES,
        reference=(_compiled("caller", "ptx"), _compiled("callee", "ptx")),
        impossible=(*_BUNDLES, "linked from PTX"),
        missing="scaled|shifted|of_calle",
    ),
    "parent.ptx and child.ptx": Program(
        (_compiled("parent", "ptx"), _compiled("child", "ptx")),
        _runs("launch_child", "launch_sibling", "grandchild", "launch_nothing", "launch_child"),
        ("launches",),
        impossible=_BUNDLES,
        missing="__cudaCDP2",
        needs_device_runtime=True,
    ),
    "LLVM IR: kernels that launch": Program(
        (KERNELS_THAT_LAUNCH,),
        _runs("child", "bystander") + _runs("parent", threads=1),
        impossible=_BUNDLES,
        missing="__cudaCDP2",
        needs_device_runtime=True,
    ),
    "LLVM IR: constant tables": Program(
        (CONSTANT_TABLES,), _runs("first", "second", "third", "first", threads=4), ("table", "other", "counter")
    ),
    "LLVM IR: function pointers": Program((FUNCTION_POINTERS,), _runs("straight", "crossed", "bystander")),
    "LLVM IR: helpers": Program(
        (HELPERS_AND_RECURSION,), _runs("recurse", "recurse_too", "sine", "divide", "divide_floats")
    ),
    "LLVM IR: dynamic shared memory": Program(
        (_with_dynamic_memory("a_aligned_to_4", 4), _with_dynamic_memory("b_aligned_to_128", 128)),
        _runs("a_aligned_to_4", "b_aligned_to_128"),
        # LLVM's linker takes the first alignment.
        reference=(_with_dynamic_memory("b_aligned_to_128", 128), _with_dynamic_memory("a_aligned_to_4", 4)),
    ),
    "LLVM IR: shared memory": Program((SHARED_MEMORY,), _runs("reverse_fixed", "reverse_dynamic", "shuffle")),
    "LLVM IR: shared state": Program((SHARED_STATE,), _runs("produce", "consume")),
    "LLVM IR: tensor cores": Program((TENSOR_CORES,), _runs(f"multiply_by_{0x3C00}", f"multiply_by_{0x4200}")),
    "PTX: function pointers": Program(
        (ptx_programs.FUNCTION_POINTERS,), _runs("invoke", "change", "invoke", "directly")
    ),
    "PTX: variables": Program(
        (ptx_programs.VARIABLES,),
        _runs(
            *("count", "look", "follow", "count", "look", "follow"),
            *("named_table", "named_table_too", "unnamed_table", "string"),
        ),
        ("counter", "named"),
    ),
    "PTX: functions": Program(
        (ptx_programs.FUNCTIONS,), _runs("recurse", "recurse_too", "exchange", "exchange_twice", "reverse")
    ),
    "all of clang": _all_of("ll"),
    "all of nvcc": _all_of("ptx"),
}
