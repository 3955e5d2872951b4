"""What the driver provider sends to a driver and makes of its answers; tests/gpu has the conformance on a real one."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from parcubin.errors import (
    CompileError,
    LinkCheckError,
    ParcubinError,
    PtxSyntaxError,
    PtxVersionError,
    TargetUnsupportedError,
    UnavailableError,
    UnresolvedSymbolError,
)
from parcubin.model import CompilationOptions, DeferredModule, Ptx, RelocatableModule, Target
from parcubin.providers import driver
from parcubin.providers.deferred import DeferredProvider
from parcubin.providers.driver import DriverProvider
from parcubin.toolchain.driver import DriverVersion
from tests.providers.samples import CALLER, FACTORIES, PLAIN, SM_80, store_kernel

cuda = pytest.importorskip("cuda.bindings.driver")
DEFAULT = CompilationOptions()
PROVIDER = DriverProvider(DriverVersion((13, 0), "580.65.06"))
OK = cuda.CUresult.CUDA_SUCCESS


class FakeDriver:
    """Records the calls and answers what the test set; the enumerations are the real ones."""

    CUjit_option = cuda.CUjit_option
    CUjit_target = cuda.CUjit_target
    CUjitInputType = cuda.CUjitInputType

    def __init__(self, cubin: bytes) -> None:
        self._cubin = ctypes.create_string_buffer(cubin, len(cubin))
        self.options: dict[Any, Any] = {}
        self.inputs: list[tuple[Any, bytes, bytes]] = []
        self.contexts = 0
        self.destroyed = 0
        self.error_log = ""
        self.info_log = ""
        self.results = {"create": OK, "add": OK, "complete": OK}

    def cuInit(self, _flags: int) -> tuple[Any]:  # noqa: N802
        return (OK,)

    def cuDeviceGet(self, _ordinal: int) -> tuple[Any, int]:  # noqa: N802
        return OK, 0

    def cuDevicePrimaryCtxRetain(self, _device: int) -> tuple[Any, str]:  # noqa: N802
        return OK, "context"

    def cuCtxPushCurrent(self, context: str) -> tuple[Any]:  # noqa: N802
        assert context == "context"
        self.contexts += 1
        return (OK,)

    def cuCtxPopCurrent(self) -> tuple[Any, str]:  # noqa: N802
        self.contexts -= 1
        return OK, "context"

    def cuLinkCreate(self, count: int, names: list[Any], values: list[Any]) -> tuple[Any, object]:  # noqa: N802
        assert count == len(names) == len(values)
        self.options = dict(zip(names, values, strict=True))
        self._say()
        return self.results["create"], "state"

    def cuLinkAddData(  # noqa: N802
        self,
        _state: object,
        kind: Any,
        data: bytes,
        size: int,
        name: bytes,
        _count: int,
        _names: Sequence[Any],
        _values: Sequence[Any],
    ) -> tuple[Any]:
        assert size == len(data)
        self.inputs.append((kind, data, name))
        return (self.results["add"],)

    def cuLinkComplete(self, _state: object) -> tuple[Any, int, int]:  # noqa: N802
        return self.results["complete"], ctypes.addressof(self._cubin), len(self._cubin)

    def cuLinkDestroy(self, _state: object) -> tuple[Any]:  # noqa: N802
        self.destroyed += 1
        return (OK,)

    def _say(self) -> None:
        names = cuda.CUjit_option
        for buffer, text in (
            (names.CU_JIT_ERROR_LOG_BUFFER, self.error_log),
            (names.CU_JIT_INFO_LOG_BUFFER, self.info_log),
        ):
            data = text.encode() + b"\0"
            self.options[buffer][: len(data)] = data


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """A driver that "compiles" everything to the kernel `store`."""
    cubin = FACTORIES["subprocess"]().compile(SM_80, store_kernel("store"), DEFAULT).cubin
    fake = FakeDriver(cubin)
    monkeypatch.setattr(driver, "_bindings", lambda: fake)
    driver._primary_context.cache_clear()
    yield fake
    driver._primary_context.cache_clear()


def test_gives_back_what_the_driver_made(fake: FakeDriver) -> None:
    fake.info_log = "ptxas info    : Compiling entry function 'store' for 'sm_80'"
    assembly = PROVIDER.compile(SM_80, store_kernel("store"), DEFAULT)
    assert assembly.cubin == fake._cubin.raw
    assert assembly.log == fake.info_log
    assert fake.inputs == [
        (cuda.CUjitInputType.CU_JIT_INPUT_PTX, store_kernel("store").text.encode() + b"\0", b"store")
    ]
    assert (fake.contexts, fake.destroyed) == (0, 1)


@pytest.mark.parametrize(
    ("target", "number"),
    [("sm_80", 80), ("sm_90", 90), ("sm_90a", 0x10000 + 90), ("sm_100a", 0x10000 + 100), ("sm_100f", 0x20000 + 100)],
)
def test_targets_are_sent_with_their_kind(fake: FakeDriver, target: str, number: int) -> None:
    PROVIDER.compile(Target(target), store_kernel("store"), DEFAULT)
    assert fake.options[cuda.CUjit_option.CU_JIT_TARGET] == number


def test_options_are_sent(fake: FakeDriver) -> None:
    names = cuda.CUjit_option
    PROVIDER.compile(SM_80, store_kernel("store"), CompilationOptions(opt_level=1, line_info=True, max_registers=40))
    assert fake.options[names.CU_JIT_OPTIMIZATION_LEVEL] == 1
    assert fake.options[names.CU_JIT_GENERATE_LINE_INFO] == 1
    assert fake.options[names.CU_JIT_MAX_REGISTERS] == 40
    assert names.CU_JIT_GENERATE_DEBUG_INFO not in fake.options
    PROVIDER.compile(SM_80, store_kernel("store"), DEFAULT)
    assert names.CU_JIT_OPTIMIZATION_LEVEL not in fake.options
    PROVIDER.compile(SM_80, store_kernel("store"), CompilationOptions(debug_info=True))
    assert fake.options[names.CU_JIT_OPTIMIZATION_LEVEL] == 0
    assert fake.options[names.CU_JIT_GENERATE_DEBUG_INFO] == 1
    assert names.CU_JIT_MAX_REGISTERS not in fake.options


def test_modules_are_sent_as_cubins(fake: FakeDriver) -> None:
    module = FACTORIES["subprocess"]().compile_to_relocatable_module(SM_80, store_kernel("store"), DEFAULT, PLAIN)
    assert isinstance(module, RelocatableModule)
    PROVIDER.compile_and_link(SM_80, [module], DEFAULT)
    assert fake.inputs == [(cuda.CUjitInputType.CU_JIT_INPUT_CUBIN, module.cubin, b"store")]


FATAL = "ptxas application ptx input, line {}; fatal   : {}"


@pytest.mark.parametrize(
    ("step", "result", "log", "error"),
    [
        ("add", "INVALID_PTX", FATAL.format(9, "Parsing error near 'x': syntax error"), PtxSyntaxError),
        (
            "add",
            "UNSUPPORTED_PTX_VERSION",
            FATAL.format(1, "Unsupported .version 99.9; current version is '9.0'"),
            PtxVersionError,
        ),
        ("complete", "UNKNOWN", "error   : Undefined reference to 'first_helper' in 'caller'", UnresolvedSymbolError),
        ("complete", "SUCCESS", "error   : Undefined reference to 'first_helper' in 'caller'", UnresolvedSymbolError),
        ("add", "INVALID_PTX", "", PtxSyntaxError),
        ("add", "UNSUPPORTED_PTX_VERSION", "", PtxVersionError),
        ("create", "JIT_COMPILER_NOT_FOUND", "", UnavailableError),
        ("create", "INVALID_VALUE", "", TargetUnsupportedError),
        ("complete", "NO_BINARY_FOR_GPU", "", TargetUnsupportedError),
        ("complete", "OUT_OF_MEMORY", "", CompileError),
    ],
)
def test_failures(fake: FakeDriver, step: str, result: str, log: str, error: type[ParcubinError]) -> None:
    fake.results[step] = getattr(cuda.CUresult, f"CUDA_{'' if result == 'SUCCESS' else 'ERROR_'}{result}")
    fake.error_log = log
    with pytest.raises(error) as raised:
        PROVIDER.compile(SM_80, store_kernel("store"), DEFAULT)
    assert type(raised.value) is error
    assert raised.value.log == (log or fake.results[step].name if error is CompileError else log)
    assert (fake.contexts, fake.destroyed) == (0, 0 if step == "create" else 1)


def test_a_module_of_another_architecture(fake: FakeDriver) -> None:
    module = FACTORIES["subprocess"]().compile_to_relocatable_module(SM_80, store_kernel("store"), DEFAULT, PLAIN)
    fake.results["add"] = cuda.CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU
    with pytest.raises(LinkCheckError, match="another architecture"):
        PROVIDER.compile_and_link(Target("sm_90"), [module], DEFAULT)


def test_undefined_symbols_that_the_log_does_not_name(fake: FakeDriver) -> None:
    fake.results["complete"] = cuda.CUresult.CUDA_ERROR_UNKNOWN
    with pytest.raises(UnresolvedSymbolError) as raised:
        PROVIDER.compile(SM_80, CALLER, DEFAULT)
    assert raised.value.symbols == ("first_helper", "second_helper")


def test_spills_that_the_log_does_not_tell(fake: FakeDriver) -> None:
    options = CompilationOptions(fail_on_spill=True)
    with pytest.raises(UnavailableError, match="does not say whether registers are spilled"):
        PROVIDER.compile(SM_80, store_kernel("store"), options)
    fake.info_log = (
        "ptxas info    : Compiling entry function 'store' for 'sm_80'\n"
        "ptxas info    : Function properties for store\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    )
    PROVIDER.compile(SM_80, store_kernel("store"), options)


def test_a_target_that_the_bindings_do_not_know(fake: FakeDriver) -> None:
    with pytest.raises(TargetUnsupportedError, match=r"cuda-bindings.*sm_999"):
        PROVIDER.compile(Target("sm_999"), store_kernel("store"), DEFAULT)
    assert not fake.options


def test_deferring_to_the_driver(fake: FakeDriver) -> None:
    provider = DeferredProvider(PROVIDER)
    assert (provider.name, provider.identity) == ("deferred(driver)", "driver 13.0 (580.65.06)")
    module = provider.compile_to_relocatable_module(SM_80, store_kernel("store"), DEFAULT, PLAIN)
    assert isinstance(module, DeferredModule)
    assert provider.compile_and_link(SM_80, [module], DEFAULT).cubin == fake._cubin.raw


def test_no_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings", None)
    driver._bindings.cache_clear()
    driver._primary_context.cache_clear()
    with pytest.raises(ParcubinError, match="cuda-bindings, which is not installed"):
        PROVIDER.compile(SM_80, Ptx(store_kernel("store").text), DEFAULT)
    driver._bindings.cache_clear()
