"""Small modules of PTX."""

from __future__ import annotations

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"

CALL = (
    "{{ .param .b32 in; .param .b32 out; st.param.b32 [in], %r1; call.uni (out), {0}, (in); ld.param.b32 %r1, [out]; }}"
)
"""Calls a function of `int(int)` with `%r1`."""

CALL_POINTER = (
    "{{ .param .b32 in; .param .b32 out; st.param.b32 [in], %r1;"
    " type: .callprototype (.param .b32 _) _ (.param .b32 _); call (out), {0}, (in), type; ld.param.b32 %r1, [out]; }}"
)


def module(*parts: str) -> str:
    return HEADER + "".join(parts)


def kernel(name: str, body: str, linkage: str = ".visible ") -> str:
    """A kernel of one pointer, `%rd1`. Each thread stores what the body leaves in `%r1`, which is the thread's number
    at first, to its own element."""
    return (
        f"{linkage}.entry {name}(.param .u64 {name}_param_0)\n{{\n"
        "\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\t.reg .f32 %f<9>;\n\t.reg .pred %p<2>;\n"
        f"\tld.param.u64 %rd1, [{name}_param_0];\n\tmov.u32 %r1, %tid.x;\n"
        f"\t{body}\n"
        "\tmov.u32 %r8, %tid.x;\n\tmad.wide.u32 %rd8, %r8, 4, %rd1;\n\tst.global.u32 [%rd8], %r1;\n\tret;\n}\n"
    )


def function(name: str, body: str = "mad.lo.u32 %r1, %r1, %r1, 7;", linkage: str = ".visible ") -> str:
    """A device function of `int(int)`: what the body makes of `%r1`."""
    return (
        f"{linkage}.func (.param .b32 {name}_out) {name}(.param .b32 {name}_in)\n{{\n"
        "\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n"
        f"\tld.param.b32 %r1, [{name}_in];\n\t{body}\n\tst.param.b32 [{name}_out], %r1;\n\tret;\n}}\n"
    )


def prototype(name: str, linkage: str) -> str:
    return f"{linkage}.func (.param .b32 {name}_out) {name}(.param .b32 {name}_in);\n"
