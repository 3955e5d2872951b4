"""The compiler and linker inside the CUDA driver."""

from __future__ import annotations

import ctypes
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from parcubin.errors import (
    CompileError,
    LinkCheckError,
    ParcubinError,
    PtxSyntaxError,
    PtxVersionError,
    TargetUnsupportedError,
    ToolchainError,
    UnavailableError,
)
from parcubin.inspect.ptx import scan_ptx
from parcubin.model import (
    Assembly,
    CompilationOptions,
    LinkInput,
    Ptx,
    RelocatableKind,
    RelocatableModule,
    Target,
)
from parcubin.providers.dynamic_alignment import with_room
from parcubin.providers.function_registers import within_launch_bounds
from parcubin.providers.link_check import check_inputs, check_output, unresolved
from parcubin.providers.link_inputs import input_name, undeferred
from parcubin.providers.ptx_isa_version import ask_latest_ptx_isa_version
from parcubin.toolchain.driver import DriverVersion
from parcubin.toolchain.logs import check_spills, diagnostics, failure, resource_usage

_ARCHITECTURE_SPECIFIC, _FAMILY = 0x10000, 0x20000
"""CU_COMPUTE_ACCELERATED_TARGET_BASE and CU_COMPUTE_FAMILY_TARGET_BASE of cuda.h."""

_FIRST_LOG_BYTES = 65536


@dataclass(frozen=True)
class DriverProvider:
    """Compiles and links with the driver's `cuLink` functions, through cuda-bindings.

    Works in the primary context of the first GPU, which takes some hundred megabytes of its memory in each process
    that compiles. Compiles every PTX input the `-c` way, even a single one.

    Attributes:
        driver: the driver; `toolchain.driver.usable_driver` finds it.
    """

    driver: DriverVersion

    @property
    def name(self) -> str:
        return "driver"

    @property
    def identity(self) -> str:
        return str(self.driver)

    @property
    def supports_compile_to_relocatable_module(self) -> bool:
        return False

    @property
    def supports_compile_and_link(self) -> bool:
        return True

    @property
    def supports_link_to_relocatable_module(self) -> bool:
        return False

    @property
    def compiles_whole_program(self) -> bool:
        return False

    def compile(self, target: Target, ptx: Ptx, options: CompilationOptions) -> Assembly:
        return self.compile_and_link(target, [ptx], options)

    def compile_to_relocatable_module(
        self,
        target: Target,  # noqa: ARG002
        ptx: Ptx,  # noqa: ARG002
        options: CompilationOptions,  # noqa: ARG002
        kind: RelocatableKind,  # noqa: ARG002
    ) -> RelocatableModule:
        raise self._no_relocatable_modules()

    def compile_and_link(self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions) -> Assembly:
        if options.fast_compile != "0" and any(isinstance(undeferred(i), Ptx) for i in inputs):
            raise UnavailableError(
                f"{self.driver} has no fast-compile levels. Add ptxas or nvJitLink, or leave the level out."
            )
        if options.ptxas_options and any(isinstance(undeferred(i), Ptx) for i in inputs):
            raise UnavailableError(
                f"{self.driver} does not take options of ptxas ({' '.join(options.ptxas_options)}). Add ptxas or "
                "nvJitLink, or leave them out."
            )
        symbols = check_inputs(inputs)
        inputs = with_room(inputs, self.driver.cuda)

        def run(function_registers: int | None) -> tuple[bytes, str]:
            return _run(self.driver, target, inputs, _limited(options, function_registers))

        cubin, log = within_launch_bounds(run)
        check_output(cubin, symbols, relocatable=False, tool=str(self.driver), release=self.driver.cuda, log=log)
        compiled = [i for i in map(undeferred, inputs) if isinstance(i, Ptx)]
        if any(kernel.name not in resource_usage(log) for ptx in compiled for kernel in scan_ptx(ptx.text).kernels):
            # What the driver finds in its cache it does not log (measured with 580.159 on an H200); the cache goes by
            # the text, comments included.
            inputs = [_not_cached(i) for i in inputs]
            _, log = within_launch_bounds(run)
        if options.fail_on_spill:
            if any(kernel not in resource_usage(log) for info in symbols for kernel in info.kernels):
                raise UnavailableError(f"{self.driver} does not say whether registers are spilled.", log=log)
            check_spills(log, _subject(inputs))
        return Assembly(cubin, log)

    def link_to_relocatable_module(
        self,
        target: Target,  # noqa: ARG002
        inputs: Sequence[LinkInput],  # noqa: ARG002
        options: CompilationOptions,  # noqa: ARG002
    ) -> RelocatableModule:
        raise self._no_relocatable_modules()

    def latest_ptx_isa_version(self) -> int:
        return ask_latest_ptx_isa_version(self)

    def _no_relocatable_modules(self) -> UnavailableError:
        return UnavailableError(
            f"{self.driver} cannot make relocatable modules. Add ptxas or nvJitLink from 13.2 on, or defer the "
            "compilation to the link."
        )


def _limited(options: CompilationOptions, registers: int | None) -> CompilationOptions:
    """The driver has no limit for device functions alone."""
    if registers is None:
        return options
    return replace(options, max_registers=min(registers, options.max_registers or registers))


def _not_cached(link_input: LinkInput) -> LinkInput:
    module = undeferred(link_input)
    return Ptx(f"{module.text}\n// {secrets.token_hex(16)}\n", module.name) if isinstance(module, Ptx) else module


def _subject(inputs: Sequence[LinkInput]) -> str:
    return input_name(inputs[0]) if len(inputs) == 1 else f"{len(inputs)} inputs"


@lru_cache
def _bindings() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise ToolchainError(
            "The driver is used through cuda-bindings, which is not installed: pip install 'parcubin[cuda13]'."
        ) from error
    return driver


@lru_cache
def _primary_context() -> Any:
    """The primary context of the first visible GPU; kept until the process ends."""
    cuda = _bindings()
    # For a process of our own, see `compile_and_link`.
    os.environ.setdefault("CUDA_CACHE_DISABLE", "1")
    try:
        (code,) = cuda.cuInit(0)
        _check(code, "be initialised")
        code, device = cuda.cuDeviceGet(0)
        _check(code, "use a GPU")
        code, context = cuda.cuDevicePrimaryCtxRetain(device)
        _check(code, "make a context")
    except ParcubinError:
        raise
    except Exception as error:  # cuda-bindings has its own way of saying that there is no libcuda
        raise ToolchainError(f"There is no CUDA driver: {error}") from error
    return context


def _check(code: Any, what: str) -> None:
    if code:
        raise ToolchainError(f"The CUDA driver cannot {what}: {code.name}.")


@contextmanager
def _current_context() -> Iterator[None]:
    cuda = _bindings()
    (code,) = cuda.cuCtxPushCurrent(_primary_context())
    _check(code, "use its context")
    try:
        yield
    finally:
        cuda.cuCtxPopCurrent()


def _jit_target(tool: DriverVersion, target: Target) -> Any:
    base = {"a": _ARCHITECTURE_SPECIFIC, "f": _FAMILY}.get(target.name[-1], 0)
    try:
        return _bindings().CUjit_target(base + target.number)
    except ValueError:
        raise TargetUnsupportedError(
            f"cuda-bindings, through which {tool} is used, does not know the target {target}. If it is newer than "
            "they are, install a newer version."
        ) from None


def _run(
    tool: DriverVersion, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions
) -> tuple[bytes, str]:
    """One link; every return code is checked, and a log with an error in it is a failure whatever the code."""
    cuda = _bindings()
    names = cuda.CUjit_option
    modules = [undeferred(i) for i in inputs]
    # A kernel's resource lines are shorter than its PTX, so nothing is cut off.
    log_bytes = _FIRST_LOG_BYTES + sum(len(m.text) for m in modules if isinstance(m, Ptx))
    error_log, info_log = bytearray(log_bytes), bytearray(log_bytes)
    values: dict[Any, Any] = {
        names.CU_JIT_TARGET: _jit_target(tool, target),
        names.CU_JIT_ERROR_LOG_BUFFER: error_log,
        names.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: log_bytes,
        names.CU_JIT_INFO_LOG_BUFFER: info_log,
        names.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: log_bytes,
        names.CU_JIT_LOG_VERBOSE: 1,
    }
    if options.debug_info:
        values[names.CU_JIT_GENERATE_DEBUG_INFO] = 1
    if options.debug_info or options.opt_level != 3:  # the driver's own level is the highest
        values[names.CU_JIT_OPTIMIZATION_LEVEL] = 0 if options.debug_info else options.opt_level
    if options.line_info:
        values[names.CU_JIT_GENERATE_LINE_INFO] = 1
    if options.max_registers is not None:
        values[names.CU_JIT_MAX_REGISTERS] = options.max_registers

    def log() -> str:
        texts = [bytes(buffer).split(b"\0", 1)[0] for buffer in (error_log, info_log)]
        return "\n".join(text.decode("utf-8", errors="replace") for text in texts if text)

    with _current_context():
        code, state = cuda.cuLinkCreate(len(values), list(values), list(values.values()))
        if code:
            raise _error(tool, target, inputs, inputs, code, log())
        try:
            for link_input, module in zip(inputs, modules, strict=True):
                if isinstance(module, Ptx):
                    kind = cuda.CUjitInputType.CU_JIT_INPUT_PTX
                    data = module.text.encode("utf-8", errors="surrogateescape") + b"\0"
                elif isinstance(module, RelocatableModule):
                    kind, data = cuda.CUjitInputType.CU_JIT_INPUT_CUBIN, module.cubin
                else:
                    kind, data = cuda.CUjitInputType.CU_JIT_INPUT_LIBRARY, module.archive
                name = input_name(link_input).replace("\0", " ").encode("utf-8", errors="replace")
                (code,) = cuda.cuLinkAddData(state, kind, data, len(data), name, 0, [], [])
                if code:
                    raise _error(tool, target, [link_input], inputs, code, log())
            code, address, size = cuda.cuLinkComplete(state)
            if code or any(d.severity in ("error", "fatal") for d in diagnostics(log())):
                raise _error(tool, target, inputs, inputs, code, log())
            return ctypes.string_at(int(address), size), log()
        finally:
            cuda.cuLinkDestroy(state)


_SILENT: dict[str, tuple[type[ParcubinError], str]] = {
    "CUDA_ERROR_INVALID_PTX": (PtxSyntaxError, "the PTX is not valid"),
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": (PtxVersionError, "the PTX is of a newer version than it understands"),
    "CUDA_ERROR_JIT_COMPILER_NOT_FOUND": (UnavailableError, "its compiler, libnvidia-ptxjitcompiler, is not installed"),
    "CUDA_ERROR_INVALID_VALUE": (TargetUnsupportedError, "it does not know the target"),
    "CUDA_ERROR_NO_BINARY_FOR_GPU": (TargetUnsupportedError, "it does not know the target"),
}
"""What a status says when the driver's log says nothing."""


def _error(
    tool: DriverVersion,
    target: Target,
    concerned: Sequence[LinkInput],
    inputs: Sequence[LinkInput],
    code: Any,
    log: str,
) -> ParcubinError:
    """The error that the log describes; where it says nothing, what the status says."""
    only = undeferred(concerned[0])
    ptx = only.text if len(concerned) == 1 and isinstance(only, Ptx) else ""
    error = failure(log or code.name, tool=str(tool), target=target, input_name=_subject(concerned), ptx=ptx)
    if type(error) is not CompileError:
        return error
    if code.name == "CUDA_ERROR_NO_BINARY_FOR_GPU" and isinstance(only, RelocatableModule):
        return LinkCheckError(
            f"{tool} does not accept {_subject(concerned)} for {target}: it was compiled for another architecture, or "
            "by a compiler that is newer than this driver.",
            log=log,
        )
    if not log and (silent := _SILENT.get(code.name)):
        kind, reason = silent
        return kind(f"{tool} does not compile {_subject(concerned)} for {target}: {reason}.")
    if len(concerned) == len(inputs) and (missing := unresolved(inputs, log)):
        return missing
    return error
