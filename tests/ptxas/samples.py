"""PTX whose kernels are planned into several shards, and that gives ptxas much to say."""

from __future__ import annotations

KERNELS = 4

_HEADER = """\
.version 6.0
.target sm_60
.address_size 64
"""

_RECURSIVE = """\
.func (.param .b32 r) rec(.param .b32 a)
{ .reg .b32 %r<9>; .reg .pred %p<3>;
  ld.param.u32 %r1, [a]; setp.eq.u32 %p1, %r1, 0; @%p1 bra DONE; add.u32 %r2, %r1, -1;
  { .param .b32 in; .param .b32 out; st.param.b32 [in], %r2; call.uni (out), rec, (in); ld.param.b32 %r3, [out]; }
  vote.any.pred %p2, %p1;
  mul.lo.u32 %r4, %r3, %r1; st.param.b32 [r], %r4; ret;
DONE: st.param.b32 [r], 1; ret; }
"""

_KERNEL = """\
.visible .entry k{number}(.param .u64 p)
{{ .reg .b64 %rd<3>; .reg .f64 %d<9>; .reg .b32 %r<9>;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;
  {{ .param .b32 in; .param .b32 out; st.param.b32 [in], %r1; call.uni (out), rec, (in); ld.param.b32 %r3, [out]; }}
  ld{space}.u32 %r2, [{variable}]; add.u32 %r2, %r2, %r3;
  ld.global.f64 %d1, [%rd1+8]; add.f64 %d2, %d1, %d1; st.global.f64 [%rd1+16], %d2;
  st.global.u32 [%rd1], %r2; ret; }}
"""

_GLOBAL = ".visible .global .align 4 .b8 table[40];\n"
_CONSTANT = ".visible .const .align 4 .b8 constants[40];\n"


def _kernels(*variables: tuple[str, str]) -> str:
    return "".join(
        _KERNEL.format(number=number, space=variables[number % len(variables)][0], variable=variables[number % 2][1])
        for number in range(KERNELS)
    )


TALKATIVE = _HEADER + _GLOBAL + _RECURSIVE + _kernels((".global", "table"), (".global", "table"))
"""Warnings with lines, warnings about functions, functions that several kernels call."""

CONSTANTS = _HEADER + _GLOBAL + _CONSTANT + _RECURSIVE + _kernels((".global", "table"), (".const", "constants"))
"""The same; two kernels use the constant bank."""

BROKEN = TALKATIVE.replace("add.f64 %d2, %d1, %d1", "add.f64 %d2, %d1, %unknown", 1)
