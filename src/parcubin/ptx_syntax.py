"""The syntax of PTX at module scope: statements, headers, declarations, and how code uses names.

No parser: what is not PTX gives arbitrary results and leaves the complaint to the compiler, which says it better. The
syntax is that of NVIDIA's "Parallel Thread Execution ISA", chapters 4, 5 and 11; where that is vague, what ptxas 13.5
accepts (strings have no escapes, names of any kind may be shadowed inside a function).

PTX is ASCII outside of comments and strings, so a module is read as bytes and nothing is copied until a statement is
looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal, cast

Linkage = Literal["visible", "weak", "common", "extern", "local"]
Space = Literal["global", "const", "shared"]

_NAME = r"[A-Za-z_$%][\w$]*"

COMMENT = r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)"
_STRING = r'"[^"]*"?'
GAP = rf"(?>\s|{COMMENT})*+"
_COMMENT_OR_STRING = re.compile(rf"{COMMENT}|{_STRING}".encode())
_GAP = re.compile(GAP.encode())
_DIRECTIVE = re.compile(
    rf"\.version{GAP}\d+\.\d+|\.target\b{GAP}[\w.]+(?:{GAP},{GAP}[\w.]+)*+|\.address_size{GAP}\d+"
    rf"|\.file{GAP}\d{{1,9}}{GAP}{_STRING}(?:{GAP},{GAP}\d+{GAP},{GAP}\d+)?".encode()
)
_END_OR_BLOCK = re.compile(rf"{COMMENT}|{_STRING}|;|\{{".encode())
_BRACE = re.compile(rf"{COMMENT}|{_STRING}|\{{|\}}".encode())
_ENDS_WITH_PRAGMA = re.compile(r"\.pragma\s*\Z")

_LINKAGE = re.compile(r"\.(visible|weak|common|extern)\b")
_ATTRIBUTE = r"\.attribute\s*\((?:[^()]|\([^()]*\))*\)"
_FUNCTION = re.compile(rf"\.(entry|func)\b\s*(?:{_ATTRIBUTE}\s*)?(?:\([^()]*\)\s*)?({_NAME})")
_ALIAS = re.compile(rf"\.alias\s+({_NAME})\s*,\s*({_NAME})\s*;?")
_SPACE = re.compile(r"\.(global|const|shared)\b")
_MODIFIERS = re.compile(rf"(?:\s*(?:{_ATTRIBUTE}|\.align\s+\w+|\.\w+))*")
_TYPE = re.compile(r"\.(?:[bsuf]|bf)(8|16|32|64|128)(x2)?\b")
_OPAQUE_TYPE = re.compile(r"\.(?:tex|sampler|surf)ref\b")
_VECTOR = re.compile(r"\.v([248])\b")
_DECLARATOR = re.compile(rf"\s*({_NAME})\s*((?:\[[^\[\]]*\]\s*)*)")
_DIMENSION = re.compile(r"\[([^\[\]]*)\]")
_BRACKET_OR_COMMA = re.compile(r"[{}(),]")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|0[bB][01]{1,64}|\d{1,20})U?")
# What ends in a look-behind starts with a literal, which is found fast.
_LOCAL_CONST = re.compile(r"\.const\b(?<!\w\.const)")
_LOCAL_GLOBAL = re.compile(r"\.global\b(?<!\w\.global)")
_CALL = re.compile(rf"(?<![\w$%.])call(?:\.uni)?(?:\s*\([^()]*\)\s*,\s*|\s+)({_NAME})")

# Leaves whole tokens between spaces: names, and directives and opcodes with their dots.
_SPACED = {code: " " for code in range(128) if not re.match(r"[\w$%.]", chr(code))}
_CALL_TOKENS = frozenset({"call", "call.uni"})
_INDIRECT_CALL_TOKENS = frozenset({".callprototype", ".calltargets"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement at module scope: a directive, a declaration, a function.

    Attributes:
        start: where it starts.
        end: where it ends, with its semicolon or closing brace; the end of the text when those are missing.
        body: where the braces of a function's body or of a debug section open; None when it has none. Initial values
            are no body.
        is_complete: whether it ends before the text does.
    """

    start: int
    end: int
    body: int | None
    is_complete: bool = True


def statements(text: bytes) -> Iterator[Statement]:
    """The statements of a module, in order; comments between them are skipped."""
    position = 0
    while (position := _after_gap(text, position)) < len(text):
        directive = _DIRECTIVE.match(text, position)
        statement = Statement(position, directive.end(), None) if directive else _statement(text, position)
        yield statement
        position = statement.end


def without_comments(text: bytes) -> str:
    """The text with spaces in place of comments and strings, every position unchanged."""
    return _COMMENT_OR_STRING.sub(lambda m: b" " * len(m[0]), text).decode("ascii", "replace")


def _after_gap(text: bytes, position: int) -> int:
    gap = _GAP.match(text, position)
    assert gap is not None  # it matches nothing, too
    return gap.end()


def _statement(text: bytes, start: int) -> Statement:
    position = head_start = start
    is_function = has_initial_value = False
    while token := _END_OR_BLOCK.search(text, position):
        position = token.end()
        if token[0] == b";":
            # A function's header may hold a pragma, which ends with a semicolon of its own.
            written = text[head_start : token.start()]
            head = without_comments(written) if b".pragma" in written else ""
            is_function = is_function or _FUNCTION.search(head) is not None
            if not is_function or not _ENDS_WITH_PRAGMA.search(head):
                return Statement(start, position, None)
            head_start = position
        elif token[0] == b"{":
            body = token.start()
            end = _end_of_block(text, body)
            if end is None:
                return Statement(start, len(text), body, is_complete=False)
            position = end
            has_initial_value = has_initial_value or (
                b"=" in text[head_start:body] and "=" in without_comments(text[head_start:body])
            )
            if not has_initial_value:
                return Statement(start, position, body)
    return Statement(start, len(text), None, is_complete=False)


def _end_of_block(text: bytes, start: int) -> int | None:
    depth = 0
    for token in _BRACE.finditer(text, start):
        if token[0] == b"{":
            depth += 1
        elif token[0] == b"}":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


@dataclass(frozen=True, slots=True)
class FunctionHead:
    """The header of a kernel or function.

    Attributes:
        name: its identifier.
        is_kernel: `.entry`.
        linkage: "local" where none is written.
        keyword: where `.entry` or `.func` stands.
    """

    name: str
    is_kernel: bool
    linkage: Linkage
    keyword: int


def function_head(head: str) -> FunctionHead | None:
    """Reads a statement without comments as the header of a function."""
    match = _FUNCTION.search(head)
    if match is None:
        return None
    return FunctionHead(match[2], match[1] == "entry", _linkage(head[: match.start()]), match.start())


def alias(head: str) -> tuple[str, str] | None:
    """Reads a statement without comments as `.alias NAME, ALIASEE;`."""
    match = _ALIAS.fullmatch(head.strip())
    return (match[1], match[2]) if match else None


@dataclass(frozen=True, slots=True)
class Declarator:
    """One variable of a declaration.

    Attributes:
        name: its identifier.
        dimensions: what stands between each pair of brackets; the number of initial values where nothing does.
        size: bytes; None where it is not said (`extern v[]`) or the type is opaque (`.texref`).
        start: where the declarator starts in the statement.
        initial: where its initial value starts; None when it has none.
        end: where it ends.
    """

    name: str
    dimensions: tuple[str, ...]
    size: int | None
    start: int
    initial: int | None
    end: int


@dataclass(frozen=True, slots=True)
class VariableDeclaration:
    """A declaration of variables: `.visible .global .align 4 .u32 a, b[2] = {1, 2}`.

    Attributes:
        space: the state space.
        linkage: "extern" is a declaration only.
        opaque: a texture, sampler or surface reference.
        keyword: where the state space is written.
        declarators: the variables.
        complete: the whole statement was understood.
    """

    space: Space
    linkage: Linkage
    opaque: bool
    keyword: int
    declarators: tuple[Declarator, ...]
    complete: bool


def variable_declaration(head: str) -> VariableDeclaration | None:
    """Reads a statement without comments as a declaration of variables."""
    space = _SPACE.search(head)
    if space is None:
        return None
    modifiers = _MODIFIERS.match(head, space.end())
    assert modifiers is not None  # it matches nothing, too
    unit = _size_of_type(modifiers[0])
    position = modifiers.end()
    found: list[Declarator] = []
    more = True
    while more and (match := _DECLARATOR.match(head, position)):
        position = match.end()
        initial = elements = None
        if head[position : position + 1] == "=":
            initial = position + 1
            position, elements = _skip_initial_value(head, initial)
        dimensions = tuple(d.strip() or str(elements or "") for d in _DIMENSION.findall(match[2]))
        size = unit
        for count in map(_number, dimensions):
            size = None if size is None or count is None else size * count
        found.append(Declarator(match[1], dimensions, size, match.start(1), initial, position))
        more = head[position : position + 1] == ","
        position += more
    return VariableDeclaration(
        space=cast(Space, space[1]),
        linkage=_linkage(head[: space.start()]),
        opaque=_OPAQUE_TYPE.search(modifiers[0]) is not None,
        keyword=space.start(),
        declarators=tuple(found),
        complete=bool(found) and head[position:].strip() == ";",
    )


def _linkage(prefix: str) -> Linkage:
    match = _LINKAGE.search(prefix)
    return cast(Linkage, match[1]) if match else "local"


def _size_of_type(modifiers: str) -> int | None:
    scalar = _TYPE.search(modifiers)
    if scalar is None:
        return None
    vector = _VECTOR.search(modifiers)
    return int(scalar[1]) // 8 * (2 if scalar[2] else 1) * (int(vector[1]) if vector else 1)


def _skip_initial_value(statement: str, position: int) -> tuple[int, int]:
    """The end of an initial value, and how many elements it has at its outermost level."""
    depth = commas = 0
    for match in _BRACKET_OR_COMMA.finditer(statement, position):
        if match[0] in "{(":
            depth += 1
        elif match[0] in "})":
            depth -= 1
        elif depth == 0:
            return match.start(), commas + 1
        elif depth == 1:
            commas += 1
    end = statement.rfind(";", position)
    return (end if end >= 0 else len(statement)), commas + 1


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


@dataclass(frozen=True, slots=True)
class Uses:
    """How code uses the names of its module.

    Attributes:
        names: those that occur in it. A name of the function's own that is spelled alike counts, too.
        addresses: functions that occur other than as the callee of a call.
        calls_indirectly: some call goes through a register.
        has_constants: it declares `.const` variables of its own.
        has_globals: it declares `.global` variables of its own.
    """

    names: frozenset[str]
    addresses: frozenset[str]
    calls_indirectly: bool
    has_constants: bool
    has_globals: bool


UNUSED = Uses(frozenset(), frozenset(), calls_indirectly=False, has_constants=False, has_globals=False)
"""Of a symbol that has no code."""


class UseReader:
    """Reads how code uses the names of its module."""

    def __init__(self, functions: Collection[str], variables: Collection[str]) -> None:
        self._functions = frozenset(functions)
        self._names = self._functions.union(variables)
        self._interesting = self._names | _CALL_TOKENS | _INDIRECT_CALL_TOKENS

    def __call__(self, code: str) -> Uses:
        """Args: code: a function's body or initial values, without comments."""
        tokens = code.translate(_SPACED).split()
        found = self._interesting.intersection(tokens)
        calls_indirectly = not _INDIRECT_CALL_TOKENS.isdisjoint(found)
        occurrences: Counter[str] = Counter()
        if not self._functions.isdisjoint(found):
            occurrences.update(token for token in tokens if token in self._functions)
        if not _CALL_TOKENS.isdisjoint(found):
            callees = Counter(_CALL.findall(code))
            occurrences.subtract(callees)
            calls_indirectly |= not callees.keys() <= self._functions
        return Uses(
            names=frozenset(found & self._names),
            addresses=frozenset(name for name, count in occurrences.items() if count > 0),
            calls_indirectly=calls_indirectly,
            has_constants=_LOCAL_CONST.search(code) is not None,
            has_globals=_LOCAL_GLOBAL.search(code) is not None,
        )
