"""Small PTX texts, and the providers of this environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from parcubin.errors import ToolchainError
from parcubin.model import Ptx, RelocatableKind, Target
from parcubin.providers.caching import CachingProvider
from parcubin.providers.composite import CompositeProvider
from parcubin.providers.deferred import DeferredProvider
from parcubin.providers.driver import DriverProvider
from parcubin.providers.interface import CompilationProvider
from parcubin.providers.nvjitlink import NvJitLinkProvider
from parcubin.providers.nvptxcompiler import NvPtxCompilerProvider
from parcubin.providers.subprocess import SubprocessProvider
from parcubin.toolchain.driver import usable_driver
from parcubin.toolchain.locate import Component, find
from parcubin.toolchain.shared_nvptxcompiler import shared_nvptxcompiler
from parcubin.toolchain.version import Tool

SM_80 = Target("sm_80")
EWP, PLAIN = RelocatableKind.EXTENSIBLE_WHOLE_PROGRAM, RelocatableKind.PLAIN

HEADER = ".version 7.8\n.target sm_80\n.address_size 64\n"


def store_kernel(name: str, variable: str = "") -> Ptx:
    """A kernel that stores its thread index; with a visible variable beside it when asked for."""
    return Ptx(
        HEADER
        + (f".visible .global .align 4 .u32 {variable};\n" if variable else "")
        + f".visible .entry {name}(.param .u64 p)\n{{\n.reg .u64 %rd<3>;\n.reg .u32 %r<3>;\n"
        "ld.param.u64 %rd1,[p];\nmov.u32 %r1,%tid.x;\nst.global.u32 [%rd1],%r1;\nret;\n}\n",
        name,
    )


CALLER = Ptx(
    HEADER
    + """.extern .func (.param .u32 r) first_helper(.param .u32 a);
.extern .func (.param .u32 r) second_helper(.param .u32 a);
.visible .entry caller(.param .u64 p)
{
    .reg .u64 %rd<3>;
    .reg .u32 %r<3>;
    ld.param.u64 %rd1,[p];
    mov.u32 %r1,%tid.x;
    {
        .param .u32 a;
        .param .u32 r;
        st.param.u32 [a],%r1;
        call (r), first_helper, (a);
        ld.param.u32 %r1,[r];
        st.param.u32 [a],%r1;
        call (r), second_helper, (a);
        ld.param.u32 %r1,[r];
    }
    st.global.u32 [%rd1],%r1;
    ret;
}
""",
    "caller",
)

HELPERS = Ptx(
    HEADER
    + "".join(
        f".visible .func (.param .u32 r) {name}(.param .u32 a)\n{{\n.reg .u32 %r<3>;\nld.param.u32 %r1,[a];\n"
        "add.u32 %r1,%r1,5;\nst.param.u32 [r],%r1;\nret;\n}\n"
        for name in ("first_helper", "second_helper")
    ),
    "helpers",
)


def many_live_values(name: str = "hungry", count: int = 200) -> Ptx:
    """A kernel that holds `count` values in registers at once."""
    loads = "".join(f"ld.volatile.global.f32 %f{i},[%rd1+{4 * i}];\n" for i in range(count))
    stores = "".join(f"st.volatile.global.f32 [%rd1+{4 * i}],%f{i * 7 % count};\n" for i in range(count))
    return Ptx(
        HEADER + f".visible .entry {name}(.param .u64 p)\n{{\n.reg .u64 %rd<3>;\n.reg .f32 %f<{count}>;\n"
        f"ld.param.u64 %rd1,[p];\n{loads}bar.sync 0;\n{stores}ret;\n}}\n",
        name,
    )


def bounded_caller(threads: int, blocks: int = 1, linkage: str = ".visible ") -> Ptx:
    """A kernel with launch bounds that calls a function, which holds 200 values in registers at once, directly."""
    hungry = many_live_values().text.removeprefix(HEADER).replace(".visible .entry", f"{linkage}.func")
    return Ptx(
        HEADER + hungry + f".visible .entry bounded(.param .u64 p) .maxntid {threads}, 1, 1 .minnctapersm {blocks}\n"
        "{\n.reg .u64 %rd<3>;\nld.param.u64 %rd1,[p];\n{\n.param .u64 a;\nst.param.u64 [a],%rd1;\ncall hungry,(a);\n"
        "}\nret;\n}\n",
        "bounded",
    )


WITH_LINES = Ptx(
    """.version 7.8
.target sm_80
.address_size 64
.file 1 "kernel.cu"
.visible .entry located(.param .u64 p)
{
    .reg .u64 %rd<3>;
    .reg .u32 %r<3>;
    .loc 1 3 1
    ld.param.u64 %rd1,[p];
    .loc 1 4 1
    mov.u32 %r1,%tid.x;
    .loc 1 5 1
    st.global.u32 [%rd1],%r1;
    ret;
}
""",
    "located",
)

LOOP = Ptx(
    HEADER
    + """.visible .entry looped(.param .u64 p, .param .u32 n)
{
.reg .u64 %rd<5>;
.reg .u32 %r<8>;
.reg .f32 %f<8>;
.reg .pred %p<3>;
ld.param.u64 %rd1,[p];
ld.param.u32 %r1,[n];
mov.u32 %r2,0;
mov.f32 %f1,0f00000000;
LOOP:
mul.wide.u32 %rd2,%r2,4;
add.u64 %rd3,%rd1,%rd2;
ld.global.f32 %f2,[%rd3];
ld.global.f32 %f3,[%rd3+1024];
fma.rn.f32 %f1,%f2,%f3,%f1;
add.u32 %r2,%r2,1;
setp.lt.u32 %p1,%r2,%r1;
@%p1 bra LOOP;
st.global.f32 [%rd1],%f1;
ret;
}
""",
    "looped",
)

LAUNCHER = Ptx(
    HEADER
    + """.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2
(.param .b64 a, .param .align 4 .b8 b[12], .param .align 4 .b8 c[12], .param .b32 d);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2 (.param .b64 a, .param .b64 b);
.visible .entry child(.param .u64 p) { ret; }
.visible .entry parent(.param .u64 p)
{
    .reg .u64 %rd<4>;
    .reg .u32 %r<2>;
    mov.u64 %rd2, child;
    {
        .param .b64 a; .param .align 4 .b8 b[12]; .param .align 4 .b8 c[12]; .param .b32 d; .param .b64 r;
        st.param.b64 [a], %rd2;
        st.param.b32 [d], 0;
        call.uni (r), __cudaCDP2GetParameterBufferV2, (a, b, c, d);
        ld.param.b64 %rd3, [r];
    }
    {
        .param .b64 a; .param .b64 b; .param .b32 r;
        st.param.b64 [a], %rd3;
        st.param.b64 [b], 0;
        call.uni (r), __cudaCDP2LaunchDeviceV2, (a, b);
        ld.param.b32 %r1, [r];
    }
    ret;
}
""",
    "launcher",
)
"""A kernel that launches another: it takes libcudadevrt."""

SHARED = Ptx(
    HEADER
    + """.visible .global .align 8 .b8 buffer[4096];
.visible .entry shares(.param .u64 p)
{
    .reg .u64 %rd<3>;
    .reg .u32 %r<4>;
    .shared .align 4 .b8 big[40000];
    .local .align 4 .b8 frame[64];
    ld.param.u64 %rd1,[p];
    mov.u32 %r1,%tid.x;
    st.shared.u32 [big],%r1;
    bar.sync 0;
    ld.shared.u32 %r2,[big+4];
    st.global.u32 [buffer],%r2;
    st.global.u32 [%rd1],%r2;
    ret;
}
""",
    "shares",
)


def dynamic_memory_kernel(name: str, alignment: int) -> Ptx:
    """A kernel that stores the address of dynamic shared memory, which lies behind 5 + 12 bytes of static one."""
    return Ptx(
        HEADER
        + f".extern .shared .align {alignment} .b8 dynamic_of_{name}[];\n"
        + ".shared .align 1 .b8 odd[5]; // of the module\n"
        + f".visible .entry {name}(.param .u64 p)\n{{\n.reg .u64 %rd<3>;\n.reg .u32 %r<9>;\n"
        ".shared .align 4 .u32 first,\nmore[2];\n"
        "ld.param.u64 %rd1,[p];\nmov.u32 %r1,%tid.x;\nst.volatile.shared.u32 [first],%r1;\n"
        "st.volatile.shared.u32 [more+4],%r1;\nst.volatile.shared.u8 [odd+4],%r1;\n"
        f"mov.u32 %r2,dynamic_of_{name};\nst.global.u32 [%rd1],%r2;\nret;\n}}\n",
        name,
    )


STATIC_MEMORY = Ptx(
    HEADER
    + """.shared .align 4 .b8 of_module[20];
.func touch()
{
    .reg .u32 %r<6>;
    .shared .align 32 .b8 of_function[24];
    mov.u32 %r1,%tid.x;
    mov.u32 %r2,of_function;
    add.u32 %r3,%r2,%r1;
    st.volatile.shared.u8 [%r3],%r1;
    mov.u32 %r4,of_module;
    add.u32 %r5,%r4,%r1;
    st.volatile.shared.u8 [%r5],%r1;
    ret;
}
.visible .entry touches(.param .u64 p)
{
    .reg .u32 %r<6>;
    .shared .align 64 .b8 own[24];
    .shared .align 2 .b8 small[6];
    mov.u32 %r1,%tid.x;
    mov.u32 %r2,own;
    add.u32 %r3,%r2,%r1;
    st.volatile.shared.u8 [%r3],%r1;
    mov.u32 %r4,small;
    add.u32 %r5,%r4,%r1;
    st.volatile.shared.u8 [%r5],%r1;
    call touch, ();
    ret;
}
""",
    "touches",
)
"""A kernel and a function that write to static shared memory."""


def _tool(name: Component) -> Tool:
    file = find(name)
    if not file:
        raise ToolchainError(f"no {name} in this environment")
    executable = name in ("ptxas", "nvlink")
    return Tool.executable(name, file.path) if executable else Tool.library(name, file.path)


def _subprocess() -> CompilationProvider:
    return SubprocessProvider(_tool("ptxas"), _tool("nvlink") if find("nvlink") else None)


def _nvptxcompiler() -> CompilationProvider:
    return NvPtxCompilerProvider(shared_nvptxcompiler(replace(_tool("nvptxcompiler_static"), name="nvptxcompiler")))


def _nvjitlink() -> CompilationProvider:
    return NvJitLinkProvider(_tool("nvJitLink"))


def _driver() -> CompilationProvider:
    return DriverProvider(usable_driver())


Factory = Callable[[], CompilationProvider]

FACTORIES: dict[str, Factory] = {
    "subprocess": _subprocess,
    "nvptxcompiler": _nvptxcompiler,
    "nvjitlink": _nvjitlink,
    "subprocess+nvjitlink": lambda: CompositeProvider((SubprocessProvider(_tool("ptxas")), _nvjitlink())),
    "nvptxcompiler+nvjitlink": lambda: CompositeProvider((_nvptxcompiler(), _nvjitlink())),
    "deferred(nvjitlink)": lambda: DeferredProvider(_nvjitlink()),
}
DRIVER_FACTORIES: dict[str, Factory] = {
    "driver": _driver,
    "deferred(driver)": lambda: DeferredProvider(_driver()),
}


def with_caching(factories: dict[str, Factory]) -> dict[str, Factory]:
    """The factories, and those of each in a cache."""

    def caching(factory: Factory) -> Factory:
        return lambda: CachingProvider(factory())

    return factories | {f"caching({name})": caching(factory) for name, factory in factories.items()}
