"""A whole program by its inputs, for a `Compiler`: the same inputs with the same options need not be taken apart again.

A program that is not found here is still made of shards that are.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from parcubin.cache.cache import Cache
from parcubin.cache.entry import Entry
from parcubin.cache.request import Request
from parcubin.errors import ParcubinError, ToolchainError
from parcubin.model import CompilationOptions, Emit
from parcubin.sources import LoadedInput, load_input

if TYPE_CHECKING:
    from parcubin.cache.programs import KeptProgram
    from parcubin.compiler import Compiler, Inputs
    from parcubin.pipeline import Build
    from parcubin.program import Program
    from parcubin.providers.selection import Selection


class ProgramLookup:
    """One compile as the cache sees it.

    Attributes:
        inputs: the inputs, brought into memory, so that what is compiled is what was looked up; those that cannot be
            read, as they were given.
        is_known: whether these inputs were compiled with these options before.
    """

    def __init__(
        self,
        compiler: Compiler,
        cache: Cache,
        inputs: Inputs,
        options: CompilationOptions,
        output: Emit,
        *,
        split: bool,
        in_parts_only: bool,
    ) -> None:
        self._start = time.monotonic()
        self._compiler = compiler
        self._cache = cache
        self._options = options
        self._output: Emit = output
        self._split = split
        given = inputs if isinstance(inputs, list | tuple) else (inputs,)
        self.inputs = tuple(_loaded(source, number) for number, source in enumerate(given, 1))
        contents = tuple(source.data for source in self.inputs if isinstance(source, LoadedInput))
        self._request = None
        if len(contents) == len(self.inputs):
            self._request = Request(contents, compiler.target, options, output, split, in_parts_only)
        self.is_known = self._request is not None and cache.get(self._request.key, lambda _: True) is not None

    def program(self) -> Program | None:
        """The program, if it is in the cache."""
        from parcubin.cache.programs import KeptProgram

        try:
            selection = self._compiler.select_provider(self._output)
        except ToolchainError:  # one shard may need no linker
            return None
        assert self._request is not None
        key = self._request.program_key(self._compiler._toolchain(selection), self._compiler._libdevice)
        kept = self._cache.get(key, KeptProgram.read)
        return self._restored(kept, selection) if kept is not None else None

    def keep(self, program: Program, build: Build) -> None:
        """Keeps a program that is the same whenever it is compiled, and that its inputs were compiled."""
        from parcubin.cache.programs import KeptProgram

        if self._request is None or program.report.failures:
            return
        if build.is_reproducible:
            try:
                selection = self._compiler.select_provider(self._output)
            except ToolchainError:
                return
            key = self._request.program_key(self._compiler._toolchain(selection), self._compiler._libdevice)
            kept = KeptProgram.of(program, llvm=build.llvm_version, warnings=build.output_warnings)
            self._cache.put(key, kept.entry())
        self._cache.put(self._request.key, Entry({}))

    def _restored(self, kept: KeptProgram, selection: Selection | None) -> Program:
        from parcubin.program import Program, Report

        compiler = self._compiler
        report = Report(
            kernels=kept.count,
            shards=kept.shards,
            cached=kept.shards,
            jobs=compiler._pool.size,
            provider=selection.provider.name if selection else "none",
            toolchain=", ".join([kept.llvm, *([selection.provider.identity] if selection else [])]),
            wall_s=time.monotonic() - self._start,
            peak_memory=0,
            stages=dict.fromkeys(("parse", "optimize", "emit", "assemble", "link"), 0.0),
            slowest=(),
            helper_calls=kept.helper_calls,
            warnings=(
                *compiler._warnings,
                *self._cache.warnings,
                *(selection.warnings if selection else ()),
                *kept.warnings,
            ),
            failures=(),
            logs=kept.logs,
        )
        image = kept.image
        if image is None and self._output not in ("ptx", "bundle"):
            image = kept.assemblies[0].cubin
        return Program(
            target=compiler.target,
            output=self._output,
            kernels={kernel.name: kernel for kernel in kept.kernels},
            variables={variable.name: variable for variable in kept.variables},
            assemblies=kept.assemblies,
            ptx=kept.ptx,
            report=report,
            _image=image,
            _link=self._link_later,
        )

    def _link_later(self) -> Program:
        build = self._compiler._build(self.inputs, self._options, split=self._split)
        return build.link_later()


def _loaded(source: object, number: int) -> object:
    if isinstance(source, LoadedInput):
        return source
    try:
        return load_input(source, number)
    except ParcubinError:  # the build says it
        return source
