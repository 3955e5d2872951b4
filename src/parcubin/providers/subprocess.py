"""The `ptxas` and `nvlink` executables."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from parcubin.errors import CompileError, InternalCompilerError, ToolchainError, UnavailableError
from parcubin.model import (
    Assembly,
    CompilationOptions,
    LinkInput,
    Ptx,
    RelocatableKind,
    RelocatableModule,
    Target,
)
from parcubin.providers.link_check import as_relocatable_or_ptx, check_inputs, check_output, input_name
from parcubin.toolchain.logs import check_spills, crash, failure, supported_ptx_version
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
        return _latest_ptx_isa_version(self.ptxas)

    def _assemble(
        self, target: Target, ptx: Ptx, options: CompilationOptions, kind: RelocatableKind | None
    ) -> tuple[bytes, str]:
        arguments = ["-v", "-arch", target.name, f"-O{0 if options.debug_info else options.opt_level}"]
        if kind is not None:
            arguments.append(f"-{kind.value}")
        if options.debug_info:
            arguments.append("-g")
        if options.line_info:
            arguments.append("-lineinfo")
        if options.max_registers is not None:
            arguments += ["-maxrregcount", str(options.max_registers)]
        with tempfile.TemporaryDirectory(prefix="parcubin-") as directory:
            Path(directory, "input.ptx").write_text(ptx.text, encoding="utf-8", errors="surrogateescape", newline="")
            log = _run(
                self.ptxas, [*arguments, "input.ptx", "-o", "output.cubin"], directory, target, ptx.name, ptx=ptx.text
            )
            cubin = _output(self.ptxas, directory, log, ptx.name)
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
        modules = self._compiled(target, inputs, options)
        names = [f"input-{i}.cubin" for i in range(len(modules))]  # nvlink drops kernels of -ewp objects named .o
        arguments = ["-v", "-arch", target.name]
        if relocatable:
            arguments.append("-r")
        if options.debug_info:
            arguments.append("-g")
        with tempfile.TemporaryDirectory(prefix="parcubin-") as directory:
            for name, module in zip(names, modules, strict=True):
                Path(directory, name).write_bytes(module.cubin)
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
        log = "".join(m.log for m in modules) + log
        check_output(cubin, symbols, relocatable=relocatable, tool=str(self.nvlink), log=log)
        return cubin, log

    def _compiled(
        self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions
    ) -> list[RelocatableModule]:
        """The inputs with the PTX among them compiled; `-c`, which is right for any PTX."""

        def compiled(link_input: LinkInput) -> RelocatableModule:
            module = as_relocatable_or_ptx(link_input)
            if isinstance(module, RelocatableModule):
                return module
            return self.compile_to_relocatable_module(target, module, options, RelocatableKind.PLAIN)

        if sum(not isinstance(i, RelocatableModule) for i in inputs) < 2:
            return [compiled(i) for i in inputs]
        with ThreadPoolExecutor(os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()) as pool:
            return list(pool.map(compiled, inputs))


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
    try:
        run = subprocess.run(
            [tool.path, *arguments],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": directory},
            check=False,
        )
    except OSError as error:
        raise ToolchainError(f"{tool.path} cannot be run: {error.strerror}.") from error
    log = run.stdout.decode("utf-8", errors="replace")
    if file_names:
        log = re.sub(r"\binput-\d+\.cubin\b", lambda m: file_names.get(m[0], m[0]), log)
    if run.returncode < 0:
        raise crash(log, tool=str(tool), status=_signal_name(-run.returncode), input_name=subject, ptx=ptx)
    if run.returncode:
        raise failure(log, tool=str(tool), target=target, input_name=subject, ptx=ptx)
    return log


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _output(tool: Tool, directory: str, log: str, subject: str) -> bytes:
    try:
        cubin = Path(directory, "output.cubin").read_bytes()
    except FileNotFoundError:
        cubin = b""
    if not cubin:
        raise InternalCompilerError(f"{tool} reported success on {subject} but wrote no output.", log=log)
    return cubin


@lru_cache
def _latest_ptx_isa_version(ptxas: Tool) -> int:
    ptx = Ptx(".version 99.9\n.target sm_80\n.address_size 64\n", "the question for its PTX version")
    try:
        SubprocessProvider(ptxas).compile(Target("sm_80"), ptx, CompilationOptions())
    except CompileError as error:
        if (version := supported_ptx_version(error.log)) is not None:
            return version
    raise ToolchainError(f"{ptxas} does not say which PTX version it supports.")
