"""Outline of textual LLVM IR, in the form in which LLVM prints a module.

In that form every top-level entity starts in column one and ends with its line (a function: with a line `}`), so a
module is taken apart without parsing its instructions. Text in any other form raises `NotInPrintedFormError`; the
caller lets LLVM parse and print it first. Grammar: LLVM Language Reference; what is printed: lib/IR/AsmWriter.cpp.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from parcubin.split.outline import Binding, Sharing, Symbol, SymbolKind

_NAME = r'(?:"[^"]*"|[-\w$.]+)'

# Every token that matters inside an entity. Strings and comments are matched so that their contents are not.
_TOKEN = re.compile(
    r'[@%$]"[^"]*"\(?|@[-\w$.]+\(?|%\d+\(|%[-a-zA-Z$._][-\w$.]*\(?|\$[-\w$.]+|!\d+|#\d+|"[^"]*"|;.*|\)\('
)
_TOKEN_WITH_NUMBERED_TYPES = re.compile(_TOKEN.pattern.replace(r"%\d+\(|", r"%\d+\(?|"))
_SYMBOL_OR_SKIPPED = re.compile(rf'@({_NAME})|"[^"]*"|;.*')
_LINE = re.compile(
    r"(?P<define>define .*\{)|(?P<declare>declare .*)"
    rf"|(?P<symbol>@{_NAME} = .*)|(?P<metadata>!\d+ = .*)|(?P<named>![-a-zA-Z$._\\][-\w$.\\]* = !\{{.*\}})"
    rf"|(?P<attributes>attributes #\d+ = \{{.*\}})|(?P<type>%{_NAME} = type .*)|(?P<comdat>\${_NAME} = comdat .*)"
    r"|(?P<target>target (?:triple|datalayout) = .*)|(?P<asm>module asm .*)"
    r"|(?P<dropped>source_filename = .*|uselistorder(?:_bb)? .*|\^\d+ = .*|;.*|[ \t]*)"
)
_NEEDLESS_QUOTES = re.compile(r'[@%$]"[-a-zA-Z$._][-\w$.]*"')
_LINKAGES = (
    "private|internal|available_externally|linkonce_odr|linkonce|weak_odr|weak|common|appending|extern_weak|external"
)
_LINKAGE = re.compile(rf"\b(?:{_LINKAGES})\b")
_PREFIX_WORDS = rf"(?:{_LINKAGES}|dso_local|dso_preemptable|default|hidden|protected|dllimport|dllexport)"
_FUNCTION_HEADER = re.compile(
    rf"(?:define|declare)(?: ![\w.]+ !\d+)*(?P<prefix>(?: {_PREFIX_WORDS})*)(?P<kernel> (?:ptx_kernel|cc ?71)\b)?"
    rf"[^\n]*?@(?P<name>{_NAME})\("
)
_VARIABLE_HEADER = re.compile(
    rf"@(?P<name>{_NAME}) = (?P<prefix>(?:[a-z_]+(?:\([^)\n]*\))? )*?)(?P<keyword>global|constant|alias|ifunc)"
    r" (?P<rest>.*)"
)
_ADDRESS_SPACE = re.compile(r"addrspace\((\d+)\)")
_USED = re.compile(r"@(llvm\.(?:compiler\.)?used) = ")
_IDENTIFIER = re.compile(r"[a-zA-Z$._][\w$.]*")

_SHARED, _CONSTANT = "3", "4"


class NotInPrintedFormError(Exception):
    """The text is not in the form in which LLVM prints a module."""


@dataclass(frozen=True, slots=True)
class _Entity:
    """The text of one top-level entity and what it names."""

    text: str
    calls: frozenset[str] = frozenset()
    mentions: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    metadata: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    comdats: frozenset[str] = frozenset()
    calls_indirectly: bool = False


@dataclass(frozen=True)
class _Tokenizer:
    """Reads what an entity names. Local values look like named types, so it has to know the types."""

    types: Set[str]

    def __call__(self, text: str) -> _Entity:
        calls: set[str] = set()
        mentions: set[str] = set()
        others: dict[str, set[str]] = {"%": set(), "!": set(), "#": set(), "$": set()}
        strings: set[str] = set()
        indirect = False
        for token in set(self._pattern.findall(text)):
            first = token[0]
            if first == "@":
                (calls if token[-1] == "(" else mentions).add(token[1:].rstrip("("))
            elif first == "%" and token[-1] == "(":
                indirect = True
            elif first == "%":
                if token in self.types:
                    others["%"].add(token)
            elif first == '"':
                strings.add(token)
            elif first == ")":
                indirect = True
            elif first != ";":
                others[first].add(token)
        if " asm " in text:
            mentions.update(*(map(str, _IDENTIFIER.findall(s)) for s in strings))
        return _Entity(
            text,
            frozenset(calls),
            frozenset(mentions),
            frozenset(others["%"]),
            frozenset(others["!"]),
            frozenset(others["#"]),
            frozenset(others["$"]),
            indirect,
        )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return _TOKEN_WITH_NUMBERED_TYPES if any(t[1:].isdigit() for t in self.types) else _TOKEN


@dataclass(frozen=True)
class LlvmOutline:
    """A module of textual LLVM IR, taken apart. Implements `Outline`."""

    name: str
    symbols: Mapping[str, Symbol]
    whole_reason: str | None
    _text: str = field(repr=False)
    _tokenize: _Tokenizer = field(repr=False)
    _header: tuple[str, ...] = field(repr=False)
    _symbol_entities: Mapping[str, _Entity] = field(repr=False)
    _types: Mapping[str, _Entity] = field(repr=False)
    _comdats: Mapping[str, str] = field(repr=False)
    _attributes: Mapping[str, str] = field(repr=False)
    _metadata: Mapping[str, str] = field(repr=False)
    _named_metadata: Mapping[str, tuple[str, ...]] = field(repr=False)
    _used: tuple[str, ...] = field(repr=False)

    @property
    def dialect(self) -> str:
        """LLVM links modules with each other, whatever their environment."""
        return "LLVM IR"

    def plain_name(self, name: str) -> str:
        return plain_name(name)

    @cached_property
    def environment(self) -> str:
        """What must be equal for parts of two modules to be lowered together: target lines and module flags."""
        flags = self._named_metadata.get("!llvm.module.flags", ())
        return "\n".join([*self._header, *sorted(self._metadata.get(f, f) for f in flags)])

    def render(self, define: frozenset[str], declare: frozenset[str], rename: Mapping[str, str]) -> str:
        if self.whole_reason is not None:
            return self._text
        held = define | declare
        held = held.union(*(self.symbols[name].references for name in define))
        entities: list[_Entity] = []
        for name, entity in self._symbol_entities.items():
            if name not in held:
                continue
            if name not in define and self.symbols[name].defined:
                entity = self._tokenize(_declaration(entity.text))
            elif name in rename:
                entity = replace(entity, text=_with_linkage(entity.text, "external"))
            entities.append(entity)
        used = [self._tokenize(text) for text in (_restricted_list(u, define) for u in self._used) if text]
        named = list(self._restricted_named_metadata(held, entities))
        metadata = self._reachable_metadata({m for e in entities for m in e.metadata}.union(*(o for _, o in named)))
        comdats = {c for e in entities for c in e.comdats}
        attributes = {a for e in entities for a in e.attributes}
        lines = [
            *self._header,
            *(self._types[t].text for t in self._reachable_types([*entities, *used])),
            *(text for comdat, text in self._comdats.items() if comdat in comdats),
            *(e.text for e in entities),
            *(e.text for e in used),
            *(text for attribute, text in self._attributes.items() if attribute in attributes),
            *(f"{name} = !{{{', '.join(operands)}}}" for name, operands in named),
            *(f"{node} = {self._metadata[node]}" for node in sorted(metadata, key=lambda node: int(node[1:]))),
            "",
        ]
        text = "\n".join(lines)
        if rename:
            text = _SYMBOL_OR_SKIPPED.sub(lambda m: f"@{rename[m[1]]}" if m[1] in rename else m[0], text)
        return text

    def _reachable_types(self, entities: Iterable[_Entity]) -> list[str]:
        reached: set[str] = set()
        pending = {t for e in entities for t in e.types}
        while pending:
            reached |= pending
            pending = {t for name in pending for t in self._types[name].types} - reached
        return [t for t in self._types if t in reached]

    def _reachable_metadata(self, roots: Iterable[str]) -> set[str]:
        reached: set[str] = set()
        pending = {root for root in roots if root in self._metadata}
        while pending:
            reached |= pending
            pending = {m for node in pending for m in self._metadata_references(node)} - reached
        return reached

    def _metadata_references(self, node: str) -> frozenset[str]:
        references = self._metadata_cache.get(node)
        if references is None:
            references = self._tokenize(self._metadata[node]).metadata
            self._metadata_cache[node] = references
        return references

    @cached_property
    def _metadata_cache(self) -> dict[str, frozenset[str]]:
        return {}

    def _restricted_named_metadata(
        self, held: frozenset[str], entities: Iterable[_Entity]
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Named metadata without the operands that concern what the shard does not hold."""
        for name, operands in self._named_metadata.items():
            if name == "!llvm.dbg.cu":
                reached = self._reachable_metadata({m for e in entities for m in e.metadata})
                kept = tuple(o for o in operands if o in reached)
                if not kept:
                    continue
            else:
                kept = tuple(o for o in operands if held.issuperset(_symbols_in(self._metadata.get(o, ""))))
            yield name, kept


def outline_llvm_ir(text: str, name: str = "input") -> LlvmOutline:
    """Takes a module of textual LLVM IR apart.

    Args:
        text: the module, in the form in which LLVM prints one.
        name: what messages call it.

    Raises:
        NotInPrintedFormError: the text is in another form; parse and print it with LLVM first.
    """
    if _NEEDLESS_QUOTES.search(text):
        raise NotInPrintedFormError("names are quoted that need not be")
    lines = _entities(text)
    types = dict(_split_definition(line) for line in lines["type"])
    metadata = dict(_split_definition(line) for line in lines["metadata"])
    named = {n: tuple(re.findall(r"[^\s,][^,]*", v[2:-1])) for n, v in map(_split_definition, lines["named"])}
    used = tuple(line for line in lines["symbol"] if _USED.match(line))
    host_named = {symbol for line in used for symbol in _symbols_in(line.split(" = ", 1)[1])}
    kernels = set(_annotated_kernels(metadata[o] for o in named.get("!nvvm.annotations", ()) if o in metadata))
    tokenize = _Tokenizer({f"%{t[1:]}" for t in types})

    symbols: dict[str, Symbol] = {}
    entities: dict[str, _Entity] = {}
    whole_reason = "it has module-level assembly" if lines["asm"] else None
    for line in lines["symbol"]:
        header = _VARIABLE_HEADER.fullmatch(line)
        if header is None:
            raise NotInPrintedFormError(line[:120])
        if _USED.match(line):
            continue
        if header["keyword"] == "ifunc" or header["name"] in ("llvm.global_ctors", "llvm.global_dtors"):
            whole_reason = f"it has {header['keyword']} @{header['name']}"
        symbol, entity = _variable(header, tokenize(line), header["name"] in host_named)
        symbols[symbol.name], entities[symbol.name] = symbol, entity
    for line in (*lines["declare"], *lines["define"]):
        header = _FUNCTION_HEADER.match(line)
        if header is None:
            raise NotInPrintedFormError(line.split("\n", 1)[0][:120])
        symbol, entity = _function(header, tokenize(line), header["name"] in kernels)
        symbols[symbol.name], entities[symbol.name] = symbol, entity
    for symbol in list(symbols.values()):
        # What inline assembly mentions is a reference where it is the name of a symbol.
        unknown = symbol.references - symbols.keys()
        if unknown:
            if " asm " not in entities[symbol.name].text:
                raise NotInPrintedFormError(f"@{sorted(unknown)[0]} is not declared")
            symbols[symbol.name] = replace(
                symbol, references=symbol.references - unknown, addresses=symbol.addresses - unknown
            )
    for symbol_name, entity in entities.items():
        header = _VARIABLE_HEADER.fullmatch(entity.text)
        if header is not None and header["keyword"] == "alias":
            aliasees = [symbols[r] for r in symbols[symbol_name].references]
            if any(a.kind is not SymbolKind.FUNCTION for a in aliasees):
                whole_reason = f"@{symbol_name} is an alias of something other than a device function"
    return LlvmOutline(
        name=name,
        symbols=symbols,
        whole_reason=whole_reason,
        _text=text,
        _tokenize=tokenize,
        _header=tuple(lines["target"]),
        _symbol_entities=entities,
        _types={t: replace(tokenize(v), text=f"{t} = {v}") for t, v in types.items()},
        _comdats={n: f"{n} = {v}" for n, v in map(_split_definition, lines["comdat"])},
        _attributes={line.split(" ", 2)[1]: line for line in lines["attributes"]},
        _metadata=metadata,
        _named_metadata=named,
        _used=used,
    )


def plain_name(name: str) -> str:
    """The symbol's name without quotes and with its `\\xx` escapes resolved."""
    if not name.startswith('"'):
        return name
    raw = re.sub(rb"\\([0-9a-fA-F]{2})", lambda m: bytes([int(m[1], 16)]), name[1:-1].encode())
    return raw.replace(rb"\\", b"\\").decode(errors="backslashreplace")


def _entities(text: str) -> Mapping[str, list[str]]:
    """The top-level entities by kind, in order."""
    found: dict[str, list[str]] = defaultdict(list)
    position, end = 0, len(text)
    while position < end:
        line = _LINE.match(text, position)
        stop = line.end() if line else position
        if line is None or (stop < end and text[stop] != "\n"):
            raise NotInPrintedFormError(text[position : position + 120].split("\n", 1)[0])
        kind = line.lastgroup or ""
        if kind == "define":
            stop = text.find("\n}\n", stop - 1)
            if stop < 0:
                if not text.endswith("\n}"):
                    raise NotInPrintedFormError("a function does not end")
                stop = end - 2
            stop += 2
            found[kind].append(text[position:stop])
        elif kind != "dropped":
            found[kind].append(line[0])
        position = stop + 1
    # A body that does not end with a line `}` has swallowed what follows it.
    if text.count("define ") != len(found["define"]) or text.count("attributes #") != len(found["attributes"]):
        raise NotInPrintedFormError("a function does not end with a line of its own")
    return found


def _split_definition(line: str) -> tuple[str, str]:
    match = re.match(rf"([%@$!]{_NAME}|!\S+) = ", line)
    assert match is not None
    return match[1], line[match.end() :]


def _symbols_in(text: str) -> list[str]:
    return [m[1] for m in _SYMBOL_OR_SKIPPED.finditer(text) if m[1]]


def _annotated_kernels(annotations: Iterable[str]) -> Iterator[str]:
    """Kernels of `!{ptr @f, !"kernel", i32 1}` (NVPTX usage guide, older producers)."""
    for annotation in annotations:
        if re.search(r'!"kernel", i32 1\b', annotation):
            yield from _symbols_in(annotation)[:1]


def _binding(prefix: str, comdat: bool) -> Binding:
    linkage = _LINKAGE.search(prefix)
    match linkage[0] if linkage else "external":
        case "private" | "internal":
            return Binding.LOCAL
        case "linkonce" | "linkonce_odr" | "available_externally":
            return Binding.DISCARDABLE
        case "weak" | "weak_odr" | "common" | "extern_weak":
            return Binding.WEAK
        case _:
            return Binding.WEAK if comdat else Binding.STRONG


def _function(header: re.Match[str], entity: _Entity, annotated: bool) -> tuple[Symbol, _Entity]:
    name = header["name"]
    kernel = bool(header["kernel"]) or annotated
    defined = entity.text.startswith("define")
    entity = replace(entity, comdats=entity.comdats | {f"${name}"})  # a plain `comdat` means the symbol's own
    symbol = Symbol(
        name=name,
        kind=SymbolKind.KERNEL if kernel else SymbolKind.FUNCTION,
        defined=defined,
        binding=_binding(header["prefix"], " comdat" in entity.text.split("\n", 1)[0]),
        references=(entity.calls | entity.mentions) - {name} if defined else frozenset(),
        addresses=entity.mentions if defined else frozenset(),
        calls_indirectly=entity.calls_indirectly and defined and _calls_indirectly(entity.text),
        cost=len(entity.text) if defined else 0,
    )
    return symbol, entity


def _calls_indirectly(text: str) -> bool:
    """Whether a call's callee is a value. The tokens `%x(` and `)(` also occur in the header and in asm operands."""
    return re.search(r"\bcall(?:br)? [^\n]*(?:%[-\w$.]+|%\"[^\"]*\"|\))\(", text) is not None


def _variable(header: re.Match[str], entity: _Entity, host_named: bool) -> tuple[Symbol, _Entity]:
    name, prefix, keyword = header["name"], header["prefix"], header["keyword"]
    if keyword in ("alias", "ifunc"):
        text = _with_linkage(entity.text, "internal")
        entity = replace(entity, text=re.sub(r"(= internal )(?:(?:dso_local|hidden|protected) )+", r"\1", text))
        references = entity.mentions - {name}
        return Symbol(name, SymbolKind.FUNCTION, True, Binding.LOCAL, references, cost=len(entity.text)), entity
    defined = not re.search(r"\b(?:external|extern_weak)\b", prefix)
    entity = replace(entity, comdats=entity.comdats | {f"${name}"})
    binding = _binding(prefix, ", comdat" in entity.text)
    space = (_ADDRESS_SPACE.search(prefix) or [None, "0"])[1]
    if space == _SHARED:
        if defined:
            entity = replace(entity, text=_as_private_copy(entity.text), comdats=frozenset())
        sharing, binding = Sharing.COPY, Binding.LOCAL if defined else binding
    elif binding is Binding.DISCARDABLE and not host_named:
        changes = keyword == "global" or "externally_initialized" in prefix
        sharing = Sharing.MERGE if changes else Sharing.COPY
    elif host_named or "externally_initialized" in prefix or binding is not Binding.LOCAL:
        sharing = Sharing.ONCE
    elif keyword == "constant":
        sharing = Sharing.COPY_UNLESS_LINKED if space == _CONSTANT else Sharing.COPY
    else:
        sharing = Sharing.ONCE_RENAMED
    symbol = Symbol(
        name=name,
        kind=SymbolKind.VARIABLE,
        defined=defined,
        binding=binding,
        references=(entity.calls | entity.mentions) - {name},
        addresses=entity.mentions - {name},
        sharing=sharing,
        in_constant_bank=space == _CONSTANT,
        cost=len(entity.text) if defined else 0,
    )
    return symbol, entity


def _with_linkage(text: str, linkage: str) -> str:
    """The variable's definition with another linkage, visible in the default way."""
    header = _VARIABLE_HEADER.fullmatch(text)
    assert header is not None
    words = re.sub(rf"\b(?:{_LINKAGES}|hidden|protected|default|dso_preemptable|dso_local) ", "", header["prefix"])
    # `external` is only written out for declarations.
    spelled = "" if linkage == "external" else f"{linkage} "
    return f"@{header['name']} = {spelled}{words}{header['keyword']} {header['rest']}"


def _as_private_copy(text: str) -> str:
    """Shared memory belongs to each kernel that reaches it: a definition that meets no other of its name."""
    return re.sub(r", comdat(?:\(\$[^)]*\))?", "", _with_linkage(text, "internal"))


def _declaration(text: str) -> str:
    """The declaration of a variable whose definition another shard holds."""
    header = _VARIABLE_HEADER.fullmatch(text)
    assert header is not None
    words = re.sub(
        rf"\b(?:{_LINKAGES}|hidden|protected|default|dso_local|dso_preemptable|unnamed_addr|local_unnamed_addr) ",
        "",
        header["prefix"],
    )
    rest = header["rest"]
    alignment = re.search(r", align \d+", rest[_type_end(rest) :])
    suffix = alignment[0] if alignment else ""
    return f"@{header['name']} = external {words}{header['keyword']} {rest[: _type_end(rest)]}{suffix}"


def _type_end(text: str) -> int:
    """Where the type that `text` starts with ends."""
    depth, position = 0, 0
    for token in re.finditer(r'"[^"]*"|[\[\]{}<>()]|[ ,]', text):
        position = token.start()
        if token[0] in "[{<(":
            depth += 1
        elif token[0] in "]}>)":
            depth -= 1
        elif depth == 0 and token[0] in " ," and not text.startswith(" addrspace(", position):
            return position
    return len(text)


def _restricted_list(text: str, define: frozenset[str]) -> str:
    """`llvm.used` or `llvm.compiler.used` with the elements that the shard defines; empty when there is none."""
    header, elements = text.split(" = ", 1)
    body = re.search(r"\[\d+ x ptr\] \[(.*)\](, section .*)?$", elements)
    kept = [
        e
        for e in re.findall(
            r"ptr (?:addrspacecast \([^@]*@" + _NAME + r"[^)]*\)|@" + _NAME + ")", body[1] if body else ""
        )
        if define.issuperset(_symbols_in(e))
    ]
    if not kept:
        return ""
    return f'{header} = appending global [{len(kept)} x ptr] [{", ".join(kept)}], section "llvm.metadata"'
