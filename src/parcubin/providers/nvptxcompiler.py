"""libnvptxcompiler, in process: ptxas as a library."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from parcubin.errors import CompileError, InternalCompilerError, PtxSyntaxError, ToolchainError, UnavailableError
from parcubin.model import (
    Assembly,
    CompilationOptions,
    LinkInput,
    Ptx,
    RelocatableKind,
    RelocatableModule,
    Target,
)
from parcubin.providers.dynamic_alignment import with_alignments_of, with_room_in_module
from parcubin.providers.function_registers import within_launch_bounds
from parcubin.providers.ptx_isa_version import ask_latest_ptx_isa_version
from parcubin.providers.ptxas_options import ptxas_options
from parcubin.toolchain.logs import check_spills, failure
from parcubin.toolchain.version import Tool

_INVALID_INPUT = 2  # nvPTXCompileResult of nvPTXCompiler.h


@dataclass(frozen=True)
class NvPtxCompilerProvider:
    """Compiles with one shared libnvptxcompiler, which is loaded on first use.

    The code is ptxas's of the same version, instruction for instruction; the files differ in a note that names the
    build (our measurement). It can abort the process on damaged input, so the pipeline uses it in worker processes
    only.

    Attributes:
        library: a shared library; `toolchain.shared_nvptxcompiler` makes one of NVIDIA's static one.
    """

    library: Tool

    @property
    def name(self) -> str:
        return "nvptxcompiler"

    @property
    def identity(self) -> str:
        return str(self.library)

    @property
    def supports_compile_to_relocatable_module(self) -> bool:
        return True

    @property
    def supports_compile_and_link(self) -> bool:
        return False

    @property
    def supports_link_to_relocatable_module(self) -> bool:
        return False

    @property
    def compiles_whole_program(self) -> bool:
        return True

    def compile(self, target: Target, ptx: Ptx, options: CompilationOptions) -> Assembly:
        cubin, log = self._compile(target, ptx, options, None)
        return Assembly(cubin, log)

    def compile_to_relocatable_module(
        self, target: Target, ptx: Ptx, options: CompilationOptions, kind: RelocatableKind
    ) -> RelocatableModule:
        cubin, log = self._compile(target, ptx, options, kind)
        return RelocatableModule(cubin, kind, ptx.name, log)

    def compile_and_link(
        self,
        target: Target,  # noqa: ARG002
        inputs: Sequence[LinkInput],  # noqa: ARG002
        options: CompilationOptions,  # noqa: ARG002
    ) -> Assembly:
        raise self._no_linker()

    def link_to_relocatable_module(
        self,
        target: Target,  # noqa: ARG002
        inputs: Sequence[LinkInput],  # noqa: ARG002
        options: CompilationOptions,  # noqa: ARG002
    ) -> RelocatableModule:
        raise self._no_linker()

    def latest_ptx_isa_version(self) -> int:
        return ask_latest_ptx_isa_version(self)

    def _compile(
        self, target: Target, ptx: Ptx, options: CompilationOptions, kind: RelocatableKind | None
    ) -> tuple[bytes, str]:
        is_plain = kind is RelocatableKind.PLAIN
        given = with_room_in_module(ptx, self.library.version.release) if is_plain else ptx
        cubin, log = within_launch_bounds(
            lambda registers: _run(
                self.library, target, given, ptxas_options(self.library, target, options, kind, registers)
            )
        )
        if is_plain:
            cubin = with_alignments_of(cubin, ptx)
        if options.fail_on_spill:
            check_spills(log, ptx.name)
        return cubin, log

    def _no_linker(self) -> UnavailableError:
        return UnavailableError(
            f"{self.library} cannot link. Add nvJitLink or nvlink (pip install 'parcubin[cuda13]')."
        )


class _Library:
    """The functions of a loaded libnvptxcompiler; those used here are the same from 11.1 to 13.5."""

    def __init__(self, tool: Tool) -> None:
        try:
            library = ctypes.CDLL(tool.path, mode=os.RTLD_LOCAL | os.RTLD_LAZY)
        except OSError as error:
            raise ToolchainError(f"{tool} at {tool.path} cannot be loaded: {error}.") from error

        def function(name: str, *parameters: type) -> ctypes._NamedFuncPointer:
            found: ctypes._NamedFuncPointer = getattr(library, f"nvPTXCompiler{name}")
            found.argtypes = parameters
            found.restype = ctypes.c_int
            return found

        handle, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)
        try:
            self.create = function("Create", ctypes.POINTER(handle), ctypes.c_size_t, text)
            self.destroy = function("Destroy", ctypes.POINTER(handle))
            self.compile = function("Compile", handle, ctypes.c_int, ctypes.POINTER(text))
            self.program_size = function("GetCompiledProgramSize", handle, size)
            self.program = function("GetCompiledProgram", handle, ctypes.c_void_p)
            self.logs = tuple(
                (function(f"Get{kind}LogSize", handle, size), function(f"Get{kind}Log", handle, ctypes.c_void_p))
                for kind in ("Error", "Info")
            )
        except AttributeError as error:
            raise ToolchainError(f"{tool.path} is not a libnvptxcompiler.") from error


@lru_cache
def _load(tool: Tool) -> _Library:
    return _Library(tool)


def _run(tool: Tool, target: Target, ptx: Ptx, arguments: Sequence[str]) -> tuple[bytes, str]:
    library = _load(tool)
    texts = [argument.encode("ascii") for argument in arguments]
    with _handle(library, tool, ptx) as handle:
        code = library.compile(handle, len(texts), (ctypes.c_char_p * len(texts))(*texts))
        log = _log(library, handle)
        if code:
            raise failure(log, tool=str(tool), target=target, input_name=ptx.name, ptx=ptx.text)
        size = ctypes.c_size_t()
        if library.program_size(handle, ctypes.byref(size)) or not size.value:
            raise _no_output(tool, ptx, log)
        cubin = ctypes.create_string_buffer(size.value)
        if library.program(handle, cubin):
            raise _no_output(tool, ptx, log)
        return cubin.raw, log


@contextmanager
def _handle(library: _Library, tool: Tool, ptx: Ptx) -> Iterator[ctypes.c_void_p]:
    handle = ctypes.c_void_p()
    text = ptx.text.encode("utf-8", errors="surrogateescape")
    if code := library.create(ctypes.byref(handle), len(text), text):
        if code == _INVALID_INPUT:
            raise PtxSyntaxError(f"{ptx.name} is not PTX: it is empty.", line=1)
        raise CompileError(f"{tool} does not take the text of {ptx.name} (status {code}).")
    try:
        yield handle
    finally:
        library.destroy(ctypes.byref(handle))


def _log(library: _Library, handle: ctypes.c_void_p) -> str:
    texts = []
    for get_size, get_text in library.logs:
        size = ctypes.c_size_t()
        if not get_size(handle, ctypes.byref(size)) and size.value:
            text = ctypes.create_string_buffer(size.value + 1)
            if not get_text(handle, text):
                texts.append(text.value.decode("utf-8", errors="replace"))
    return "".join(texts)


def _no_output(tool: Tool, ptx: Ptx, log: str) -> InternalCompilerError:
    return InternalCompilerError(f"{tool} reported success on {ptx.name} but gave no output.", log=log)
