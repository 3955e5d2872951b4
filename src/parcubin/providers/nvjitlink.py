"""libnvJitLink, in process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from parcubin.errors import (
    CompileError,
    LinkCheckError,
    ParcubinError,
    ToolchainError,
    UnavailableError,
)
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
from parcubin.providers.ptxas_options import optimisation_option
from parcubin.providers.relocatable_link import joinable, resolves_shared_memory
from parcubin.toolchain.logs import check_spills, diagnostics, failure
from parcubin.toolchain.version import Tool

# nvJitLinkResult and nvJitLinkInputType of nvJitLink.h; the values are the same from 12.0 to 13.5.
_UNRECOGNIZED_OPTION, _INVALID_INPUT = 1, 3
_INPUT_CUBIN, _INPUT_PTX, _INPUT_LIBRARY = 1, 2, 6


@dataclass(frozen=True)
class NvJitLinkProvider:
    """Compiles and links with one libnvJitLink, which is loaded on first use.

    It compiles every PTX input the `-c` way, even a single one (our measurement). It can abort the process on damaged
    input, so the pipeline uses it in worker processes only.
    """

    library: Tool

    @property
    def name(self) -> str:
        return "nvjitlink"

    @property
    def identity(self) -> str:
        return str(self.library)

    @property
    def supports_compile_to_relocatable_module(self) -> bool:
        """From 13.2 on; before, `-r` gives static shared memory wrong addresses, and before 13.0 there is none."""
        return not resolves_shared_memory(self.library.version.release)

    @property
    def supports_compile_and_link(self) -> bool:
        return True

    @property
    def supports_link_to_relocatable_module(self) -> bool:
        """From 13.0 on, where each input is a relocatable module."""
        return self.library.version.major >= 13

    @property
    def compiles_whole_program(self) -> bool:
        return False

    def compile(self, target: Target, ptx: Ptx, options: CompilationOptions) -> Assembly:
        return self.compile_and_link(target, [ptx], options)

    def compile_to_relocatable_module(
        self,
        target: Target,
        ptx: Ptx,
        options: CompilationOptions,
        kind: RelocatableKind,  # noqa: ARG002  the library has one kind
    ) -> RelocatableModule:
        cubin, log = self._link(target, [ptx], options, relocatable=True)
        return RelocatableModule(cubin, RelocatableKind.PLAIN, ptx.name, log)

    def compile_and_link(self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions) -> Assembly:
        cubin, log = self._link(target, inputs, options, relocatable=False)
        return Assembly(cubin, log)

    def link_to_relocatable_module(
        self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions
    ) -> RelocatableModule:
        cubin, log = self._link(target, inputs, options, relocatable=True)
        return RelocatableModule(cubin, RelocatableKind.PLAIN, "linked modules", log)

    def latest_ptx_isa_version(self) -> int:
        return ask_latest_ptx_isa_version(self)

    def _link(
        self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions, *, relocatable: bool
    ) -> tuple[bytes, str]:
        if relocatable:
            self._check_can_join(inputs)
        symbols = check_inputs(inputs)
        inputs = joinable(inputs, self.library) if relocatable else with_room(inputs, self.library.version.release)
        arguments = _options(self.library, target, inputs, options, relocatable=relocatable)
        cubin, log = within_launch_bounds(
            lambda registers: _run(self.library, target, inputs, [*arguments, *_function_limit(registers)])
        )
        release = self.library.version.release
        check_output(cubin, symbols, relocatable=relocatable, tool=str(self.library), release=release, log=log)
        if not relocatable and release < (12, 5) and (missing := unresolved(inputs, log)):
            raise missing  # to 12.4, a link that follows a failed one reports success (our measurement)
        if options.fail_on_spill:
            check_spills(log, _subject(inputs))
        return cubin, log

    def _check_can_join(self, inputs: Sequence[LinkInput]) -> None:
        has_ptx = any(isinstance(undeferred(i), Ptx) for i in inputs)
        if not self.supports_link_to_relocatable_module or (
            has_ptx and not self.supports_compile_to_relocatable_module
        ):
            raise UnavailableError(
                f"{self.library} cannot make relocatable modules; nvJitLink can from 13.2 on. Use a newer one, add "
                "ptxas, or defer the compilation to the link."
            )


def _options(
    tool: Tool, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions, *, relocatable: bool
) -> list[str]:
    # -Xptxas=-v gives ptxas's resource lines alone; -verbose adds the linker's, which 12.4 writes to standard output.
    arguments = [f"-arch={target}", "-Xptxas=-v"]
    if relocatable:
        arguments.append("-r")
    if options.debug_info:
        arguments.append("-g")
    elif any(isinstance(undeferred(i), Ptx) for i in inputs):  # modules may be another tool's
        arguments.append(f"-Xptxas={optimisation_option(tool, options)}")  # -O itself takes 0 and 3 only
        arguments += [f"-Xptxas={option}" for option in options.ptxas_options]
    if options.line_info:
        arguments.append("-lineinfo")
    if options.max_registers is not None:
        arguments.append(f"-maxrregcount={options.max_registers}")
    return arguments


def _function_limit(registers: int | None) -> list[str]:
    return [] if registers is None else [f"-Xptxas=--device-function-maxrregcount={registers}"]


def _subject(inputs: Sequence[LinkInput]) -> str:
    return input_name(inputs[0]) if len(inputs) == 1 else f"{len(inputs)} inputs"


class _Library:
    """The functions of a loaded libnvJitLink. Their exported names carry the version; 12.0 to 12.2 have no others."""

    def __init__(self, tool: Tool) -> None:
        try:
            library = ctypes.CDLL(tool.path, mode=os.RTLD_LOCAL | os.RTLD_LAZY)
        except OSError as error:
            raise ToolchainError(f"{tool} at {tool.path} cannot be loaded: {error}.") from error
        suffix = "{}_{}".format(*tool.version.release)

        def function(name: str, *parameters: type) -> ctypes._NamedFuncPointer:
            found: ctypes._NamedFuncPointer = getattr(library, f"__nvJitLink{name}_{suffix}")
            found.argtypes = parameters
            found.restype = ctypes.c_int
            return found

        handle, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)
        try:
            self.create = function("Create", ctypes.POINTER(handle), ctypes.c_uint32, ctypes.POINTER(text))
            self.destroy = function("Destroy", ctypes.POINTER(handle))
            self.add_data = function("AddData", handle, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
            self.complete = function("Complete", handle)
            self.cubin_size = function("GetLinkedCubinSize", handle, size)
            self.cubin = function("GetLinkedCubin", handle, ctypes.c_void_p)
            self.logs = tuple(
                (function(f"Get{kind}LogSize", handle, size), function(f"Get{kind}Log", handle, ctypes.c_void_p))
                for kind in ("Error", "Info")
            )
        except AttributeError as error:
            raise ToolchainError(f"{tool.path} is not the libnvJitLink {tool.version} that it says it is.") from error


@lru_cache
def _load(tool: Tool) -> _Library:
    return _Library(tool)


def _run(tool: Tool, target: Target, inputs: Sequence[LinkInput], arguments: Sequence[str]) -> tuple[bytes, str]:
    """One link; every return code is checked, and a log with an error in it is a failure whatever the code."""
    library = _load(tool)
    with _handle(library, tool, target, arguments, _subject(inputs)) as handle:
        # The library keeps the pointers to the names, not copies.
        names = [ctypes.create_string_buffer(_as_log_name(input_name(i))) for i in inputs]
        for link_input, name in zip(inputs, names, strict=True):
            module = undeferred(link_input)
            if isinstance(module, Ptx):
                kind, data = _INPUT_PTX, module.text.encode("utf-8", errors="surrogateescape") + b"\0"
            elif isinstance(module, RelocatableModule):
                kind, data = _INPUT_CUBIN, module.cubin
            else:
                kind, data = _INPUT_LIBRARY, module.archive
            if code := library.add_data(handle, kind, data, len(data), ctypes.addressof(name)):
                raise _error(tool, target, [link_input], inputs, code, _log(library, handle))
        code = library.complete(handle)
        log = _log(library, handle)
        if code or any(d.severity in ("error", "fatal") for d in diagnostics(log)):
            raise _error(tool, target, inputs, inputs, code, log)
        size = ctypes.c_size_t()
        if code := library.cubin_size(handle, ctypes.byref(size)):
            raise _error(tool, target, inputs, inputs, code, log)
        cubin = ctypes.create_string_buffer(size.value)
        if code := library.cubin(handle, cubin):
            raise _error(tool, target, inputs, inputs, code, log)
        return cubin.raw, log


@contextmanager
def _handle(
    library: _Library, tool: Tool, target: Target, arguments: Sequence[str], subject: str
) -> Iterator[ctypes.c_void_p]:
    handle = ctypes.c_void_p()
    texts = [argument.encode("ascii") for argument in arguments]
    code = library.create(ctypes.byref(handle), len(texts), (ctypes.c_char_p * len(texts))(*texts))
    try:
        if code:
            log = _log(library, handle)
            if code == _UNRECOGNIZED_OPTION:
                raise UnavailableError(f"{tool} does not take the options {' '.join(arguments)}.", log=log)
            # 12.x does not say in its log what it dislikes; the target is all that is left.
            log = log if _names_target(log) else f"{log}\nValue '{target}' is not defined for option 'arch'"
            raise failure(log, tool=str(tool), target=target, input_name=subject)
        yield handle
    finally:
        if handle:
            library.destroy(ctypes.byref(handle))


def _names_target(log: str) -> bool:
    return "architecture (compute_" in log


def _log(library: _Library, handle: ctypes.c_void_p) -> str:
    texts = []
    for get_size, get_text in library.logs:
        size = ctypes.c_size_t()
        if handle and not get_size(handle, ctypes.byref(size)) and size.value:
            text = ctypes.create_string_buffer(size.value + 1)
            if not get_text(handle, text):
                texts.append(text.value.decode("utf-8", errors="replace"))
    return "\n".join(texts)


def _as_log_name(name: str) -> bytes:
    return name.replace("\0", " ").encode("utf-8", errors="replace")


def _error(
    tool: Tool, target: Target, concerned: Sequence[LinkInput], inputs: Sequence[LinkInput], code: int, log: str
) -> ParcubinError:
    only = undeferred(concerned[0])
    ptx = only.text if len(concerned) == 1 and isinstance(only, Ptx) else ""
    error = failure(log, tool=str(tool), target=target, input_name=_subject(concerned), ptx=ptx)
    if type(error) is not CompileError:
        return error
    if code == _INVALID_INPUT and isinstance(only, RelocatableModule):
        return LinkCheckError(
            f"{tool} does not accept {_subject(concerned)} for {target}: it was compiled for another architecture, or "
            "by a compiler that is newer than this library.",
            log=log,
        )
    if len(concerned) == len(inputs) and (missing := unresolved(inputs, log)):
        return missing  # 12.4 writes the names to standard error only
    return error
