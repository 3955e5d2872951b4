"""Kernels that have much of one thing each, so that a fit can tell the costs of things apart."""

from __future__ import annotations

from collections.abc import Iterator

TARGET = "sm_90a"

_HEADER = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.fma.f32(float, float, float)
declare float @__nv_sinf(float)
declare float @__nv_expf(float)
declare double @__nv_pow(double, double)
declare double @__nv_log(double)
"""

_START = """define ptx_kernel void @{name}(ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %cta, 1024
  %index = add i32 %base, %tid
  %pa = getelementptr float, ptr addrspace(1) %a, i32 %index
  %pb = getelementptr float, ptr addrspace(1) %b, i32 %index
  %v0 = load float, ptr addrspace(1) %pa, align 4
"""


def generated_module() -> str:
    """One module of LLVM IR with all the kernels."""
    return _HEADER + "\n".join(_functions())


def _functions() -> Iterator[str]:
    for count in (20, 80, 300, 1200):
        yield _kernel(f"arithmetic_{count}", _chain(count, "call float @llvm.fma.f32(float {0}, float {0}, float {0})"))
        yield _kernel(f"memory_{count}", _memory(count))
    for count in (4, 16, 64):
        yield _kernel(f"divide_{count}", _chain(count, "fdiv float 3.0, {0}"))
        yield _kernel(f"divide_double_{count}", _doubles(count, "fdiv double 3.0, {0}"))
    for count in (2, 6, 20):
        yield _kernel(f"sine_{count}", _chain(count, "call float @__nv_sinf(float {0})"))
        yield _kernel(f"exponential_{count}", _chain(count, "call float @__nv_expf(float {0})"))
        yield _kernel(f"power_{count}", _doubles(count, "call double @__nv_pow(double {0}, double 3.0)"))
        yield _kernel(f"logarithm_{count}", _doubles(count, "call double @__nv_log(double {0})"))
    for count in (5, 20, 80):
        yield _kernel(f"branches_{count}", _branches(count))
        yield _kernel(f"loops_{count}", _loops(count, "%n"))
    for count in (4, 16):
        yield _kernel(f"unrolled_{count}", _loops(count, "16"))
    for count in (8, 32, 128):
        yield _kernel(f"tensor_{count}", _tensor(count))
    for size in (10, 60):
        yield _helper(f"helper_{size}", size)
        for count in (4, 16, 64):
            yield _kernel(f"calls_{size}_{count}", _chain(count, f"call float @helper_{size}(float {{0}})"))


def _kernel(name: str, body: tuple[list[str], str]) -> str:
    lines, result = body
    text = "\n".join(f"  {line}" if not line.endswith(":") else line for line in lines)
    return f"{_START.format(name=name)}{text}\n  store float {result}, ptr addrspace(1) %pb, align 4\n  ret void\n}}\n"


def _helper(name: str, size: int) -> str:
    lines = [f"  %h{i + 1} = fmul float %h{i}, {'%h0' if i % 3 else '3.0'}" for i in range(size)]
    body = "\n".join(lines)
    return f"define internal float @{name}(float %h0) {{\n{body}\n  ret float %h{size}\n}}\n"


def _chain(count: int, operation: str) -> tuple[list[str], str]:
    """Four chains next to each other, added at the end."""
    lines = [f"%v{i + 1} = {operation.format(f'%v{max(0, i - 3)}')}" for i in range(count)]
    lines += [f"%s{i} = fadd float %v{max(0, count - i)}, {f'%s{i - 1}' if i else '0.0'}" for i in range(4)]
    return lines, "%s3"


def _doubles(count: int, operation: str) -> tuple[list[str], str]:
    lines = ["%d0 = fpext float %v0 to double"]
    lines += [f"%d{i + 1} = {operation.format(f'%d{i}')}" for i in range(count)]
    return [*lines, f"%f = fptrunc double %d{count} to float"], "%f"


def _memory(count: int) -> tuple[list[str], str]:
    lines: list[str] = []
    for i in range(count // 4):
        lines += [
            f"%g{i} = getelementptr float, ptr addrspace(1) %pa, i64 {97 * i + 5}",
            f"%l{i} = load float, ptr addrspace(1) %g{i}, align 4",
            f"%v{i + 1} = fadd float %v{i}, %l{i}",
            f"store float %v{i + 1}, ptr addrspace(1) %g{i}, align 4",
        ]
    return lines, f"%v{count // 4}"


def _branches(count: int) -> tuple[list[str], str]:
    lines: list[str] = ["br label %b0", "b0:"]
    for i in range(count):
        lines += [
            f"%g{i} = getelementptr float, ptr addrspace(1) %pa, i64 {97 * i + 5}",
            f"%c{i} = fcmp olt float %v{i}, {i}.0",
            f"br i1 %c{i}, label %t{i}, label %e{i}",
            f"t{i}:",
            f"%l{i} = load float, ptr addrspace(1) %g{i}, align 4",
            f"%x{i} = fmul float %l{i}, %v{i}",
            f"br label %b{i + 1}",
            f"e{i}:",
            f"store float %v{i}, ptr addrspace(1) %g{i}, align 4",
            f"br label %b{i + 1}",
            f"b{i + 1}:",
            f"%v{i + 1} = phi float [ %x{i}, %t{i} ], [ %v{i}, %e{i} ]",
        ]
    return lines, f"%v{count}"


def _loops(count: int, times: str) -> tuple[list[str], str]:
    lines: list[str] = ["br label %b0", "b0:"]
    for i in range(count):
        lines += [
            f"br label %l{i}",
            f"l{i}:",
            f"%i{i} = phi i32 [ 0, %b{i} ], [ %j{i}, %l{i} ]",
            f"%a{i} = phi float [ %v{i}, %b{i} ], [ %w{i}, %l{i} ]",
            f"%g{i} = getelementptr float, ptr addrspace(1) %pa, i32 %i{i}",
            f"%x{i} = load float, ptr addrspace(1) %g{i}, align 4",
            f"%w{i} = call float @llvm.fma.f32(float %a{i}, float %x{i}, float %a{i})",
            f"%j{i} = add i32 %i{i}, 1",
            f"%c{i} = icmp slt i32 %j{i}, {times}",
            f"br i1 %c{i}, label %l{i}, label %b{i + 1}",
            f"b{i + 1}:",
            f"%v{i + 1} = phi float [ %w{i}, %l{i} ]",
        ]
    return lines, f"%v{count}"


def _tensor(count: int) -> tuple[list[str], str]:
    instruction = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0,$1,$2,$3},{$4,$5,$6,$7},{$8,$9},{$0,$1,$2,$3};"
    lines = ["%i0 = bitcast float %v0 to i32"]
    result = "%v0, float %v0, float %v0, float %v0"
    for i in range(count):
        operands = ", ".join(["i32 %i0"] * 6)
        lines.append(
            f'%m{i} = call {{float, float, float, float}} asm sideeffect "{instruction}", '
            f'"=f,=f,=f,=f,r,r,r,r,r,r,0,1,2,3"({operands}, float {result})'
        )
        lines += [f"%m{i}_{k} = extractvalue {{float, float, float, float}} %m{i}, {k}" for k in range(4)]
        result = ", float ".join(f"%m{i}_{k}" for k in range(4))
    return lines, f"%m{count - 1}_0"
