"""The `ptxas` and `nvlink` executables."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parcubin.errors import InputError, InternalCompilerError, ToolchainError, UnavailableError
from parcubin.inspect.cubin import section_places
from parcubin.model import (
    Assembly,
    CompilationOptions,
    DeviceLibrary,
    LinkInput,
    Ptx,
    RelocatableKind,
    RelocatableModule,
    Target,
)
from parcubin.providers.dynamic_alignment import with_alignments_of, with_room_in_module
from parcubin.providers.function_registers import within_launch_bounds
from parcubin.providers.link_check import check_inputs, check_output
from parcubin.providers.link_inputs import compile_link_inputs, input_name, undeferred
from parcubin.providers.ptx_isa_version import ask_latest_ptx_isa_version
from parcubin.providers.ptxas_options import ptxas_options
from parcubin.providers.relocatable_link import joinable
from parcubin.toolchain.logs import check_spills, crash, failure
from parcubin.toolchain.run import run_tool
from parcubin.toolchain.version import Tool


@dataclass(frozen=True)
class SubprocessProvider:
    """Compiles with ptxas and, where there is one, links with nvlink, each in a process of its own.

    The tools work in a private temporary directory on files with fixed names, so nothing of the input becomes a path
    and the output depends on input, options and tool versions only. When nvlink is of a newer release than ptxas, every
    relocatable module is plain, because nvlink links extensible modules of its own release only.
    """

    ptxas: Tool
    nvlink: Tool | None = None

    def __post_init__(self) -> None:
        if self.nvlink and self.nvlink.version.release < self.ptxas.version.release:
            raise ToolchainError(
                f"{self.nvlink} is older than {self.ptxas} and cannot link what that compiles: a linker must be at "
                "least as new as its assembler."
            )

    @property
    def name(self) -> str:
        return "subprocess"

    @property
    def identity(self) -> str:
        return f"{self.ptxas}, {self.nvlink}" if self.nvlink else str(self.ptxas)

    @property
    def supports_compile_to_relocatable_module(self) -> bool:
        return True

    @property
    def supports_compile_and_link(self) -> bool:
        return self.nvlink is not None

    @property
    def supports_link_to_relocatable_module(self) -> bool:
        return self.nvlink is not None

    @property
    def compiles_whole_program(self) -> bool:
        return True

    def compile(self, target: Target, ptx: Ptx, options: CompilationOptions) -> Assembly:
        cubin, log = self._assemble(target, ptx, options, None)
        return Assembly(cubin, log)

    def compile_to_relocatable_module(
        self, target: Target, ptx: Ptx, options: CompilationOptions, kind: RelocatableKind
    ) -> RelocatableModule:
        if self.nvlink and self.nvlink.version.release != self.ptxas.version.release:
            kind = RelocatableKind.PLAIN
        cubin, log = self._assemble(target, ptx, options, kind)
        return RelocatableModule(cubin, kind, ptx.name, log)

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

    def _assemble(
        self, target: Target, ptx: Ptx, options: CompilationOptions, kind: RelocatableKind | None
    ) -> tuple[bytes, str]:
        given = with_room_in_module(ptx, self.ptxas.version.release) if kind is RelocatableKind.PLAIN else ptx
        with tempfile.TemporaryDirectory(prefix="parcubin-") as directory:
            Path(directory, "input.ptx").write_text(given.text, encoding="utf-8", errors="surrogateescape", newline="")

            def run(function_registers: int | None) -> str:
                arguments = ptxas_options(self.ptxas, target, options, kind, function_registers)
                arguments += ["input.ptx", "-o", "output.cubin"]
                return _run(self.ptxas, arguments, directory, target, ptx.name, ptx=given.text)

            log = within_launch_bounds(run)
            cubin = _output(self.ptxas, directory, log, ptx.name)
        if kind is RelocatableKind.PLAIN:
            cubin = with_alignments_of(cubin, ptx)
        if options.fail_on_spill:
            check_spills(log, ptx.name)
        return cubin, log

    def _link(
        self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions, *, relocatable: bool
    ) -> tuple[bytes, str]:
        if self.nvlink is None:
            raise UnavailableError(
                f"The subprocess provider has {self.ptxas} but no nvlink, and so cannot link. Install nvlink "
                "(pip install 'parcubin[cuda13]') or nvJitLink."
            )
        symbols = check_inputs(inputs)
        compiled = compile_link_inputs(self, target, inputs, options)
        modules = [undeferred(m) for m in (joinable(compiled, self.nvlink) if relocatable else compiled)]
        # nvlink drops kernels of -ewp objects named .o
        names = [f"input-{i}.{'a' if isinstance(m, DeviceLibrary) else 'cubin'}" for i, m in enumerate(modules)]
        arguments = ["-v", "-arch", target.name]
        if relocatable:
            arguments.append("-r")
        if options.debug_info:
            arguments.append("-g")
        with tempfile.TemporaryDirectory(prefix="parcubin-") as directory:
            for name, module in zip(names, modules, strict=True):
                assert not isinstance(module, Ptx)  # it was compiled
                data = module.archive if isinstance(module, DeviceLibrary) else module.cubin
                Path(directory, name).write_bytes(data)
            Path(directory, "inputs").write_text("\n".join(names), encoding="ascii")
            arguments += ["--options-file", "inputs", "-o", "output.cubin"]
            log = _run(
                self.nvlink,
                arguments,
                directory,
                target,
                f"{len(inputs)} inputs" if len(inputs) > 1 else input_name(inputs[0]),
                file_names=dict(zip(names, map(input_name, inputs), strict=True)),
            )
            cubin = _output(self.nvlink, directory, log, "the linked output")
        log = "".join(m.log for m in modules if isinstance(m, RelocatableModule)) + log
        check_output(
            cubin,
            symbols,
            relocatable=relocatable,
            tool=str(self.nvlink),
            release=self.nvlink.version.release,
            log=log,
        )
        return cubin, log


def _run(
    tool: Tool,
    arguments: Sequence[str],
    directory: str,
    target: Target,
    subject: str,
    *,
    ptx: str = "",
    file_names: dict[str, str] | None = None,
) -> str:
    """Runs a tool and returns its log; raises what the log describes when the tool fails."""
    run = run_tool(tool.path, arguments, directory)
    log = run.log
    if file_names:
        log = re.sub(r"\binput-\d+\.(?:cubin|a)\b", lambda m: file_names.get(m[0], m[0]), log)
    if run.status < 0:
        raise crash(log, tool=str(tool), status=run.signal_name, input_name=subject, ptx=ptx)
    if run.status:
        raise failure(log, tool=str(tool), target=target, input_name=subject, ptx=ptx)
    return log


def _output(tool: Tool, directory: str, log: str, subject: str) -> bytes:
    try:
        cubin = Path(directory, "output.cubin").read_bytes()
    except OSError:
        cubin = b""
    if not cubin:
        raise InternalCompilerError(f"{tool} reported success on {subject} but wrote no output.", log=log)
    try:
        section_places(cubin)
    except InputError as error:
        raise InternalCompilerError(
            f"{tool} reported success on {subject}, but its output cannot be read: {error.message}", log=log
        ) from None
    return cubin
