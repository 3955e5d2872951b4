"""Small modules for tests of the pipeline."""

from __future__ import annotations

HEADER = 'target triple = "nvptx64-nvidia-cuda"\n'


def kernel(name: str, body: str = "  store i32 1, ptr %p\n", attributes: str = "") -> str:
    """A kernel `void name(ptr %p)`, in the form in which LLVM prints it."""
    return f"define ptx_kernel void @{name}(ptr %p) {attributes}{{\n{body}  ret void\n}}\n"


def module(*parts: str) -> str:
    return HEADER + "".join(parts)


def arithmetic_kernel(name: str, size: int) -> str:
    """A kernel that has to keep `size / 2` values in registers: the first meets the last, and so on."""
    lines = []
    for i in range(size):
        lines.append(f"  %g{i} = getelementptr i32, ptr %p, i32 {i}\n")
        lines.append(f"  %v{i} = load volatile i32, ptr %g{i}\n")
    lines += ["  %s0 = add i32 %v0, 0\n"]
    for i in range(1, size):
        lines.append(f"  %m{i} = mul i32 %v{i}, %v{size - i}\n")
        lines.append(f"  %t{i} = mul i32 %s{i - 1}, 3\n  %s{i} = add i32 %t{i}, %m{i}\n")
    lines.append(f"  store i32 %s{size - 1}, ptr %p\n")
    return kernel(name, "".join(lines))


CONSTANT_TABLES = module(
    "@table = addrspace(4) externally_initialized global [4 x i32] [i32 11, i32 22, i32 33, i32 44], align 4\n",
    "@other = addrspace(4) externally_initialized global [4 x i32] [i32 5, i32 6, i32 7, i32 8], align 4\n",
    "@counter = addrspace(1) externally_initialized global i32 100, align 4\n",
    "@llvm.compiler.used = appending global [3 x ptr] [ptr addrspacecast (ptr addrspace(4) @table to ptr), "
    "ptr addrspacecast (ptr addrspace(4) @other to ptr), ptr addrspacecast (ptr addrspace(1) @counter to ptr)], "
    'section "llvm.metadata"\n',
    *(
        kernel(
            name,
            "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
            f"  %g = getelementptr [4 x i32], ptr addrspace(4) @{table}, i32 0, i32 %t\n"
            "  %v = load i32, ptr addrspace(4) %g\n"
            "  %o = getelementptr i32, ptr %p, i32 %t\n"
            "  store i32 %v, ptr %o\n"
            "  %old = atomicrmw add ptr addrspace(1) @counter, i32 %v seq_cst\n",
        )
        for name, table in (("first", "table"), ("second", "other"), ("third", "table"))
    ),
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n",
)
"""Kernels that read two constant tables and add to one counter: a link has a shard for each, a bundle one."""


def ptx_in_shards(count: int) -> str:
    """PTX with kernels that are planned into a shard each, because they are long; the compiler has little to do."""
    nothing = "{ .reg .b32 r; }\n" * 25_000
    kernels = "".join(f".visible .entry k{i}() {{ {nothing} ret; }}\n" for i in range(count))
    return f".version 7.0\n.target sm_80\n.address_size 64\n{kernels}"
