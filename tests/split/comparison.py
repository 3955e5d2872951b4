"""Split programs compared with the whole-program result of LLVM and ptxas, which know nothing of parcubin."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import parcubin
from parcubin.model import Emit
from tests.inspect.cuda_tools import Tools, Usage
from tests.whole_program import whole_program_ptx

_OUTPUTS: tuple[Emit, ...] = ("bundle", "cubin")
_VARIABLE = re.compile(r"^\s*0x\w+\s+\w+\s+(\w+)\s+OBJECT\s+\w+\s+\w+\s+.*\s0x[0-9a-f]+\s+(\S+)$", re.M)
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+([^;]*;)", re.M)
# Where in its bank a constant, or the address of a variable, stands: that depends on what else is in the CUBIN.
_ADDRESS = re.compile(r"c\[0x[34]\]\[[^\]]*\]")


@dataclass(frozen=True)
class Contents:
    """What is in the CUBINs that make a program.

    Attributes:
        usage: resources by kernel, as cuobjdump says it.
        code: machine code by kernel.
        cubins: the CUBIN of each kernel.
        variables: size of each variable, by name.
        copies: in how many CUBINs each variable is defined.
    """

    usage: dict[str, Usage]
    code: dict[str, bytes]
    cubins: dict[str, bytes]
    variables: dict[str, int]
    copies: Counter[str]


def contents(tools: Tools, *cubins: bytes) -> Contents:
    """Reads the CUBINs of one program."""
    found = Contents({}, {}, {}, {}, Counter())
    for cubin in cubins:
        usage = tools.resource_usage(cubin)
        assert found.usage.keys().isdisjoint(usage), "a kernel is in two CUBINs"
        found.usage.update(usage)
        elf = ELFFile(io.BytesIO(cubin))
        for kernel in usage:
            section = elf.get_section_by_name(f".text.{kernel}")
            assert section is not None
            found.code[kernel] = section.data()
            found.cubins[kernel] = cubin
        (tools.folder / "contents.cubin").write_bytes(cubin)
        for size, name in _VARIABLE.findall(tools.run("cuobjdump", "-elf", "contents.cubin")):
            found.variables[name] = int(size, 16)
            found.copies[name] += 1
    return found


def differences(tools: Tools, left: Contents, right: Contents) -> list[str]:
    """The kernels whose instructions differ in more than the place of constants and of variables' addresses."""

    def instructions(program: Contents, kernel: str) -> list[str]:
        (tools.folder / "code.cubin").write_bytes(program.cubins[kernel])
        listing = tools.run("cuobjdump", "-sass", "-fun", kernel, "code.cubin")
        return [_ADDRESS.sub("ADDRESS", i) for i in _INSTRUCTION.findall(listing)]

    return [
        kernel
        for kernel in left.code
        if left.code[kernel] != right.code[kernel] and instructions(left, kernel) != instructions(right, kernel)
    ]


@dataclass(frozen=True)
class Comparison:
    """A program compiled as a whole, as a bundle of one shard a kernel where that is right, and as a link of those."""

    whole: Contents
    bundle: Contents
    linked: Contents
    programs: tuple[parcubin.Program, parcubin.Program]


@dataclass(frozen=True)
class Comparer:
    """Compiles in all three ways."""

    compiler: parcubin.Compiler
    tools: Tools
    monkeypatch: pytest.MonkeyPatch

    def __call__(
        self, *modules: str, same_code: bool = True, options: parcubin.CompilationOptions | None = None
    ) -> Comparison:
        """Compares what must be the same in any case.

        Args:
            modules: textual LLVM IR.
            same_code: the kernels of the bundle have the very code of the whole program.
            options: for the split compiles; of them, LLVM's optimisation level for the whole program, too.
        """
        arch = str(self.compiler.target)
        pass_level = options.llvm_opt_level if options else None
        whole = contents(self.tools, self.tools.assemble(whole_program_ptx(modules, arch, pass_level=pass_level), arch))
        programs = [self.compile(*modules, output=output, options=options) for output in _OUTPUTS]
        comparison = Comparison(
            whole,
            self.read(programs[0]),
            self.read(programs[1]),
            (programs[0], programs[1]),
        )
        for split in (comparison.bundle, comparison.linked):
            assert split.usage.keys() == whole.usage.keys()
        assert comparison.bundle.usage == whole.usage
        if same_code:
            assert differences(self.tools, whole, comparison.bundle) == []
        return comparison

    def read(self, program: parcubin.Program) -> Contents:
        """What the program's CUBINs hold."""
        return contents(self.tools, *self.cubins_of(program))

    def cubins_of(self, program: parcubin.Program) -> list[bytes]:
        """The program's CUBINs."""
        return [a.cubin for a in program.assemblies] or [program.cubin]

    def compile(
        self,
        *modules: str,
        output: Emit = "bundle",
        options: parcubin.CompilationOptions | None = None,
        keep: Path | None = None,
    ) -> parcubin.Program:
        """Compiles with one kernel a shard."""
        with self.monkeypatch.context() as patch:
            patch.setattr("parcubin.split.grouping.ALONE_COST", -1)
            return self.compiler.compile(list(modules), output=output, options=options, keep=keep)
