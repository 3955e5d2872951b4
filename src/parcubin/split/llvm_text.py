"""The text of a module of LLVM IR in the form in which LLVM prints one, cut into its top-level entities.

In that form every top-level entity starts in column one and ends with its line (a function: with a line `}`), so a
module is taken apart without parsing its instructions. Grammar: LLVM Language Reference; what is printed:
lib/IR/AsmWriter.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

_EntityT = TypeVar("_EntityT")

NAME = r'(?:"[^"]*"|[-\w$.]+)'

# Every token that matters inside an entity. Strings and comments are matched so that their contents are not. Each
# alternative starts with a literal, without which the search is half as fast.
_TOKEN = re.compile(
    rf'@{NAME}\(?|%"[^"]*"\(?|%\d+ *\(|%[-a-zA-Z$._][-\w$.]*(?: *\()?|\${NAME}|!\d+|#\d+|"[^"]*"|;.*|\) *\(', re.A
)
_TOKEN_WITH_NUMBERED_TYPES = re.compile(_TOKEN.pattern.replace(r"%\d+ *\(|", r"%\d+(?: *\()?|"), re.A)
_SYMBOL_OR_SKIPPED = re.compile(rf'@({NAME})|"[^"]*"|;.*', re.A)
_DEFINITION = re.compile(rf"(?P<name>[@%$]{NAME}) = (?P<value>.*)", re.A)
_METADATA = re.compile(r"(?P<name>![-\w$.\\]+) = (?P<value>.*)", re.A)
_ATTRIBUTES = re.compile(r"attributes (?P<name>#\d+) = \{.*\}")
_NAMED_OPERAND = re.compile(r"!\w+(?:\([^)]*\))?")
_COMDAT = re.compile(r"comdat \w+")
_STRING = re.compile(r'"[^"]*"')
_ASSIGNMENT = re.compile(r'(?<!")=')  # that of an attribute stands between strings
_DROPPED = re.compile(r"source_filename = |uselistorder(?:_bb)? |\^\d+ = |;|[ \t]*$")
_NEEDLESS_QUOTES = re.compile(r'"(?<=[@%$]")[-a-zA-Z._][-\w.]*"', re.A)
# A line in a function's body that is neither an instruction or part of one, nor a label, a comment or empty.
_NOT_IN_A_BODY = re.compile(r'\n(?! +[a-zA-Z%#\];]|[\n;]|[-\w$.]+:|"[^"]*":)', re.A)
_IDENTIFIER = re.compile(r"[a-zA-Z$._][\w$.]*", re.A)
_ESCAPE = re.compile(rb"\\(?:([0-9a-fA-F]{2})|\\)")
_NOT_IN_PTX_NAMES = re.compile(rb"[^\w$]", re.A)


class NotInPrintedFormError(Exception):
    """The text is not in the form in which LLVM prints a module."""


@dataclass(frozen=True)
class ModuleText:
    """The entities of a module, by name and in order.

    Attributes:
        targets: the lines of triple and data layout.
        assembly: whether there is module-level assembly.
        types: definitions of named and numbered types.
        comdats: definitions of comdats.
        globals: lines of variables, aliases and ifuncs.
        functions: texts of definitions and declarations.
        attributes: lines of attribute groups.
        metadata: definitions of numbered metadata nodes.
        named_metadata: operands of named metadata.
    """

    targets: list[str] = field(default_factory=list)
    assembly: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    comdats: dict[str, str] = field(default_factory=dict)
    globals: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    named_metadata: dict[str, tuple[str, ...]] = field(default_factory=dict)


def cut(text: str) -> ModuleText:
    """Cuts a module into its top-level entities.

    Raises:
        NotInPrintedFormError: the text is in another form; parse and print it with LLVM first.
    """
    if _NEEDLESS_QUOTES.search(text):
        raise NotInPrintedFormError("names are quoted that need not be")
    module = ModuleText()
    position, end = 0, len(text)
    while position < end:
        stop = text.find("\n", position)
        stop = end if stop < 0 else stop
        if text.startswith("define ", position):
            stop = _end_of_body(text, position, stop)
            module.functions.append(text[position:stop])
        elif stop > position:
            _add_line(module, text[position:stop])
        position = stop + 1
    return module


def symbols_in(text: str) -> list[str]:
    """The global symbols that the text names, as it spells them."""
    return [m[1] for m in _SYMBOL_OR_SKIPPED.finditer(text) if m[1]]


def renamed(text: str, names: dict[str, str]) -> str:
    """The text with other names for symbols."""
    return _SYMBOL_OR_SKIPPED.sub(lambda m: f"@{names[m[1]]}" if m[1] in names else m[0], text)


def plain_name(name: str) -> str:
    """The symbol's name without quotes, with its escapes resolved, and without the `\\01` that says that an object file
    has it as it is."""
    if not name.startswith('"'):
        return name
    return _unescaped(name[1:-1]).removeprefix(b"\1").decode(errors="backslashreplace")


def local_ptx_name(name: str) -> str:
    """What LLVM calls a local symbol in PTX (NVPTXAssignValidGlobalNames.cpp)."""
    raw = _unescaped(name[1:-1]) if name.startswith('"') else name.encode()
    return _NOT_IN_PTX_NAMES.sub(b"_$_", raw).decode()


def _unescaped(text: str) -> bytes:
    return _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]) if m[1] else b"\\", text.encode())


@dataclass(frozen=True, slots=True)
class Entity:
    """The text of one top-level entity and what it names."""

    text: str
    calls: frozenset[str] = frozenset()
    mentions: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    metadata: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    comdats: frozenset[str] = frozenset()
    assembly_names: frozenset[str] = frozenset()
    calls_indirectly: bool = False
    has_comment: bool = False


@dataclass(frozen=True)
class Tokenizer:
    """Reads what an entity names. Local values look like named types, so it has to know the types."""

    types: Set[str]

    def __call__(self, text: str) -> Entity:
        calls: list[str] = []
        mentions: list[str] = []
        types: list[str] = []
        metadata: list[str] = []
        attributes: list[str] = []
        comdats: list[str] = []
        strings: list[str] = []
        indirect = comment = False
        for token in set(self._pattern.findall(text)):
            match token[0]:
                case "!":
                    metadata.append(token)
                case "%":
                    if token[-1] == "(":
                        indirect = True
                        token = token[:-1].rstrip(" ")
                    if token in self.types:
                        types.append(token)
                case "@":
                    if token[-1] == "(":
                        calls.append(token[1:-1])
                    else:
                        mentions.append(token[1:])
                case '"':
                    strings.append(token)
                case "#":
                    attributes.append(token)
                case "$":
                    comdats.append(token)
                case ")":
                    indirect = True
                case ";":
                    comment = True
        in_assembly = frozenset(_assembly_names(strings)) if " asm " in text else frozenset()
        return Entity(
            text,
            frozenset(calls),
            frozenset(mentions),
            frozenset(types),
            frozenset(metadata),
            frozenset(attributes),
            frozenset(comdats),
            in_assembly,
            indirect or any(word.split(".")[0] == "call" for word in in_assembly),
            comment,
        )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return _TOKEN_WITH_NUMBERED_TYPES if any(t[1:].isdigit() for t in self.types) else _TOKEN


def _assembly_names(strings: list[str]) -> list[str]:
    """All words of strings, of which some are inline assembly, where `$$` stands for `$`."""
    text = _unescaped(" ".join(s[1:-1] for s in strings)).decode(errors="replace")
    return _IDENTIFIER.findall(text.replace("$$", "$"))


def _add_line(module: ModuleText, line: str) -> None:
    if line.count("=") > 1 and len(_ASSIGNMENT.findall(_STRING.sub('""', line))) > 1:
        raise NotInPrintedFormError(line[:120])  # another entity follows on the line
    first = line[:1]
    if first == "!" and (metadata := _METADATA.fullmatch(line)):
        name, value = metadata["name"], metadata["value"]
        if name[1:].isdigit():
            _add(module.metadata, name, value)
        elif value.startswith("!{") and value.endswith("}"):
            _add(module.named_metadata, name, tuple(_NAMED_OPERAND.findall(value)))
        else:
            raise NotInPrintedFormError(line[:120])
    elif first in "@%$" and (definition := _DEFINITION.fullmatch(line)):
        name, value = definition["name"], definition["value"]
        if first == "@":
            _add(module.globals, name[1:], line)
        elif first == "%" and value.startswith("type "):
            _add(module.types, name, value)
        elif first == "$" and _COMDAT.fullmatch(value):
            _add(module.comdats, name, value)
        else:
            raise NotInPrintedFormError(line[:120])
    elif line.startswith("declare ") and not ("=" in line and _ASSIGNMENT.search(_STRING.sub('""', line))):
        module.functions.append(line)
    elif first == "a" and (attributes := _ATTRIBUTES.fullmatch(line)):
        _add(module.attributes, attributes["name"], line)
    elif line.startswith(("target triple = ", "target datalayout = ")):
        module.targets.append(line)
    elif line.startswith("module asm "):
        module.assembly.append(line)
    elif not _DROPPED.match(line):
        raise NotInPrintedFormError(line[:120])


def _add(entities: dict[str, _EntityT], name: str, entity: _EntityT) -> None:
    if entities.setdefault(name, entity) is not entity:
        raise NotInPrintedFormError(f"{name} is defined twice")


def _end_of_body(text: str, start: int, header_end: int) -> int:
    if text[header_end - 1] != "{":
        raise NotInPrintedFormError(text[start:header_end][:120])
    end = text.find("\n}\n", header_end - 1)
    if end < 0:
        if not text.endswith("\n}"):
            raise NotInPrintedFormError("a function does not end")
        end = len(text) - 2
    stray = _NOT_IN_A_BODY.search(text, header_end, end)
    if stray:
        line = text[stray.end() : stray.end() + 120].split("\n", 1)[0]
        raise NotInPrintedFormError(f"a function does not end before '{line}'")
    return end + 2
