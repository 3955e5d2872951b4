"""Pieces of LLVM IR for tests of splitting, in the form in which LLVM prints them."""

from __future__ import annotations

HEADER = (
    'target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"\n'
    'target triple = "nvptx64-nvidia-cuda"\n\n'
)
THREAD = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\n"


def kernel(name: str, body: str = "", parameters: str = "ptr %p", words: str = "") -> str:
    return f"define {words}ptx_kernel void @{name}({parameters}) {{\n{body}  ret void\n}}\n\n"


def function(
    name: str, factor: int = 3, *, linkage: str = "internal", body: str | None = None, words: str = "noinline"
) -> str:
    """A function `i32 name(i32 %x)`, by default one that multiplies."""
    body = body or f"  %y = mul i32 %x, {factor}\n  ret i32 %y\n"
    spaced = f"{linkage} " if linkage else ""
    return f"define {spaced}i32 @{name}(i32 %x) {words} {{\n{body}}}\n\n"


def call(name: str, callee: str) -> str:
    """A kernel that applies a function to its parameter's first word."""
    return kernel(
        name, f"  %x = load i32, ptr %p, align 4\n  %y = call i32 {callee}(i32 %x)\n  store i32 %y, ptr %p, align 4\n"
    )


def load(name: str, variable: str, space: int = 1) -> str:
    """A kernel that copies a variable's first word to where its parameter points."""
    return kernel(
        name,
        f"  %v = load volatile i32, ptr addrspace({space}) {variable}, align 4\n  store i32 %v, ptr %p, align 4\n",
    )


def lookup(name: str, table: str, space: int) -> str:
    """A kernel that copies that word of a table whose index its parameter points to."""
    return kernel(
        name,
        "  %i = load i32, ptr %p, align 4\n"
        f"  %g = getelementptr i32, ptr addrspace({space}) {table}, i32 %i\n"
        f"  %v = load i32, ptr addrspace({space}) %g, align 4\n"
        "  store i32 %v, ptr %p, align 4\n",
    )


def store(name: str, variable: str, space: int = 1) -> str:
    """A kernel that writes its parameter to a variable's first word."""
    return kernel(name, f"  store volatile i32 %v, ptr addrspace({space}) {variable}, align 4\n", "i32 %v")


def use_shared(name: str, array: str) -> str:
    """A kernel that writes to shared memory and reads another word of it. Needs `THREAD`."""
    return kernel(
        name,
        "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
        f"  %g = getelementptr i32, ptr addrspace(3) {array}, i32 %t\n"
        f"  store volatile i32 1, ptr addrspace(3) {array}, align 4\n"
        "  %v = load volatile i32, ptr addrspace(3) %g, align 4\n"
        "  store i32 %v, ptr %p, align 4\n",
    )


def assembly(name: str, text: str) -> str:
    """A kernel that stores what inline assembly leaves in `$0`."""
    return kernel(name, f'  %v = call i32 asm sideeffect "{text}", "=r"()\n  store i32 %v, ptr %p, align 4\n')
