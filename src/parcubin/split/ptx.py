"""Outline of PTX.

A module of PTX is a sequence of statements. Each describes the module or belongs to a symbol, so that a shard is made
of whole statements in their original order (`split.ptx_shard`). The text is kept once, as bytes; statements are
positions in it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from parcubin.ptx_syntax import (
    UNUSED,
    Declarator,
    Linkage,
    Space,
    Statement,
    UseReader,
    Uses,
    alias,
    function_head,
    statements,
    variable_declaration,
    without_comments,
)
from parcubin.split.cost import PTX_CHARACTER, PTX_DATA, PTX_KERNEL
from parcubin.split.outline import Binding, Sharing, Symbol, SymbolKind

_DESCRIPTION = re.compile(r"\.(?:version|target|address_size|pragma)\b")
_DEBUG_TARGET = re.compile(rb"\.target\b.*\bdebug\b")
_FILE = re.compile(rb"\.file\D*(\d{1,9})\s*(.*)", re.S)
_LABEL = re.compile(rb"(?<![\w$])([\w$]++):")
_OFFSET_OF_STRING = re.compile(rb"\bfunction_name\s+[\w$]+\s*\+")
_LINKAGES = re.compile(r"(?:\s|\.(?:visible|weak|extern|common)\b)*")

_OPCODES_WITHOUT_DOTS = frozenset({"bra", "call", "exit", "ret", "trap", "brkpt"})

_C_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_UNNAMED = re.compile(r"__unnamed_\d+")
_CONSTANT_DATA = re.compile(
    rf"{_UNNAMED.pattern}|\$str(?:\$\d+)?|_\$_str(?:[\d.]|_\$_\d+)*|__const_\$_.*|switch_\$_table_\$_.*|anon_\$_.*"
    r"|__(?:func|FUNCTION|PRETTY_FUNCTION)___\$_.*"
)
"""What NVVM, clang, LLVM and Rust call string literals, initialisers and lookup tables, which nothing stores to. NVPTX
writes `_$_` for the dots in LLVM's names (lib/Target/NVPTX/NVPTXAssignValidGlobalNames.cpp)."""


@dataclass(frozen=True, slots=True)
class Variable:
    """What a declaration says of a variable.

    Attributes:
        space: its state space.
        opaque: a texture, sampler or surface reference.
        modifiers_end: where the state space, alignment and type end.
        declarator: the rest, with positions in the file.
    """

    space: Space
    opaque: bool
    modifiers_end: int
    declarator: Declarator

    @property
    def is_dynamic_shared_memory(self) -> bool:
        """With `.extern`, which it always has."""
        return self.space == "shared" and self.declarator.size is None


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement, or one variable of it, that belongs to a symbol.

    Attributes:
        symbol: the symbol's name.
        kind: the symbol's kind.
        linkage: as written.
        is_definition: it defines the symbol; otherwise it declares it.
        start: where the statement starts in the file.
        keyword: where its linkage ends.
        end: where the statement ends.
        line: 1-based line where it starts.
        body: of a function's definition: where its braces open.
        aliasee: of an alias: what it names.
        variable: of a variable: what the declaration says.
    """

    symbol: str
    kind: SymbolKind
    linkage: Linkage
    is_definition: bool
    start: int
    keyword: int
    end: int
    line: int
    body: int | None = None
    aliasee: str | None = None
    variable: Variable | None = None


@dataclass(frozen=True, eq=False)
class PtxOutline:
    """A module of PTX, taken apart. Implements `Outline`.

    Attributes:
        name: what messages call it.
        symbols: by name.
        whole_reason: why it can only be compiled whole.
        text: the module.
        description: the directives that describe the module: version, target, pragmas.
        pieces: the statements that belong to symbols, in their order.
        files: `.file` directives without their number, by number.
        strings: contents of `.debug_str` by label.
        hidden_names: of local variables that get another name, because another module has a variable of that name.
    """

    name: str
    symbols: Mapping[str, Symbol]
    whole_reason: str | None
    text: bytes = field(repr=False)
    description: tuple[bytes, ...] = field(repr=False)
    pieces: tuple[Piece, ...] = field(repr=False)
    files: Mapping[int, bytes] = field(repr=False)
    strings: Mapping[bytes, bytes] = field(repr=False)
    hidden_names: frozenset[str] = frozenset()

    @cached_property
    def environment(self) -> str:
        """The directives that describe the module. One that is compiled whole is alone in its shard."""
        described = b"\n".join(self.description).decode("utf-8", "surrogateescape")
        return described if self.whole_reason is None else f"{described}\n{self.name}"

    @property
    def dialect(self) -> str:
        return f"PTX\n{self.environment}"

    def plain_name(self, name: str) -> str:
        return name

    def hidden(self, names: Set[str]) -> PtxOutline:
        """The module with some local variables hidden from the host."""
        symbols = {
            name: replace(s, sharing=Sharing.ONCE_RENAMED)
            if name in names and s.binding is Binding.LOCAL and s.sharing is Sharing.ONCE
            else s
            for name, s in self.symbols.items()
        }
        return replace(self, symbols=symbols, hidden_names=frozenset(names))

    def pieces_of(self, names: Iterable[str]) -> Iterator[Piece]:
        """The statements of some symbols, in their order."""
        for index in sorted(i for name in names for i in self._indices[name]):
            yield self.pieces[index]

    def linkage(self, name: str) -> Linkage:
        """The linkage of a function."""
        return strongest_linkage(self.pieces[i] for i in self._indices[name])

    @cached_property
    def _indices(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for index, piece in enumerate(self.pieces):
            found[piece.symbol].append(index)
        return found


def outline_ptx(text: bytes, name: str = "input", *, debug_info: bool = False) -> PtxOutline:
    """Takes a module of PTX apart. 3.6 MB take about 0.15 s.

    What is not understood, or cannot be split, is no error: the module is then compiled whole, and the compiler says
    what is wrong with it, if anything.

    Args:
        text: the module.
        name: what messages call it.
        debug_info: it will be compiled with full debug info, for which its DWARF is needed. Without that, ptxas uses
            nothing of it but the names of inlined functions (13.5).
    """
    reader = _Reader(text)
    for statement in statements(text):
        reader.read(statement)
    uses = _uses(text, reader.pieces)
    symbols = {s.name: s for s in _symbols(reader.pieces, uses)}
    return PtxOutline(
        name=name,
        symbols=symbols,
        whole_reason=next(_whole_reasons(reader, symbols, uses, debug_info), None),
        text=text,
        description=tuple(dict.fromkeys(reader.description)),
        pieces=tuple(reader.pieces),
        files=reader.files,
        strings=reader.strings,
    )


class _Reader:
    """Sorts the statements of a module."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.description: list[bytes] = []
        self.pieces: list[Piece] = []
        self.files: dict[int, bytes] = {}
        self.strings: dict[bytes, bytes] = {}
        self.has_debug_info = False
        self.not_understood: list[str] = []
        self._line, self._counted = 1, 0

    def read(self, statement: Statement) -> None:
        self._line += self.text.count(b"\n", self._counted, statement.start)
        self._counted = statement.start
        raw = self.text[statement.start : statement.body or statement.end]
        head = without_comments(raw)
        pieces: list[Piece] = []
        understood = True
        if _DESCRIPTION.match(head):
            self.description.append(raw if head.startswith(".pragma") else " ".join(head.split()).encode())
            understood = not self.pieces
        elif directive := _FILE.match(raw):
            self.files[int(directive[1])] = directive[2]
        elif head.startswith(".section"):
            self._read_section(head, statement)
        else:
            pieces = list(self._pieces(head, statement))
            self.pieces += pieces
            understood = bool(pieces)
        if not understood or not statement.is_complete:
            self.not_understood.append(f"line {self._line}, {head.split(chr(10), 1)[0].strip()[:60]}")

    def _read_section(self, head: str, statement: Statement) -> None:
        if head.split() != [".section", ".debug_str"]:
            self.has_debug_info = True
            return
        content = self.text[(statement.body or statement.end) + 1 : statement.end - 1]
        labels = list(_LABEL.finditer(content))
        ends = [*(label.start() for label in labels[1:]), len(content)]
        for label, end in zip(labels, ends, strict=len(labels) > 0):
            self.strings[label[1]] = content[label.end() : end].strip()

    def _pieces(self, head: str, statement: Statement) -> Iterator[Piece]:
        start, end, line = statement.start, statement.end, self._line
        if names := alias(head):
            name, aliasee = names
            yield Piece(name, SymbolKind.FUNCTION, "local", True, start, start, end, line, aliasee=aliasee)
        elif (function := function_head(head)) and _LINKAGES.fullmatch(head, 0, function.keyword):
            kind = SymbolKind.KERNEL if function.is_kernel else SymbolKind.FUNCTION
            keyword, body = start + function.keyword, statement.body
            yield Piece(function.name, kind, function.linkage, body is not None, start, keyword, end, line, body=body)
        elif (
            (declaration := variable_declaration(head))
            and declaration.complete
            and _LINKAGES.fullmatch(head, 0, declaration.keyword)
        ):
            for d in declaration.declarators:
                initial = None if d.initial is None else start + d.initial
                variable = Variable(
                    space=declaration.space,
                    opaque=declaration.opaque,
                    modifiers_end=start + declaration.declarators[0].start,
                    declarator=replace(d, start=start + d.start, initial=initial, end=start + d.end),
                )
                yield Piece(
                    symbol=d.name,
                    kind=SymbolKind.VARIABLE,
                    linkage=declaration.linkage,
                    is_definition=declaration.linkage != "extern" or variable.is_dynamic_shared_memory,
                    start=start,
                    keyword=start + declaration.keyword,
                    end=end,
                    line=line,
                    variable=variable,
                )


def _uses(text: bytes, pieces: Sequence[Piece]) -> Mapping[str, Uses]:
    """How each definition uses the module's names."""
    functions = {p.symbol for p in pieces if p.kind is not SymbolKind.VARIABLE}
    reader = UseReader(functions, {p.symbol for p in pieces if p.kind is SymbolKind.VARIABLE})
    found: dict[str, Uses] = {}
    for piece in pieces:
        initial = piece.variable.declarator.initial if piece.variable else None
        if (start := piece.body or initial) is not None:
            end = piece.variable.declarator.end if piece.variable else piece.end
            found[piece.symbol] = reader(without_comments(text[start:end]))
    return found


def _symbols(pieces: Sequence[Piece], uses: Mapping[str, Uses]) -> Iterator[Symbol]:
    pieces_of: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        pieces_of[piece.symbol].append(piece)
    for name, candidates in pieces_of.items():
        piece = next((c for c in candidates if c.is_definition), candidates[0])
        # An alias of a local function is local, whatever it says (ptxas 13.5).
        linkages = pieces_of.get(piece.aliasee or name, candidates)
        use = uses.get(name, UNUSED)
        yield Symbol(
            name=name,
            kind=piece.kind,
            defined=piece.is_definition,
            binding=_binding(piece, linkages),
            references=frozenset({piece.aliasee}) if piece.aliasee else use.names - {name},
            addresses=use.addresses,
            calls_indirectly=use.calls_indirectly,
            sharing=_sharing(piece),
            in_constant_bank=use.has_constants or (piece.variable is not None and piece.variable.space == "const"),
            is_alias=piece.aliasee is not None,
            cost=_cost(piece) if piece.is_definition else 0,
        )


def _cost(piece: Piece) -> int:
    if piece.variable is None:
        kernel = PTX_KERNEL if piece.kind is SymbolKind.KERNEL else 0
        return round(PTX_CHARACTER * (piece.end - piece.start)) + kernel
    declarator = piece.variable.declarator
    return round(PTX_DATA * (declarator.end - declarator.start))


def _binding(piece: Piece, pieces: Sequence[Piece]) -> Binding:
    """Of a definition, or of a declaration without one."""
    if not piece.is_definition:
        return Binding.STRONG
    if piece.variable is not None:
        # Modules that declare dynamic shared memory alike do not mean each other's.
        linkage = "local" if piece.variable.is_dynamic_shared_memory else piece.linkage
    else:
        linkage = strongest_linkage(pieces)
    match linkage:
        case "weak" | "common":
            return Binding.WEAK
        case "local" if piece.kind is not SymbolKind.KERNEL:  # the host finds kernels of any linkage
            return Binding.LOCAL
        case _:
            return Binding.STRONG


def _sharing(piece: Piece) -> Sharing:
    variable = piece.variable
    if variable is None or variable.space == "shared" or not piece.is_definition:
        return Sharing.COPY
    if variable.opaque:
        return Sharing.MERGE
    is_unnamed = _UNNAMED.fullmatch(piece.symbol) is not None
    if piece.linkage != "local" or (_C_IDENTIFIER.fullmatch(piece.symbol) and not is_unnamed):
        return Sharing.ONCE
    if variable.space == "const":
        return Sharing.COPY_UNLESS_LINKED
    has_value = variable.declarator.initial is not None
    return Sharing.COPY if has_value and _CONSTANT_DATA.fullmatch(piece.symbol) else Sharing.ONCE_RENAMED


def strongest_linkage(pieces: Iterable[Piece]) -> Linkage:
    """The linkage of a function, which not all of its statements need to repeat."""
    return next((p.linkage for p in pieces if p.linkage != "local"), "local")


def _whole_reasons(
    reader: _Reader, symbols: Mapping[str, Symbol], uses: Mapping[str, Uses], debug_info: bool
) -> Iterator[str]:
    for what in reader.not_understood:
        yield f"a statement of it is not understood ({what})"
    definitions = Counter(p.symbol for p in reader.pieces if p.is_definition and p.linkage != "extern")
    yield from (f"it defines {name} {times} times" for name, times in definitions.items() if times > 1)
    yield from (
        f"it has a symbol that is called like an instruction, {n}" for n in _OPCODES_WITHOUT_DOTS & symbols.keys()
    )
    for symbol in symbols.values():
        if unknown := symbol.references - symbols.keys():
            yield f"{symbol.name} is an alias of {min(unknown)}, which is not declared"
        if symbol.kind is SymbolKind.FUNCTION and symbol.name in uses and uses[symbol.name].has_globals:
            yield f"the function {symbol.name} has a variable of its own, which must not be copied"
    if reader.strings and _OFFSET_OF_STRING.search(reader.text):
        yield "its source locations refer to the middle of strings"
    if any(map(_DEBUG_TARGET.match, reader.description)):
        yield "its target is marked for debugging, and debug info describes all functions at once"
    elif reader.has_debug_info and debug_info:
        yield "its debug info describes all functions at once"
