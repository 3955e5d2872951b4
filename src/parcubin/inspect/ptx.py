"""A fast look at PTX: what it defines, what it refers to, and what decides how it may be compiled.

Not a parser: text that is not PTX gives an arbitrary summary and leaves the complaint to the compiler, which says it
better. The syntax is that of NVIDIA's "Parallel Thread Execution ISA", chapters 4, 5 and 11; where that is vague, what
ptxas 13.5 accepts (strings have no escapes, `.target` may be repeated after itself only, names of any kind may be
shadowed inside a function).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Literal, cast

from parcubin.errors import PtxSyntaxError

Linkage = Literal["visible", "weak", "common", "extern", "local"]
Space = Literal["global", "const", "shared"]

SYSTEM_CALLS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""Functions that the driver provides (PTX Interoperability guide, "System Calls"): undefined in every module."""


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
    declared: tuple[str, ...]
    variables: tuple[PtxVariable, ...]
    externs: tuple[str, ...]
    has_const: bool
    indirect_calls: bool
    address_taken: tuple[str, ...]


_COMMENT = r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)"
_COMMENT_OR_STRING = re.compile(rf'{_COMMENT}|"[^"]*"?')
_NAME = r"[A-Za-z_$%][\w$]*"
_VERSION = re.compile(r"\.version\s+(\d{1,3})\.(\d)\b")
_TARGETS = re.compile(r"\.target\s+([\w.]+(?:\s*,\s*[\w.]+)*)")
_LINKAGE = re.compile(r"\.(visible|weak|common|extern)\b")
_ATTRIBUTE = r"\.attribute\s*\((?:[^()]|\([^()]*\))*\)"
_FUNCTION = re.compile(rf"\.(entry|func)\b\s*(?:{_ATTRIBUTE}\s*)?(?:\([^()]*\)\s*)?({_NAME})")
_ALIAS = re.compile(rf"\.alias\s+({_NAME})\s*,\s*{_NAME}")
_SPACE = re.compile(r"\.(global|const|shared)\b")
_MODIFIERS = re.compile(rf"(?:\s*(?:{_ATTRIBUTE}|\.align\s+\w+|\.\w+))*")
_TYPE = re.compile(r"\.(?:[bsuf]|bf)(8|16|32|64|128)(x2)?\b")
_VECTOR = re.compile(r"\.v([248])\b")
_DECLARATOR = re.compile(rf"\s*({_NAME})\s*((?:\[[^\[\]]*\]\s*)*)")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|0[bB][01]{1,64}|\d{1,20})U?")
_LOCAL_CONST = re.compile(r"(?<!\w)\.const\b")
_CALL = re.compile(rf"(?<![\w$%.])call(?:\.uni)?(?:\s*\([^()]*\)\s*,\s*|\s+)({_NAME})")

_GAP = rf"(?>\s|{_COMMENT})*+"
_HEADER = re.compile(rf"{_GAP}\.version{_GAP}\d+\.\d+")
_TARGET_DIRECTIVE = re.compile(rf"{_GAP}\.target\b{_GAP}[\w.]+(?:{_GAP},{_GAP}[\w.]+)*+")
_DEBUG_OPERAND = re.compile(rf"({_GAP},{_GAP}debug\b|\.target\b{_GAP}debug\b(?!{_GAP},))|{_COMMENT}")

# Leaves whole tokens between spaces: names, and directives and opcodes with their dots.
_SPACED = {code: " " for code in range(128) if not re.match(r"[\w$%.]", chr(code))}
_CALL_TOKENS = frozenset({"call", "call.uni"})
_INDIRECT_CALL_TOKENS = frozenset({".callprototype", ".calltargets"})


def scan_ptx(text: str, name: str = "input") -> PtxSummary:
    """Summarises a PTX module; 6 MB take about 0.12 s.

    Args:
        text: PTX.
        name: what messages call it.

    Raises:
        PtxSyntaxError: there is no `.version` directive, so this is no PTX.
    """
    clean = _COMMENT_OR_STRING.sub(" ", text)
    version = _VERSION.search(clean)
    if version is None:
        raise PtxSyntaxError(f"{name} is not PTX: it has no .version directive.", line=1)

    targets: list[str] = []
    kernels: dict[str, Linkage] = {}
    functions: dict[str, Linkage] = {}
    declared: dict[str, Linkage] = {}
    variables: dict[str, PtxVariable] = {}
    code: list[str] = []  # what can refer to symbols: bodies and initial values
    for statement, body in _statements(clean):
        for match in _TARGETS.finditer(statement):
            targets += re.split(r"\s*,\s*", match[1])
        if function := _FUNCTION.search(statement):
            defined = kernels if function[1] == "entry" else functions
            (declared if body is None else defined)[function[2]] = _linkage(statement[: function.start()])
        elif alias := _ALIAS.search(statement):
            functions[alias[1]] = declared.get(alias[1], "local")
        elif space := _SPACE.search(statement):
            for variable in _variables(statement, space):
                if variable.linkage != "extern" or variable.name not in variables:
                    variables[variable.name] = variable
            code.append(statement.partition("=")[2])
        if body is not None:
            code.append(body)

    undefined = declared.keys() - kernels.keys() - functions.keys()
    callable_names = kernels.keys() | functions.keys() | undefined
    use = _use_of_names(code, callable_names, variables.keys())
    undefined_variables = {v.name for v in variables.values() if v.linkage == "extern" and not _is_dynamic_shared(v)}
    return PtxSummary(
        version=10 * int(version[1]) + int(version[2]),
        targets=tuple(targets),
        kernels=tuple(PtxFunction(*item) for item in kernels.items()),
        functions=tuple(PtxFunction(*item) for item in functions.items()),
        declared=tuple(sorted(undefined)),
        variables=tuple(variables.values()),
        externs=tuple(sorted((undefined | undefined_variables) & use.referenced)),
        has_const=use.local_const or any(v.space == "const" for v in variables.values()),
        indirect_calls=use.indirect_calls,
        address_taken=tuple(sorted(use.address_taken)),
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


@dataclass(frozen=True)
class _Use:
    """How the code of a module uses the module's names."""

    referenced: set[str]
    address_taken: set[str]
    indirect_calls: bool
    local_const: bool


def _use_of_names(code: list[str], callables: set[str], variables: Set[str]) -> _Use:
    interesting = callables | variables | _CALL_TOKENS | _INDIRECT_CALL_TOKENS
    found: set[str] = set()
    occurrences: Counter[str] = Counter()
    indirect_calls = local_const = False
    for piece in code:
        tokens = piece.translate(_SPACED).split()
        found_here = interesting.intersection(tokens)
        found |= found_here
        if not callables.isdisjoint(found_here):
            occurrences.update(token for token in tokens if token in callables)
        if not _CALL_TOKENS.isdisjoint(found_here):
            called = Counter(_CALL.findall(piece))
            occurrences.subtract(called)
            indirect_calls |= not called.keys() <= callables
        if ".const" in piece:
            local_const |= _LOCAL_CONST.search(piece) is not None
    return _Use(
        referenced=found & (callables | variables),
        address_taken={name for name in callables if occurrences[name] > 0},
        indirect_calls=indirect_calls or not _INDIRECT_CALL_TOKENS.isdisjoint(found),
        local_const=local_const,
    )


def _statements(text: str) -> Iterator[tuple[str, str | None]]:
    """Module-scope statements, and the body of those that have one. Initial values stay in their statement."""
    pending = ""
    position = 0
    for start, end in _blocks(text):
        *complete, head = text[position:start].split(";")
        for statement in complete:
            yield pending + statement, None
            pending = ""
        pending += head
        if "=" in pending:
            pending += text[start:end]
        elif ".section" in pending:  # debug information
            pending = ""
        else:
            yield pending, text[start:end]
            pending = ""
        position = end
    for statement in text[position:].split(";"):
        yield pending + statement, None
        pending = ""


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of the outermost brace blocks, braces included; an open one reaches to the end."""
    start = text.find("{")
    while start >= 0:
        depth, end = 1, len(text)
        opening, closing = text.find("{", start + 1), text.find("}", start + 1)
        while closing >= 0:
            if 0 <= opening < closing:
                depth += 1
                opening = text.find("{", opening + 1)
                continue
            depth -= 1
            if depth == 0:
                end = closing + 1
                break
            closing = text.find("}", closing + 1)
        yield start, end
        start = text.find("{", end)


def _linkage(prefix: str) -> Linkage:
    match = _LINKAGE.search(prefix)
    return cast(Linkage, match[1]) if match else "local"


def _is_dynamic_shared(variable: PtxVariable) -> bool:
    return variable.space == "shared" and variable.linkage == "extern" and variable.size is None


def _variables(statement: str, space: re.Match[str]) -> Iterator[PtxVariable]:
    """The variables of one declaration: `.visible .global .align 4 .u32 a, b[2] = {1, 2}`."""
    linkage = _linkage(statement[: space.start()])
    modifiers = _MODIFIERS.match(statement, space.end())
    assert modifiers is not None  # it matches nothing, too
    unit = _size_of_type(modifiers[0])
    position = modifiers.end()
    while declarator := _DECLARATOR.match(statement, position):
        position = declarator.end()
        elements: int | None = None
        if statement[position : position + 1] == "=":
            position, elements = _skip_initial_value(statement, position + 1)
        size = unit
        for dimension in re.findall(r"\[([^\[\]]*)\]", declarator[2]):
            count = _number(dimension.strip()) if dimension.strip() else elements
            size = None if size is None or count is None else size * count
        yield PtxVariable(declarator[1], cast(Space, space[1]), linkage, size)
        if statement[position : position + 1] != ",":
            return
        position += 1


def _size_of_type(modifiers: str) -> int | None:
    scalar = _TYPE.search(modifiers)
    if scalar is None:
        return None
    vector = _VECTOR.search(modifiers)
    return int(scalar[1]) // 8 * (2 if scalar[2] else 1) * (int(vector[1]) if vector else 1)


def _skip_initial_value(statement: str, position: int) -> tuple[int, int]:
    """The end of an initial value, and how many elements it has at its outermost level."""
    depth = commas = 0
    for match in re.compile(r"[{}(),]").finditer(statement, position):
        if match[0] in "{(":
            depth += 1
        elif match[0] in "})":
            depth -= 1
        elif depth == 0:
            return match.start(), commas + 1
        elif depth == 1:
            commas += 1
    return len(statement), commas + 1


def _number(text: str) -> int | None:
    """An integer literal in C's notation; None for what is not one (expressions)."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    digits = match[1]
    octal = digits.isdigit() and digits.startswith("0") and digits != "0"
    try:
        return int(digits, 8 if octal else 0)
    except ValueError:
        return None
