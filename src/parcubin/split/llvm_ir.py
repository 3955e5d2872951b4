"""Outline of textual LLVM IR."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

from parcubin.split.cost import LLVM_DATA, LLVM_KERNEL, llvm_copy_cost, llvm_declaration_copy_cost, llvm_function_cost
from parcubin.split.llvm_global import LINKAGES, Global
from parcubin.split.llvm_metadata import Metadata
from parcubin.split.llvm_text import (
    NAME,
    Entity,
    NotInPrintedFormError,
    Tokenizer,
    cut,
    local_ptx_name,
    plain_name,
    renamed,
    symbols_in,
)
from parcubin.split.outline import Binding, Sharing, Symbol, SymbolKind

__all__ = ["LlvmOutline", "NotInPrintedFormError", "outline_llvm_ir"]

FUNCTION_HEADER = re.compile(
    rf"(?:define|declare)(?: ![-\w$.\\]+ !\d+)*"
    rf"(?P<words>(?: (?:{LINKAGES}|dso_local|dso_preemptable|default|hidden|protected|dllimport|dllexport)\b)*+)"
    rf'(?P<kernel> (?:ptx_kernel|cc ?71)\b)?+(?= \S)(?:[^\n"@]++|"[^"\n]*+")*+@(?P<name>{NAME})\(',
    re.A,
)
_LINKAGE = re.compile(rf"\b(?:{LINKAGES})\b")
_LOCAL = ("private", "internal")
_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_COMPILER_USED = "llvm.compiler.used"
_USED_LISTS = ("llvm.used", _COMPILER_USED)
_RUN_AT_START = ("llvm.global_ctors", "llvm.global_dtors")
_PIECE_OF_LIST = re.compile(r'"[^"]*"|[()\[\],]')

_SHARED, _CONSTANT = 3, 4


@dataclass(frozen=True, eq=False)
class LlvmOutline:
    """A module of textual LLVM IR, taken apart. Implements `Outline`."""

    name: str
    symbols: Mapping[str, Symbol]
    whole_reason: str | None
    _text: str = field(repr=False)
    _tokenize: Tokenizer = field(repr=False)
    _header: tuple[str, ...] = field(repr=False)
    _entities: Mapping[str, Entity] = field(repr=False)
    _types: Mapping[str, Entity] = field(repr=False)
    _comdats: Mapping[str, str] = field(repr=False)
    _attributes: Mapping[str, str] = field(repr=False)
    _metadata: Metadata = field(repr=False)
    _used: Mapping[str, tuple[str, ...]] = field(repr=False)
    _named_by_assembly: Mapping[str, frozenset[str]] = field(repr=False)

    @property
    def dialect(self) -> str:
        """LLVM links modules with each other, whatever their environment."""
        return "LLVM IR"

    def plain_name(self, name: str) -> str:
        symbol = self.symbols[name]
        if symbol.kind is SymbolKind.VARIABLE and symbol.binding is Binding.LOCAL:
            return local_ptx_name(name)
        return plain_name(name)

    def with_other_names(self, names: Set[str]) -> LlvmOutline:
        """The module with other names for some of its local variables, which no C identifier can be."""
        new: dict[str, str] = {}
        for name in sorted(names):
            stem = local_ptx_name(name) if not name[0].isdigit() else f"_{name}"
            new[name] = next(n for n in (f"{stem}.{i}" for i in count(1)) if n not in self.symbols)
        return outline_llvm_ir(renamed(self._text, new), self.name)

    @cached_property
    def environment(self) -> str:
        """What must be equal for parts of two modules to be lowered together: target lines and module flags."""
        return "\n".join([*self._header, *self._metadata.flags()])

    def render(self, define: frozenset[str], declare: frozenset[str], rename: Mapping[str, str]) -> str:
        if self.whole_reason is not None:
            return self._text
        held = (define | declare).union(*(self.symbols[name].references for name in define))
        entities = [self._held(name, define, rename) for name in sorted(held, key=self._position.__getitem__)]
        used = list(map(self._tokenize, self._used_lists(define)))
        metadata = self._metadata.render({m for e in entities for m in e.metadata}, held)
        with_types = [*entities, *used, *(self._tokenize(line) for line in metadata if "%" in line)]
        lines = [
            *self._header,
            *self._type_lines(t for e in with_types for t in e.types),
            # A plain `comdat` means the symbol's own.
            *_sorted_values(self._comdats, {f"${name}" for name in held}.union(*(e.comdats for e in entities))),
            *(e.text for e in entities),
            *(e.text for e in used),
            *_sorted_values(self._attributes, {a for e in entities for a in e.attributes}),
            *metadata,
            "",
        ]
        text = "\n".join(lines)
        names = {name: new for name, new in rename.items() if name in held}
        return renamed(text, names) if names else text

    @cached_property
    def _position(self) -> Mapping[str, int]:
        return {name: position for position, name in enumerate(self._entities)}

    def _held(self, name: str, define: frozenset[str], rename: Mapping[str, str]) -> Entity:
        entity = self._entities[name]
        if self.symbols[name].defined:
            if name not in define:
                return self._tokenize(self._declaration(name))
            if name in rename:
                return replace(entity, text=Global.parse(entity.text).definition("external"))
        return entity

    def _declaration(self, name: str) -> str:
        """The declaration of a variable that another part defines. A weak definition may not be the one that counts."""
        variable, symbol = Global.parse(self._entities[name].text), self.symbols[name]
        constant = variable.keyword == "constant" and not variable.externally_initialized
        if constant and symbol.binding in (Binding.STRONG, Binding.LOCAL) and not symbol.references:
            return variable.declaration_with_value()
        return variable.declaration()

    def _type_lines(self, roots: Iterable[str]) -> list[str]:
        reached: set[str] = set()
        pending = list(roots)
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending.extend(self._types[name].types)
        return [f"{name} = {self._types[name].text}" for name in sorted(reached)]

    def _used_lists(self, define: frozenset[str]) -> Iterator[str]:
        """`llvm.used` and `llvm.compiler.used` with the elements that the part defines, and with what it only declares
        and LLVM does not see the uses of."""
        used = {name: [e for e in self._used[name] if define.issuperset(symbols_in(e))] for name in _USED_LISTS}
        named = {n for name in define & self._named_by_assembly.keys() for n in self._named_by_assembly[name]}
        used[_COMPILER_USED] += [
            _as_element(Global.parse(self._entities[name].text))
            for name in sorted(named - define)
            if self.symbols[name].kind is SymbolKind.VARIABLE
        ]
        for name, elements in used.items():
            if elements:
                yield (
                    f"@{name} = appending global [{len(elements)} x ptr] [{', '.join(elements)}], "
                    'section "llvm.metadata"'
                )


def outline_llvm_ir(text: str, name: str = "input") -> LlvmOutline:
    """Takes a module of textual LLVM IR apart.

    Args:
        text: the module, in the form in which LLVM prints one.
        name: what messages call it.

    Raises:
        NotInPrintedFormError: the text is in another form; parse and print it with LLVM first.
    """
    module = cut(text)
    metadata = Metadata(module.metadata, module.named_metadata)
    tokenize = Tokenizer(module.types.keys())
    globals_ = {name: Global.parse(line) for name, line in module.globals.items()}
    used = {name: _elements(globals_[name]) if name in globals_ else () for name in _USED_LISTS}
    host_named = {symbol for elements in used.values() for element in elements for symbol in symbols_in(element)}
    kernels = metadata.annotated_kernels()
    not_inlined = frozenset(name for name, words in module.attributes.items() if " noinline " in words)

    symbols: dict[str, Symbol] = {}
    entities: dict[str, Entity] = {}
    for global_name, global_ in globals_.items():
        if global_name.startswith("llvm.") and global_name not in _RUN_AT_START:
            continue  # never in PTX
        line = module.globals[global_name]
        for_host = global_name in host_named or global_.is_host_initialized
        if global_.linkage in ("extern_weak", "available_externally"):
            line = global_.declaration()  # LLVM would define the one in PTX, and without optimisation the other
        elif global_.linkage == "linkonce":
            line = global_.definition("weak")  # definitions may differ, so it has to be the same one for all
        elif for_host and global_.space != _SHARED and global_.linkage in _LOCAL and _IDENTIFIER.fullmatch(global_name):
            line = global_.definition("external")  # so that no other symbol of its name makes LLVM rename it
        entity = entities[global_name] = tokenize(line)
        if entity.has_comment:
            raise NotInPrintedFormError(line[:120])
        symbols[global_name] = _global(Global.parse(line), entity, for_host)
    for function in module.functions:
        header = FUNCTION_HEADER.match(function)
        if header is None or header["name"] in symbols or "\t" in function[: function.find("\n")]:
            raise NotInPrintedFormError(function.split("\n", 1)[0][:120])
        entity = entities[header["name"]] = tokenize(function)
        symbols[header["name"]] = _function(header, entity, header["name"] in kernels, not_inlined)
    named_by_assembly = _named_by_assembly(symbols, entities)
    _add_hidden_references(symbols, entities, metadata, named_by_assembly)
    used[_COMPILER_USED] += tuple(
        _as_element(g) for g in globals_.values() if g.is_host_initialized and g.name not in host_named
    )
    return LlvmOutline(
        name=name,
        symbols=symbols,
        whole_reason=(
            "it has module-level assembly"
            if module.assembly
            else _whole_reason(globals_, symbols, frozenset().union(*named_by_assembly.values()))
        ),
        _text=text,
        _tokenize=tokenize,
        _header=tuple(module.targets),
        _entities=entities,
        _types={name: tokenize(definition) for name, definition in module.types.items()},
        _comdats={name: f"{name} = {definition}" for name, definition in module.comdats.items()},
        _attributes=module.attributes,
        _metadata=metadata,
        _used=used,
        _named_by_assembly=named_by_assembly,
    )


def _function(header: re.Match[str], entity: Entity, annotated: bool, not_inlined: Set[str]) -> Symbol:
    name = header["name"]
    is_kernel = annotated or header["kernel"] is not None
    defined = entity.text.startswith("define")
    signature = entity.text[header.end() : entity.text.find("\n")]
    return Symbol(
        name=name,
        kind=SymbolKind.KERNEL if is_kernel else SymbolKind.FUNCTION,
        defined=defined,
        binding=_binding(name, _linkage(header["words"]), " comdat" in signature),
        references=(entity.calls | entity.mentions) - {name} if defined else frozenset(),
        addresses=entity.mentions if defined else frozenset(),
        calls_indirectly=entity.calls_indirectly and defined,
        cost=llvm_function_cost(entity.text) + LLVM_KERNEL * is_kernel if defined else 0,
        copy_cost=llvm_copy_cost(entity.text) if defined else llvm_declaration_copy_cost(name),
        calls=_calls(name, entity.text[header.end() :], entity) if defined else {},
        never_inlined=" noinline" in signature or not not_inlined.isdisjoint(entity.attributes),
    )


def _calls(name: str, body: str, entity: Entity) -> dict[str, int]:
    counts = {callee: body.count(f"@{callee}(") for callee in entity.calls if not callee.startswith("llvm.")}
    if not counts.get(name):
        counts.pop(name, None)  # its own head names it, too
    return counts


def _global(global_: Global, entity: Entity, for_host: bool) -> Symbol:
    name = global_.name
    is_variable = global_.keyword in ("global", "constant")
    binding = _binding(name, global_.linkage, global_.in_comdat)
    references = (entity.calls | entity.mentions) - {name} if global_.defined else frozenset()
    return Symbol(
        name=name,
        kind=SymbolKind.VARIABLE if is_variable else SymbolKind.FUNCTION,
        defined=global_.defined,
        binding=binding,
        references=references,
        addresses=references if is_variable else frozenset(),
        sharing=_sharing(global_, binding, for_host) if is_variable else Sharing.COPY,
        in_constant_bank=is_variable and global_.space == _CONSTANT,
        is_alias=global_.keyword == "alias",
        cost=round(LLVM_DATA * len(entity.text)) if global_.defined else 0,
        calls={} if is_variable else dict.fromkeys(references, 1),
    )


def _sharing(variable: Global, binding: Binding, for_host: bool) -> Sharing:
    if variable.space == _SHARED:
        return Sharing.COPY
    if for_host:
        return Sharing.ONCE
    changes = variable.keyword == "global"
    if binding is Binding.DISCARDABLE and changes:
        return Sharing.MERGE
    if binding not in (Binding.LOCAL, Binding.DISCARDABLE):
        return Sharing.ONCE
    if changes:
        return Sharing.ONCE_RENAMED
    return Sharing.COPY_UNLESS_LINKED if variable.space == _CONSTANT else Sharing.COPY


def _linkage(words: str) -> str:
    found = _LINKAGE.search(words)
    return found[0] if found else "external"


def _binding(name: str, linkage: str, comdat: bool) -> Binding:
    match linkage:
        case _ if linkage in _LOCAL or name.isdigit():  # nobody can name a number from outside
            return Binding.LOCAL
        case "linkonce_odr" | "available_externally":
            return Binding.DISCARDABLE
        case "linkonce" | "weak" | "weak_odr" | "common" | "extern_weak":
            return Binding.WEAK
        case _:
            return Binding.WEAK if comdat else Binding.STRONG


def _named_by_assembly(symbols: Mapping[str, Symbol], entities: Mapping[str, Entity]) -> dict[str, frozenset[str]]:
    """For each function, the symbols that its inline assembly may name."""
    with_assembly = {name: entity.assembly_names for name, entity in entities.items() if entity.assembly_names}
    if not with_assembly:
        return {}
    by_ptx_name = {_ptx_name(symbol): name for name, symbol in symbols.items()}
    named = {
        name: frozenset(by_ptx_name[word] for word in words if word in by_ptx_name) - {name}
        for name, words in with_assembly.items()
    }
    return {name: others for name, others in named.items() if others}


def _add_hidden_references(
    symbols: dict[str, Symbol],
    entities: Mapping[str, Entity],
    metadata: Metadata,
    named_by_assembly: Mapping[str, frozenset[str]],
) -> None:
    """Adds what inline assembly and metadata name, and checks that all that is named exists."""
    for name, entity in entities.items():
        symbol = symbols[name]
        if not symbol.defined:
            continue
        hidden = named_by_assembly.get(name, frozenset()).union(
            *(metadata.symbols[node] for node in entity.metadata if node in metadata.symbols)
        ) - {name}
        if hidden:
            symbols[name] = symbol = replace(
                symbol, references=symbol.references | hidden, addresses=symbol.addresses | hidden
            )
        for reference in symbol.references:
            if reference not in symbols:
                raise NotInPrintedFormError(f"@{reference} is not declared")


def _ptx_name(symbol: Symbol) -> str:
    return local_ptx_name(symbol.name) if symbol.binding is Binding.LOCAL else plain_name(symbol.name)


def _whole_reason(
    globals_: Mapping[str, Global], symbols: Mapping[str, Symbol], named_by_assembly: frozenset[str]
) -> str | None:
    for name, global_ in globals_.items():
        if name in _RUN_AT_START or global_.keyword == "ifunc":
            return f"it has @{name}"
        if global_.keyword == "alias" and any(
            symbols[r].kind is not SymbolKind.FUNCTION for r in symbols[name].references
        ):
            return f"@{name} is an alias of something other than a device function"
    for name in sorted(named_by_assembly):
        if symbols[name].sharing in (Sharing.ONCE_RENAMED, Sharing.COPY_UNLESS_LINKED):
            return f"inline assembly names @{name}"
    return None


def _elements(used: Global) -> tuple[str, ...]:
    """The elements of `llvm.used` or `llvm.compiler.used`."""
    _, _, initial = used.rest.partition("] [")
    elements: list[str] = []
    depth = start = 0
    for piece in _PIECE_OF_LIST.finditer(initial):
        if piece[0] in "([":
            depth += 1
        elif depth == 0 and piece[0] in ",]":
            elements.append(initial[start : piece.start()].strip())
            start = piece.end()
            if piece[0] == "]":
                break
        elif piece[0] in ")]":
            depth -= 1
    return tuple(elements)


def _as_element(variable: Global) -> str:
    """The variable as an element of `llvm.compiler.used`."""
    if variable.space == 0:
        return f"ptr @{variable.name}"
    return f"ptr addrspacecast (ptr addrspace({variable.space}) @{variable.name} to ptr)"


def _sorted_values(entities: Mapping[str, str], names: Iterable[str]) -> list[str]:
    return [entities[name] for name in sorted(names) if name in entities]
