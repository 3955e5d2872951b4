"""Shards of PTX: whole statements of one or several modules as a module of its own.

Kernels stay as they are. Copies of device functions and of shared memory are local to their shard, because visible ones
would clash in a link. A variable that several shards share is `.visible` where it is defined and `.extern`, with its
exact size, elsewhere. Source locations and the tables that they refer to are numbered anew: ptxas 13.5 writes wrong
line tables for file numbers with gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from parcubin.model import Ptx
from parcubin.ptx_syntax import Linkage
from parcubin.split.outline import Binding, Sharing, SymbolKind
from parcubin.split.ptx import Piece, PtxOutline

_LINKAGE_OR_COMMENT = re.compile(rb"\.(?:visible|weak|extern|common)\b[ \t]*|//[^\n]*|/\*(?s:.*?)\*/")
_LOCATION = re.compile(
    rb"(\.loc\s+)(\d{1,9})(\s+\d+\s+\d+)(?:(\s*,\s*function_name\s+)([\w$]+)(\s*,\s*inlined_at\s+)(\d{1,9}))?"
)


@dataclass(frozen=True)
class PtxPart:
    """What a shard takes from one module.

    Attributes:
        outline: the module.
        define: symbols to define. What they refer to beyond `define` is declared.
        declare: variables that are defined here but must only be declared, since another shard defines them.
        rename: new names for variables that several shards share; those are visible where they are defined.
    """

    outline: PtxOutline
    define: frozenset[str]
    declare: frozenset[str]
    rename: Mapping[str, str] = field(hash=False)

    @cached_property
    def held(self) -> frozenset[str]:
        """Every symbol that the part's text names."""
        symbols = self.outline.symbols
        return (self.define | self.declare).union(*(symbols[name].references for name in self.define))

    def new_name(self, name: str) -> str:
        """What other shards call the symbol."""
        return self.rename.get(name, name)

    def is_host_variable(self, name: str) -> bool:
        """Whether the host may look the variable up by this name."""
        return self.outline.symbols[name].sharing is Sharing.ONCE

    def is_local(self, name: str) -> bool:
        """Whether the name means nothing to other modules."""
        return self.outline.symbols[name].binding is Binding.LOCAL and name not in self.rename


@dataclass(frozen=True, slots=True)
class PtxOrigin:
    """Where a statement of a shard comes from.

    Attributes:
        shard_line: 1-based line of the shard where it starts.
        input_name: the module's name.
        line: 1-based line of the module where it starts.
    """

    shard_line: int
    input_name: str
    line: int

    def line_of(self, shard_line: int) -> int:
        """The module's line that a line of the statement in the shard was."""
        return self.line + shard_line - self.shard_line


@dataclass(frozen=True)
class RenderedPtx:
    """A shard as a module of its own.

    Attributes:
        text: the PTX.
        origins: where its statements come from.
    """

    text: str = field(repr=False)
    origins: tuple[PtxOrigin, ...] = field(repr=False)


@dataclass(frozen=True)
class PtxShard:
    """A shard of PTX. It becomes text when it is sent to a worker, so that the texts of all shards never are in memory
    at once.

    Attributes:
        name: what messages call it.
        parts: what it takes from each module.
        exports: device functions that stay callable from outside.
    """

    name: str
    parts: tuple[PtxPart, ...]
    exports: frozenset[str]

    def rendered(self) -> RenderedPtx:
        return render_ptx(self.parts, self.exports)

    @property
    def text(self) -> str:
        """The shard as a module of its own."""
        return self.rendered().text

    def __reduce__(self) -> tuple[type[Ptx], tuple[str, str]]:
        return Ptx, (self.text, self.name)


def render_ptx(parts: Sequence[PtxPart], exports: Set[str] = frozenset()) -> RenderedPtx:
    """Makes a module of parts of modules of one environment.

    Args:
        parts: what it holds; the whole module where one cannot be split.
        exports: device functions that stay callable from outside.
    """
    whole = [part.outline for part in parts if part.outline.whole_reason is not None]
    if whole:
        assert len(parts) == 1
        return RenderedPtx(whole[0].text.decode("utf-8", "surrogateescape"), (PtxOrigin(1, whole[0].name, 1),))
    shard = _Shard(parts, exports)
    for part in shard.parts:
        shard.add(part)
    return shard.rendered()


class _Shard:
    """A shard in the making.

    Names that mean the same to all modules are declared once and defined by one part. Names that mean something to one
    module only are made different where modules use them alike.
    """

    def __init__(self, parts: Sequence[PtxPart], exports: Set[str]) -> None:
        self._definer = _definers(parts)
        # ptxas needs no declaration of a variable after its definition, and warns of one before it.
        self.parts = sorted(parts, key=lambda p: sum(self._definer.get(p.new_name(n), p) is not p for n in p.held))
        self._exports = frozenset(exports) | _aliasees(parts, exports)
        self._known: set[str] = set()
        self._defined: set[str] = set()
        self._taken = {p.new_name(n) for p in parts for n in p.held if not p.is_local(n)}
        self._of_host = {n for p in parts for n in p.held if p.is_host_variable(n)} - self._taken
        self._taken |= self._of_host
        self._dynamic_shared_memory: dict[bytes, str] = {}
        self._files: dict[bytes, int] = {}
        self._strings: dict[bytes, bytes] = {}
        self._chunks = [*parts[0].outline.description, b""]
        self._origins: list[PtxOrigin] = []
        self._line = 1 + sum(chunk.count(b"\n") + 1 for chunk in self._chunks)

    def add(self, part: PtxPart) -> None:
        names = self._new_names(part)
        for piece in part.outline.pieces_of(part.held):
            name = names.get(piece.symbol, piece.symbol)
            statement = self._statement(part, piece, name)
            self._known.add(name)
            if statement:
                statement = _renamed(statement, names)
                self._chunks.append(statement)
                self._origins.append(PtxOrigin(self._line, part.outline.name, piece.line))
                self._line += statement.count(b"\n") + 1

    def rendered(self) -> RenderedPtx:
        self._chunks += [b".file %d %s" % (number, file) for file, number in self._files.items()]
        if self._strings:
            strings = b"\n".join(b"%s:\n%s" % item for item in self._strings.items())
            self._chunks.append(b".section .debug_str\n{\n%s\n}" % strings)
        text = b"\n".join([*self._chunks, b""])
        return RenderedPtx(text.decode("utf-8", "surrogateescape"), tuple(self._origins))

    def _new_names(self, part: PtxPart) -> Mapping[str, str]:
        """The part's names that change: those of variables that shards share, and those that other parts use, too."""
        names = {old: new for old, new in part.rename.items() if new != old}
        for name in sorted(filter(part.is_local, part.held)):
            piece = next(part.outline.pieces_of([name]))
            if piece.variable and piece.variable.is_dynamic_shared_memory:
                # What is declared alike is the same memory.
                new = self._dynamic_shared_memory.setdefault(_variable(part, piece, "extern"), self._free_name(name))
            elif part.is_host_variable(name) and name in self._of_host:
                new = name
            else:
                new = self._free_name(f"{name}$local" if name in part.outline.hidden_names else name)
            self._taken.add(new)
            if new != name:
                names[name] = new
        return names

    def _free_name(self, name: str) -> str:
        return next(n for n in _numbered(name) if n not in self._taken)

    def _statement(self, part: PtxPart, piece: Piece, new_name: str) -> bytes:
        """The statement as the shard needs it; empty when it does not.

        Args:
            new_name: what the shard calls the symbol.
        """
        name, is_known = piece.symbol, new_name in self._known
        definer = part if part.is_local(name) else self._definer.get(part.new_name(name))
        if piece.variable is not None:
            return self._statement_of_variable(part, piece, definer, new_name)
        if definer is None:
            return b"" if is_known else _function(part, piece, piece.linkage)
        if (definer is not part) if piece.is_definition else is_known:
            return b""
        if piece.aliasee is not None:
            return part.outline.text[piece.start : piece.end]
        stays_callable = name in self._exports or part.outline.symbols[name].kind is SymbolKind.KERNEL
        linkage = definer.outline.linkage(name) if stays_callable and not part.is_local(name) else "local"
        return self._relocated(part.outline, _function(part, piece, linkage))

    def _statement_of_variable(self, part: PtxPart, piece: Piece, definer: PtxPart | None, new_name: str) -> bytes:
        name = piece.symbol
        is_known = new_name in self._known
        if definer is not None:
            is_definition = definer is part and piece.is_definition
            if not is_definition:
                piece = next(p for p in definer.outline.pieces_of([name]) if p.is_definition)
            # What can stand anywhere is defined where it is first named: ptxas warns of a declaration in front of the
            # definition, and refuses it in front of one of local shared memory.
            if name in definer.define and (is_definition or not definer.outline.symbols[name].references):
                is_defined = new_name in self._defined
                self._defined.add(new_name)
                return b"" if is_defined else _definition(definer, piece)
        return b"" if is_known else _variable(definer or part, piece, "extern")

    def _relocated(self, outline: PtxOutline, statement: bytes) -> bytes:
        """The statement with the shard's numbers of source files and labels of function names."""

        def replacement(location: re.Match[bytes]) -> bytes:
            loc, file, position, function_name, label, inlined_at, inlining_file = location.groups()
            place = b"%s%d%s" % (loc, self._file(outline, file), position)
            if function_name is None:
                return place
            return b"%s%s%s%s%d" % (
                place,
                function_name,
                self._label(outline, label),
                inlined_at,
                self._file(outline, inlining_file),
            )

        return _LOCATION.sub(replacement, statement)

    def _file(self, outline: PtxOutline, number: bytes) -> int:
        file = outline.files.get(int(number), b'"unknown"')
        return self._files.setdefault(file, len(self._files) + 1)

    def _label(self, outline: PtxOutline, label: bytes) -> bytes:
        string = outline.strings.get(label, b".b8 0")
        new = next(n for n in map(str.encode, _numbered(label.decode())) if self._strings.get(n, string) == string)
        self._strings[new] = string
        return new


def _definers(parts: Sequence[PtxPart]) -> Mapping[str, PtxPart]:
    """For each new name that means the same to all modules and that one of them defines: the part whose definition
    counts, in this shard or in another."""
    found: dict[str, PtxPart] = {}
    for part in parts:
        for name in part.define | part.declare:
            new = part.new_name(name)
            if not part.is_local(name) and (new not in found or _rank(part, name) > _rank(found[new], name)):
                found[new] = part
    return found


def _rank(part: PtxPart, name: str) -> tuple[bool, int]:
    """Of several definitions, a strong one counts; of common ones, the largest."""
    sizes = (p.variable.declarator.size or 0 for p in part.outline.pieces_of([name]) if p.variable)
    is_strong = part.outline.symbols[name].binding is Binding.STRONG
    return is_strong, max(sizes, default=0) if part.outline.linkage(name) == "common" else 0


def _aliasees(parts: Sequence[PtxPart], names: Set[str]) -> frozenset[str]:
    """What aliases of these names name: an alias is as visible as that (ptxas 13.5)."""
    symbols = [part.outline.symbols[name] for part in parts for name in names & part.define]
    return frozenset[str]().union(*(s.references for s in symbols if s.is_alias))


def _function(part: PtxPart, piece: Piece, linkage: Linkage) -> bytes:
    text = part.outline.text
    return _with_linkage(text[piece.start : piece.keyword], linkage) + text[piece.keyword : piece.end]


def _definition(part: PtxPart, piece: Piece) -> bytes:
    """The definition of a variable."""
    assert piece.variable is not None
    if piece.variable.is_dynamic_shared_memory:
        return _variable(part, piece, "extern")
    if piece.symbol in part.rename:
        return _variable(part, piece, "visible")
    return _variable(part, piece, "local" if piece.variable.space == "shared" else piece.linkage)


def _variable(part: PtxPart, piece: Piece, linkage: Linkage) -> bytes:
    """One variable of a declaration; without its initial value where it is only declared."""
    assert piece.variable is not None
    text, variable, declarator = part.outline.text, piece.variable, piece.variable.declarator
    prefix = _with_linkage(text[piece.start : piece.keyword], linkage) + text[piece.keyword : variable.modifiers_end]
    if linkage == "extern" and not variable.is_dynamic_shared_memory:
        return prefix + f"{declarator.name}{''.join(f'[{d}]' for d in declarator.dimensions)};".encode()
    return prefix + text[declarator.start : declarator.end] + b";"


def _with_linkage(prefix: bytes, linkage: Linkage) -> bytes:
    word = b"" if linkage == "local" else f".{linkage} ".encode()
    return word + _LINKAGE_OR_COMMENT.sub(lambda m: b"" if m[0].startswith(b".") else m[0], prefix)


def _renamed(text: bytes, names: Mapping[str, str]) -> bytes:
    if not names:
        return text
    new = {old.encode(): name.encode() for old, name in names.items()}
    pattern = rb"(?<![\w$.%])(?:" + b"|".join(map(re.escape, new)) + rb")(?![\w$.])"
    return re.sub(pattern, lambda m: new[m[0]], text)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}__{number}" for number in count(2))
