"""LLVM in processes of its own: `opt`, `llc` and, where modules are linked, `llvm-link`.

`opt` reads a shard as text and hands bitcode on to `llc`: two processes a shard. They work in a private temporary
folder on files with fixed names.
"""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from parcubin.errors import InputError, InternalCompilerError, ParcubinError, ProcessCrashedError, ToolchainError
from parcubin.lower.dialect import in_llvm_22
from parcubin.lower.interface import TRIPLE, Texts
from parcubin.lower.source_text import BITCODE_MAGICS, decoded
from parcubin.lower.targets import too_old_ptx, unknown_target
from parcubin.model import CompilationOptions, Target
from parcubin.timing import timed
from parcubin.toolchain.llvm_tools import LlvmTools, files_of
from parcubin.toolchain.run import ToolRun, run_tool

ResultT = TypeVar("ResultT")

_LOG_TAIL = 8192
_DATA_LAYOUT = re.compile(r"^target datalayout = .*", re.M)
_PARSE_ERROR = re.compile(r": input-(?P<part>\d+):(?:(?P<line>\d+):\d+:)? error: (?P<what>.*)")
_BROKEN = re.compile(r"\berror: (?:input|linked) module is broken!")
_LINK_ERROR = re.compile(r"^(?:\S+: )?error: (.*)", re.M)
_TOO_OLD_PTX = re.compile(
    r"PTX version \S+ does not support target '(\w+)'\. Minimum required PTX version is (\d+)\.(\d)"
)


@dataclass(frozen=True)
class ExternalLlvm:
    """The LLVM of some executables. Implements `Llvm`."""

    tools: LlvmTools

    @property
    def identity(self) -> str:
        return str(self.tools)

    def files(self) -> tuple[Path, ...]:
        linker = Path(self.tools.path("llvm-link"))
        return (*files_of(self.tools.folder), *([linker] if self.tools.can_link else []))

    def newest_ptx_version(self, at_most: int) -> int:
        return max((v for v in self.tools.ptx_versions if v <= at_most), default=at_most)

    def check_target(self, target: Target, ptx_version: int) -> None:
        """Which PTX ISA version a target needs is said by LLVM when it runs."""
        del ptx_version
        if target.name not in self.tools.targets:
            raise unknown_target(target, self.tools.targets, self.identity)

    def print_module(self, source: bytes, name: str) -> str:
        def printed(sources: Sequence[tuple[str, bytes]]) -> str:
            with _temporary_folder() as folder:
                _write(folder, sources)
                self._run("opt", ["-S", "input-0", "-o", "output.ll"], folder, sources, name)
                return self._output(folder, "output.ll", "opt", name, b"").decode(errors="surrogateescape")

        if source.startswith(BITCODE_MAGICS):
            return printed([(name, source)])
        return self._understood([(name, decoded(source, name))], lambda texts: printed(_encoded(texts)))

    def link(self, texts: Texts, name: str) -> str:
        def linked(texts: Texts) -> str:
            with _temporary_folder() as folder:
                module = self._module(folder, texts, name)
                self._run("opt", ["-S", f"-mtriple={TRIPLE}", module, "-o", "output.ll"], folder, texts, name)
                return self._output(folder, "output.ll", "opt", name, b"").decode(errors="surrogateescape")

        return self._understood(texts, linked)

    def emit_ptx(
        self,
        texts: Texts,
        target: Target,
        options: CompilationOptions,
        ptx_version: int,
        name: str,
        seconds: dict[str, float],
    ) -> str:
        machine = [f"-mtriple={TRIPLE}", f"-mcpu={target}", f"-mattr=+ptx{ptx_version}"]
        passes = [f"-passes=default<O{options.pass_level}>"]
        if options.inlining_threshold is not None:
            passes.append(f"-inline-threshold={options.inlining_threshold}")
        with _temporary_folder() as folder:

            def optimized(texts: Texts) -> None:
                with timed(seconds, "parse"):
                    module = self._module(folder, texts, name)
                with timed(seconds, "optimize"):
                    self._run(
                        "opt", [*machine, *passes, module, "-o", "optimized.bc"], folder, texts, name, ptx_version
                    )

            self._understood(texts, optimized)
            self._output(folder, "optimized.bc", "opt", name, BITCODE_MAGICS[0])
            with timed(seconds, "emit"):
                # Without comments, as llvmlite emits it. `opt` has verified the module.
                emission = [f"-O{options.opt_level}", "-asm-verbose=0", "-disable-verify"]
                self._run(
                    "llc", [*machine, *emission, "optimized.bc", "-o", "output"], folder, texts, name, ptx_version
                )
            return self._output(folder, "output", "llc", name, b"//").decode(errors="surrogateescape")

    def _module(self, folder: str, texts: Texts, name: str) -> str:
        """Writes the modules, links them when they are several, and returns the file. It has no data layout, so that
        `opt` gives it the one of the triple."""
        files = _write(folder, _encoded([(part, _DATA_LAYOUT.sub("", text)) for part, text in texts]))
        if len(files) == 1:
            return files[0]
        if not self.tools.can_link:
            raise ToolchainError(
                f"{self.identity} has no llvm-link, and {name} is linked of {', '.join(part for part, _ in texts)}. "
                "Install llvm-link beside opt, or use llvmlite."
            )
        self._run("llvm-link", [*files, "-o", "linked.bc"], folder, texts, name)
        return "linked.bc"

    def _understood(self, texts: Texts, use: Callable[[Texts], ResultT]) -> ResultT:
        """What `use` makes of the modules; those that LLVM 22 cannot parse are given to it in LLVM 22's spelling."""
        try:
            return use(texts)
        except InputError as error:
            if self.tools.major > 22 or error.line is None:
                raise
            translated = [(part, in_llvm_22(text)) for part, text in texts]
            if translated == list(texts):
                raise
            return use(translated)

    def _run(
        self,
        tool: str,
        arguments: Sequence[str],
        folder: str,
        inputs: Sequence[tuple[str, object]],
        name: str,
        ptx_version: int = 0,
    ) -> None:
        run = run_tool(self.tools.path(tool), arguments, folder)
        if run.status:
            raise self._failure(tool, run, [part for part, _ in inputs], name, ptx_version)

    def _failure(self, tool: str, run: ToolRun, parts: Sequence[str], name: str, ptx_version: int) -> ParcubinError:
        log = run.log.strip()
        if run.status < 0:
            return self._crash(tool, f"was ended by {run.signal_name}", signal.Signals(-run.status), log)
        if _BROKEN.search(log):
            what = next((line for line in log.split("\n") if not line.startswith("warning: ")), "")
            return InputError(f"{name} is not valid LLVM IR: {what}.", input_name=name, log=log)
        if error := _PARSE_ERROR.search(log):
            part, line = parts[int(error["part"])], int(error["line"]) if error["line"] else None
            at = f" at line {line}" if line else ""
            return InputError(
                f"{self.identity} cannot parse {part}{at}: {error['what']}.", input_name=part, line=line, log=log
            )
        if too_old := _TOO_OLD_PTX.search(log):
            return too_old_ptx(Target(too_old[1]), int(too_old[2] + too_old[3]), ptx_version)
        if tool == "llvm-link" and (error := _LINK_ERROR.search(log)):
            return InputError(f"The modules of {name} do not link: {error[1]}", log=log)
        return self._crash(tool, f"exited with status {run.status}", None, log)

    def _crash(self, tool: str, how: str, number: int | None, log: str) -> ProcessCrashedError:
        return ProcessCrashedError(f"{self.tools.path(tool)} {how}.", signal=number, log=log[-_LOG_TAIL:])

    def _output(self, folder: str, file: str, tool: str, name: str, start: bytes) -> bytes:
        """What a tool wrote, which begins with `start`."""
        path = Path(folder, file)
        data = path.read_bytes() if path.is_file() else b""
        if not data or not data.lstrip().startswith(start):
            raise InternalCompilerError(f"{self.tools.path(tool)} reported success on {name} but wrote no output.")
        return data


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="parcubin-")


def _encoded(texts: Texts) -> list[tuple[str, bytes]]:
    return [(name, text.encode(errors="surrogateescape")) for name, text in texts]


def _write(folder: str, sources: Sequence[tuple[str, bytes]]) -> list[str]:
    files = [f"input-{number}" for number in range(len(sources))]
    for file, (_, data) in zip(files, sources, strict=True):
        Path(folder, file).write_bytes(data)
    return files
