"""A fast look at PTX: what it defines, what it refers to, and what decides how it may be compiled.

Not a parser: text that is not PTX gives an arbitrary summary and leaves the complaint to the compiler, which says it
better. The syntax is that of NVIDIA's "Parallel Thread Execution ISA", chapters 4, 5 and 11; where that is vague, what
ptxas 13.5 accepts (strings have no escapes, `.target` may be repeated after itself only, names of any kind may be
shadowed inside a function).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from parcubin.errors import PtxSyntaxError
from parcubin.ptx_syntax import (
    COMMENT,
    GAP,
    Linkage,
    Space,
    UseReader,
    alias,
    function_head,
    statements,
    variable_declaration,
    without_comments,
)

SYSTEM_CALLS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""Functions that the driver provides (PTX Interoperability guide, "System Calls"): undefined in every module."""

_DEVICE_RUNTIME = re.compile(r"__cudaCDP2\w+|cuda[A-Z]\w+")


def is_of_device_runtime(name: str) -> bool:
    """Whether a symbol belongs to the CUDA device runtime, libcudadevrt, which lets kernels launch kernels
    (cuda_device_runtime_api.h)."""
    return _DEVICE_RUNTIME.fullmatch(name) is not None


@dataclass(frozen=True)
class PtxFunction:
    """A kernel or function with a body, or an alias of one."""

    name: str
    linkage: Linkage


@dataclass(frozen=True)
class PtxVariable:
    """A module-scope variable.

    Attributes:
        name: its identifier.
        space: its state space.
        linkage: "extern" is a declaration only.
        size: bytes; None where it is not said (`extern v[]`) or the type is opaque (`.texref`).
    """

    name: str
    space: Space
    linkage: Linkage
    size: int | None


@dataclass(frozen=True)
class PtxSummary:
    """What a PTX module says about itself.

    Attributes:
        version: PTX ISA version: 90 for 9.0.
        targets: the operands of `.target`: an architecture, then options such as "debug".
        kernels: `.entry` with a body.
        functions: `.func` with a body, and aliases.
        aliases: the names of the aliases.
        declared: functions and kernels that are declared and not defined.
        variables: variables at module scope; a definition hides declarations of the same name.
        externs: what is referred to and defined elsewhere: functions (system calls too) and variables. Dynamic
            shared memory is not among them.
        has_const: `.const` variables are defined or declared, at module scope or in a function.
        indirect_calls: some call goes through a register.
        address_taken: functions and kernels whose address is used: in code, in initial values, in `.calltargets`.
    """

    version: int
    targets: tuple[str, ...]
    kernels: tuple[PtxFunction, ...]
    functions: tuple[PtxFunction, ...]
    aliases: tuple[str, ...]
    declared: tuple[str, ...]
    variables: tuple[PtxVariable, ...]
    externs: tuple[str, ...]
    has_const: bool
    indirect_calls: bool
    address_taken: tuple[str, ...]


_VERSION = re.compile(r"\.version\s+(\d{1,3})\.(\d)\b")
_TARGETS = re.compile(r"\.target\s+([\w.]+(?:\s*,\s*[\w.]+)*)")

_HEADER = re.compile(rf"{GAP}\.version{GAP}\d+\.\d+")
_TARGET_DIRECTIVE = re.compile(rf"{GAP}\.target\b{GAP}[\w.]+(?:{GAP},{GAP}[\w.]+)*+")
_DEBUG_OPERAND = re.compile(rf"({GAP},{GAP}debug\b|\.target\b{GAP}debug\b(?!{GAP},))|{COMMENT}")


def scan_ptx(text: str, name: str = "input") -> PtxSummary:
    """Summarises a PTX module; 6 MB take about 0.16 s.

    Args:
        text: PTX.
        name: what messages call it.

    Raises:
        PtxSyntaxError: there is no `.version` directive, so this is no PTX.
    """
    data = text.encode("utf-8", "surrogateescape")
    version: re.Match[str] | None = None
    targets: list[str] = []
    kernels: dict[str, Linkage] = {}
    functions: dict[str, Linkage] = {}
    aliases: list[str] = []
    declared: dict[str, Linkage] = {}
    variables: dict[str, PtxVariable] = {}
    code: list[str] = []  # what can refer to symbols: bodies and initial values
    for statement in statements(data):
        raw = data[statement.start : statement.body or statement.end]
        if len(raw) < 2:  # a semicolon or a block alone is no PTX
            continue
        head = without_comments(raw)
        version = version or _VERSION.search(head)
        for match in _TARGETS.finditer(head):
            targets += re.split(r"\s*,\s*", match[1])
        if function := function_head(head):
            defined = kernels if function.is_kernel else functions
            (declared if statement.body is None else defined)[function.name] = function.linkage
        elif names := alias(head):
            functions[names[0]] = declared.get(names[0], "local")
            aliases.append(names[0])
        elif declaration := variable_declaration(head):
            for v in declaration.declarators:
                if declaration.linkage != "extern" or v.name not in variables:
                    variables[v.name] = PtxVariable(v.name, declaration.space, declaration.linkage, v.size)
                if v.initial is not None:
                    code.append(head[v.initial : v.end])
        if statement.body is not None and not head.startswith(".section"):
            code.append(without_comments(data[statement.body : statement.end]))
    if version is None:
        raise PtxSyntaxError(f"{name} is not PTX: it has no .version directive.", line=1)

    undefined = declared.keys() - kernels.keys() - functions.keys()
    reader = UseReader(kernels.keys() | functions.keys() | undefined, variables.keys())
    uses = [reader(piece) for piece in code]
    referenced = frozenset[str]().union(*(u.names for u in uses))
    undefined_variables = {v.name for v in variables.values() if v.linkage == "extern" and not _is_dynamic_shared(v)}
    return PtxSummary(
        version=10 * int(version[1]) + int(version[2]),
        targets=tuple(targets),
        kernels=tuple(PtxFunction(*item) for item in kernels.items()),
        functions=tuple(PtxFunction(*item) for item in functions.items()),
        aliases=tuple(aliases),
        declared=tuple(sorted(undefined)),
        variables=tuple(variables.values()),
        externs=tuple(sorted((undefined | undefined_variables) & referenced)),
        has_const=any(u.has_constants for u in uses) or any(v.space == "const" for v in variables.values()),
        indirect_calls=any(u.calls_indirectly for u in uses),
        address_taken=tuple(sorted(frozenset[str]().union(*(u.addresses for u in uses)))),
    )


def drop_debug_target(text: str) -> str:
    """Removes `debug` from the `.target` directive and nothing else.

    LLVM writes it when a module carries line info, and ptxas refuses to optimise code for it.
    """
    header = _HEADER.match(text)
    if header is None:
        return text
    end = header.end()
    pieces = [text[:end]]
    while directive := _TARGET_DIRECTIVE.match(text, end):
        pieces.append(_DEBUG_OPERAND.sub(_keep_lines_and_comments, directive[0]))
        end = directive.end()
    return "".join(pieces) + text[end:]


def _keep_lines_and_comments(match: re.Match[str]) -> str:
    is_comment = match[1] is None
    return match[0] if is_comment else "\n" * match[0].count("\n")


def _is_dynamic_shared(variable: PtxVariable) -> bool:
    return variable.space == "shared" and variable.linkage == "extern" and variable.size is None
