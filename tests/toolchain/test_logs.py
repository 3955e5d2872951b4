"""Reading compiler logs. Every log here was printed by the tool that its comment names."""

from __future__ import annotations

import pytest

from parcubin.errors import (
    CompileError,
    DuplicateSymbolError,
    InternalCompilerError,
    LinkCheckError,
    OutOfMemoryError,
    ParcubinError,
    PtxSyntaxError,
    PtxVersionError,
    RegisterAllocationError,
    RegisterSpillError,
    TargetMismatchError,
    TargetUnsupportedError,
    UnresolvedSymbolError,
)
from parcubin.model import Target
from parcubin.toolchain.logs import (
    ResourceUsage,
    check_spills,
    crash,
    failure,
    resource_usage,
    warnings,
)

# ptxas 13.5.37 -v
PTXAS_13 = """\
ptxas warning : Pragma 'noinline' unsupported
ptxas warning : Stack size for entry function 'k1' cannot be statically determined
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k1' for 'sm_80'
ptxas info    : Function properties for k1
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 64 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 5.585 ms
ptxas info    : Function properties for helper
    56 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
"""

# nvJitLink 12.4.127 -Xptxas=-v
NVJITLINK_12 = """\
ptxas info    : Overriding maximum register limit 256 for 'big' with  32 of maxrregcount option
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'big' for 'sm_80'
ptxas info    : Function properties for big
ptxas         .     1152 bytes stack frame, 1140 bytes spill stores, 1140 bytes spill loads
ptxas info    : Used 32 registers, 360 bytes cmem[0]
"""


def test_resource_usage_of_ptxas_13() -> None:
    assert resource_usage(PTXAS_13) == {
        "k1": ResourceUsage("k1", True, 24, 1, 0, 0, 0, 64),
        "helper": ResourceUsage("helper", False, None, None, 56, 12, 16, None),
    }


def test_resource_usage_of_nvjitlink_12() -> None:
    assert resource_usage(NVJITLINK_12) == {"big": ResourceUsage("big", True, 32, None, 1152, 1140, 1140, 0)}


def test_resource_usage_of_nothing() -> None:
    assert resource_usage("") == {}
    assert resource_usage("    1 bytes stack frame, 2 bytes spill stores, 3 bytes spill loads\n") == {}


def test_warnings_are_attributed() -> None:
    first, second = warnings(PTXAS_13)
    assert (first.message, first.function) == ("Pragma 'noinline' unsupported", None)
    assert second.function == "k1"


def test_a_line_of_the_ptx_tells_the_function_of_a_warning() -> None:
    log = "ptxas input.ptx, line 4; warning : Instruction 'shfl' without '.sync' is deprecated\n"
    ptx = ".version 6.3\n.func a() {\nret; }\n.entry b() { shfl.idx.b32 %r1, %r1, %r1, %r1; }\n.entry c() { ret; }\n"
    assert [w.function for w in warnings(log, ptx)] == ["b"]
    assert [w.function for w in warnings(log)] == [None]


def test_spills() -> None:
    with pytest.raises(RegisterSpillError) as raised:
        check_spills(PTXAS_13 + NVJITLINK_12, "input")
    assert raised.value.kernels == ("helper", "big")
    assert "1140 bytes" in raised.value.message


@pytest.mark.parametrize(
    ("log", "error_class", "attributes"),
    [
        # ptxas 13.5.37
        ("ptxas fatal   : Value 'sm_999' is not defined for option 'gpu-name'\n", TargetUnsupportedError, {}),
        ("ptxas input.ptx, line 2; fatal   : Unsupported .target 'sm_777'\n", TargetUnsupportedError, {}),
        (
            "ptxas input.ptx, line 1; fatal   : Unsupported .version 99.9; current version is '9.5'\n"
            "ptxas fatal   : Ptx assembly aborted due to errors\n",
            PtxVersionError,
            {"supported": 95},
        ),
        (
            "ptxas input.ptx, line 5; error   : Unknown modifier '.globul'\n"
            "ptxas fatal   : Ptx assembly aborted due to errors\n",
            PtxSyntaxError,
            {"line": 5},
        ),
        ("ptxas fatal   : Unresolved extern function 'helper'\n", UnresolvedSymbolError, {"symbols": ("helper",)}),
        (
            "ptxas info    : Overriding maximum register limit 256 for 'kwg' with  32 of maxrregcount option\n"
            "ptxas fatal   : (C7602) Insufficient registers (32) to compile instruction at line 134 in function kwg."
            " Try to compile with register target of 154 or higher.\n",
            RegisterAllocationError,
            {"kernels": ("kwg",)},
        ),
        # ptxas 12.4.131
        (
            "ptxas info    : Overriding maximum register limit 256 for 'kwg' with  32 of maxrregcount option\n"
            "ptxas fatal   : (C7600) Register allocation failed with register count of '32'. Compile the program with a"
            " higher register target\n",
            RegisterAllocationError,
            {"kernels": ("kwg",)},
        ),
        (
            "ptxas fatal   : SM version specified by .target is higher than default SM version assumed\n",
            TargetMismatchError,
            {"kernels": ()},
        ),
        (
            "ptxas fatal   : PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'\n",
            TargetMismatchError,
            {},
        ),
        (
            "ptxas fatal   : Program with .target 'sm_90a' cannot be compiled to future architecture\n",
            TargetMismatchError,
            {},
        ),
        (
            "ptxas fatal   : Program with .target 'sm_100f' cannot be compiled to different SM-family architecture\n",
            TargetMismatchError,
            {},
        ),
        ("ptxas error   : Debug information not found in presence of .target debug\n", CompileError, {}),
        # libnvptxcompiler 13.5.37
        (
            "ptxas application ptx input, line 10; error   : Unknown modifier '.globul'\n"
            "ptxas fatal   : Ptx assembly aborted due to errors\n",
            PtxSyntaxError,
            {"line": 10},
        ),
        # nvJitLink 13.5.37
        (
            "ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture (compute_999)\n",
            TargetUnsupportedError,
            {},
        ),
        (
            "ptxas application ptx input, line 1; fatal   : Unsupported .version 99.9; current version is '9.5'\n"
            "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (vnew.ptx)\n",
            PtxVersionError,
            {"supported": 95},
        ),
        (
            "error   : Undefined reference to 'helper' in 'undef.ptx'\n"
            "error   : Undefined reference to '_ZN3foo3barEi' in 'undef.ptx'\nERROR 9: complete\n",
            UnresolvedSymbolError,
            {"symbols": ("helper", "_ZN3foo3barEi")},
        ),
        # nvlink 13.5.37
        (
            "nvlink error   : Multiple definition of 'k1' in 'two', first defined in 'one'\n"
            "nvlink fatal   : merge_elf failed\n",
            DuplicateSymbolError,
            {},
        ),
        ("nvlink fatal   : Value 'sm_999' is not defined for option 'arch'\n", TargetUnsupportedError, {}),
        ("nvlink fatal   : Input file 'one' arch does not match target 'sm_90'\n", LinkCheckError, {}),
        ("nvlink error   : Size doesn't match for 'counter' in 'b', first specified in 'a'\n", LinkCheckError, {}),
        # nvlink 13.0.88
        ("nvlink fatal   : Input file 'one' newer than toolkit (135 vs 130)\n", LinkCheckError, {}),
        # nvJitLink 12.9.86
        ("@E@fatal   : Internal error: symsec not found\n", InternalCompilerError, {}),
    ],
)
def test_failures_are_classified(log: str, error_class: type[ParcubinError], attributes: dict[str, object]) -> None:
    error = failure(log, tool="ptxas 13.5.37", target=Target("sm_80"), input_name="some input")
    assert type(error) is error_class
    assert error.log == log
    assert "\n" not in error.message
    for name, value in attributes.items():
        assert getattr(error, name) == value


def test_a_line_of_the_ptx_tells_the_kernel() -> None:
    ptx = ".version 8.0\n.visible .entry one()\n{\n}\n.visible .func (.param .b32 r) two(.param .b32 a)\n{\n  bad;\n}\n"
    log = "ptxas input.ptx, line 7; error   : Parsing error near 'bad': syntax error\n"
    error = failure(log, tool="ptxas", target=Target("sm_80"), input_name="input", ptx=ptx)
    assert error.kernels == ("two",)


def test_a_crash_names_the_kernel_being_compiled() -> None:
    log = PTXAS_13 + "ptxas info    : Compiling entry function 'next' for 'sm_80'\n"
    error = crash(log, tool="ptxas 13.5.37", status="SIGSEGV", input_name="input")
    assert error.kernels == ("next",)
    assert "SIGSEGV" in error.message


@pytest.mark.parametrize("log", ["", "\n\n", "something else\n", "ptxas\n", "ptxas fatal   :\n", "\0\ufffd"])
def test_a_log_that_says_nothing(log: str) -> None:
    assert type(failure(log, tool="ptxas", target=Target("sm_80"), input_name="input")) is CompileError


@pytest.mark.parametrize(
    "log",
    [
        # ptxas 13.5.37 with 60,000 and with 50,000 KiB of address space
        "ptxas fatal   : Memory allocation failure\n",
        "ptxas: error while loading shared libraries: libdl.so.2: failed to map segment from shared object\n",
    ],
)
def test_out_of_memory(log: str) -> None:
    ptx = ".version 7.0\n.target sm_80\n.visible .entry k() { ret; }\n"
    error = failure(log, tool="ptxas 13.5.37", target=Target("sm_80"), input_name="k", ptx=ptx)
    assert type(error) is OutOfMemoryError
    assert error.kernels == ("k",)
    assert error.log == log


def test_signal_that_the_system_sends_without_memory() -> None:
    assert type(crash("", tool="ptxas 13.5.37", status="SIGKILL", input_name="input")) is OutOfMemoryError
    log = "terminate called after throwing an instance of 'std::bad_alloc'\n"
    assert type(crash(log, tool="ptxas 13.5.37", status="SIGABRT", input_name="input")) is OutOfMemoryError
