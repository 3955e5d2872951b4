"""Generated programs, compiled as a whole by tools that know nothing of parcubin, and split."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise

from elftools.elf.elffile import ELFFile

import parcubin
import parcubin.split.grouping as grouping
from parcubin.inspect.cubin import CubinInfo, read_cubin
from parcubin.model import Ptx, RelocatableKind
from parcubin.split.llvm_text import local_ptx_name
from tests.generated import llvm, ptx
from tests.generated.description import CallEither, Program, Role, Variable
from tests.generated.names import spelled
from tests.whole_program import whole_program_ptx

WHOLE = "whole"
"""What messages call the program that was not split."""


def texts_of(program: Program) -> list[str]:
    """The program's modules, in its format."""
    render = llvm.render if program.format == "ll" else ptx.render
    return [render(program, module) for module in range(program.modules)]


def compile_whole(program: Program, compiler: parcubin.Compiler) -> bytes:
    """One CUBIN of all that is in the program, without parcubin's plans, shards and lowering."""
    texts = texts_of(program)
    if program.format == "ll":
        texts = [whole_program_ptx(texts, str(compiler.target))]
    selection = compiler.select_provider("cubin")
    assert selection
    target, options = compiler.target, parcubin.CompilationOptions()
    if len(texts) == 1:
        return selection.provider.compile(target, Ptx(texts[0]), options).cubin
    modules = [
        selection.provider.compile_to_relocatable_module(target, Ptx(text), options, RelocatableKind.PLAIN)
        for text in texts
    ]
    return selection.provider.compile_and_link(target, modules, options).cubin


def shard_cost(seed: int) -> int:
    """How large the shards of a program are: most have one kernel each, wherever kernels need not stay together."""
    return 6000 if seed % 4 == 3 else 1


@dataclass(frozen=True)
class Split:
    """A program compiled in shards: a bundle of them, and a link."""

    bundle: parcubin.Program
    linked: parcubin.Program

    @property
    def images(self) -> dict[str, list[bytes]]:
        """The CUBINs to load, by the way in which they were made."""
        return {"bundle": [a.cubin for a in self.bundle.assemblies], "linked": [self.linked.cubin]}


def compile_split(program: Program, compiler: parcubin.Compiler) -> Split:
    """Compiles with small shards. Not for several threads: the size of shards belongs to the process."""
    usual = grouping.MEAN_SHARD_COST, grouping.ALONE_COST
    grouping.MEAN_SHARD_COST = grouping.ALONE_COST = shard_cost(program.seed)
    options = parcubin.CompilationOptions(line_info="line_info" in program.traits)
    try:
        texts = texts_of(program)
        return Split(
            compiler.compile(texts, options=options, output="bundle"),
            compiler.compile(texts, options=options, output="cubin"),
        )
    finally:
        grouping.MEAN_SHARD_COST, grouping.ALONE_COST = usual


def static_differences(program: Program, whole: bytes, split: Split) -> list[str]:
    """How what is in the CUBINs differs from what must be there: kernels, each once; the variables that the host may
    name, each once, with the sizes that the program gives them; and of what kernels store to one at most."""
    found: list[str] = []
    names = sorted(kernel.name for kernel in program.kernels)
    for way, cubins in {WHOLE: [whole], **split.images}.items():
        infos = [read_cubin(cubin, way) for cubin in cubins]
        found += [f"{way}: sections {pair} overlap" for cubin in cubins for pair in _overlaps(cubin)]
        kernels = sorted(name for info in infos for name in info.kernels)
        if kernels != names:
            found.append(f"{way}: the kernels are {kernels}, not {names}")
        for name, variable in program.host_variables.items():
            sizes = [info.variables[name].size for info in infos if name in info.variables]
            if sizes != [variable.size]:
                found.append(f"{way}: the sizes of {name} are {sizes}, not {[variable.size]}")
        for variable in program.variables:
            count = _definitions(program, variable, infos) if variable.role in (Role.SLOTS, Role.COUNTER) else 0
            if count > 1:
                found.append(f"{way}: there are {count} of {variable.name}, which kernels store to")
    whole_kernels = read_cubin(whole).kernels
    found += [
        f"bundle: {name} has {split.bundle.kernels[name].registers} registers, not {whole_kernels[name].registers}"
        for name in _same_code(program) & whole_kernels.keys() & split.bundle.kernels.keys()
        if split.bundle.kernels[name].registers != whole_kernels[name].registers
    ]
    return found


def _overlaps(cubin: bytes) -> list[str]:
    """Pairs of sections of which one begins where the other has not ended."""
    sections = [s for s in ELFFile(BytesIO(cubin)).iter_sections() if s["sh_type"] != "SHT_NOBITS" and s["sh_size"]]
    sections.sort(key=lambda s: s["sh_offset"])
    return [f"{a.name}, {b.name}" for a, b in pairwise(sections) if a["sh_offset"] + a["sh_size"] > b["sh_offset"]]


def _definitions(program: Program, variable: Variable, infos: Sequence[CubinInfo]) -> int:
    """How often a variable is defined, under its own name or one that parcubin gave it."""
    if variable.name in {name for twins in program.twins for name in twins}:
        return 0  # others are called like it
    name = spelled(variable.name) if program.format == "ll" else variable.name
    own = local_ptx_name(name) if program.format == "ll" else name
    given = re.sub(r"[^a-zA-Z0-9_]", "_", name) + "$parcubin_"
    return sum(s.name == own or s.name.startswith(f"_{given}") for info in infos for s in info.defined)


def _same_code(program: Program) -> set[str]:
    """The kernels that must have the registers in a bundle that they have in the whole program. None when a function's
    address is taken, or PTX has an alias of it: it is neither inlined nor specialised then, and a kernel whose shard
    does not hold the reason gets better code. In LLVM IR those that share no function: LLVM specialises a function for
    all its calls. And of PTX in two modules the whole program is a link."""
    steps = [step for steps in program.all_steps for step in steps]
    if (
        (program.format == "ptx" and (program.modules > 1 or program.aliases))
        or any(isinstance(step, CallEither) for step in steps)
        or any(variable.role is Role.FUNCTIONS for variable in program.variables)
    ):
        return set()
    functions = {k.name: program.reached(k.steps) & program.function.keys() for k in program.kernels}
    users = Counter(name for names in functions.values() for name in names)
    return {name for name, used in functions.items() if program.format == "ptx" or all(users[f] == 1 for f in used)}
