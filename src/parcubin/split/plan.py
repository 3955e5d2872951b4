"""The plan: which kernels make a shard, and where each variable is defined.

The plan depends on the program and on the kind of output alone, never on the number of workers. It does not know which
format it works on.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from parcubin.errors import DuplicateSymbolError
from parcubin.split.grouping import Grouping, Member
from parcubin.split.outline import Binding, Outline, Sharing, Symbol, SymbolKind

PlanKind = Literal["bundle", "link", "relocatable"]

Node = tuple[int, str]
"""A symbol of one module of the program: the module's index and the symbol's name there."""


@dataclass(frozen=True)
class ShardPart:
    """What a shard takes from one module.

    Attributes:
        module: index of the module.
        define: symbols defined in the shard.
        declare: variables that are only declared here because another shard, or another part, defines them.
    """

    module: int
    define: frozenset[str]
    declare: frozenset[str]


@dataclass(frozen=True)
class Shard:
    """A self-contained part of the program.

    Attributes:
        kernels: its kernels, sorted, as messages and CUBINs name them; none in the shard of variables that no kernel
            holds.
        exports: device functions that stay callable from outside.
        parts: what it takes from each module.
        constants: it refers to the constant bank.
        pointers: it takes the addresses of functions or calls through pointers.
        cost: predicted work, in characters of text.
    """

    kernels: tuple[str, ...]
    exports: tuple[str, ...]
    parts: tuple[ShardPart, ...]
    constants: bool
    pointers: bool
    cost: int


@dataclass(frozen=True)
class Plan:
    """The shards, in the order in which they are linked.

    Attributes:
        shards: variables that no kernel holds first, then by kernel name.
        rename: for each module, the names of its variables that several shards share.
        variables: every variable that the host may name.
        mergeable: variables of which every shard that refers to them has a definition, to be merged by the linker.
    """

    shards: tuple[Shard, ...]
    rename: tuple[Mapping[str, str], ...]
    variables: frozenset[str]
    mergeable: frozenset[str]


def plan_shards(
    outlines: Sequence[Outline],
    kind: PlanKind,
    *,
    split: bool = True,
    once: Set[str] = frozenset(),
) -> Plan:
    """Plans a program.

    Args:
        outlines: the program's modules.
        kind: "bundle": shards that stand alone; "link": shards of one linked CUBIN; "relocatable": likewise, with the
            modules' external device functions kept callable.
        split: False for one shard.
        once: names of mergeable variables that turned out to survive optimisation in several shards of a bundle, where
            nothing merges them: their users are planned into one shard.

    Raises:
        DuplicateSymbolError: two modules define a symbol strongly.
    """
    graph = _Graph(outlines)
    whole = [m for m, o in enumerate(outlines) if o.whole_reason is not None]
    roots = _roots(graph, kind)
    reached = {root: graph.closure([root]) for root in roots}
    users: dict[int, list[int]] = defaultdict(list)
    for root in roots:
        for node in reached[root]:
            users[node].append(root)

    sets = _DisjointSets(roots)
    sets.join(r for r in roots if any(graph.handles_function_pointers(n) for n in reached[r]))
    for root in roots:
        if graph.symbol[root].is_alias:
            sets.join([root, *(n for n in graph.successors(root) if n in reached)])
    if not split:
        sets.join(roots)
    for module in whole:
        sets.join(r for r in roots if any(graph.nodes[n][0] == module for n in reached[r]))
    for node, node_users in users.items():
        if graph.symbol[node].kind is SymbolKind.KERNEL or (
            graph.is_single(node, kind, once) and (kind == "bundle" or not graph.can_be_shared(node))
        ):
            sets.join(node_users)
    shared = {
        node
        for node, node_users in users.items()
        if graph.is_single(node, kind, once) and len({sets.find(user) for user in node_users}) > 1
    }

    components: dict[int, list[int]] = defaultdict(list)
    for root in roots:
        components[sets.find(root)].append(root)
    lone_variables: dict[str, set[int]] = defaultdict(set)
    for node in shared:
        lone_variables[graph.dialect(node)].add(node)
    by_environment: dict[str, list[Member]] = defaultdict(list)
    for roots_of_one in components.values():
        if all(graph.symbol[r].kind is SymbolKind.VARIABLE for r in roots_of_one):
            lone_variables[graph.dialect(roots_of_one[0])].update(roots_of_one)
        else:
            environment = outlines[graph.nodes[roots_of_one[0]][0]].environment
            by_environment[environment].append(graph.member(roots_of_one, shared))
    grouping = Grouping(graph.plain_name, lambda node: graph.symbol[node].cost, lambda node: graph.closure([node]))
    shards = [
        _shard(graph, group, shared)
        for environment in sorted(by_environment)
        for group in grouping.groups(by_environment[environment])
    ]
    shards.sort(key=lambda s: (s.kernels, s.exports))
    shards[:0] = [
        _shard(graph, [graph.member(sorted(variables), set())], set())
        for _, variables in sorted(lone_variables.items())
    ]
    rename: list[dict[str, str]] = [{} for _ in outlines]
    for node in sorted(shared):
        module, name = graph.nodes[node]
        if graph.symbol[node].binding is Binding.LOCAL:
            rename[module][name] = graph.visible_name(node)
    if kind != "bundle":
        for node, name in graph.distinct_names().items():
            module, old = graph.nodes[node]
            rename[module][old] = name
    return Plan(
        shards=tuple(shards),
        rename=tuple(rename),
        variables=frozenset(graph.plain_name(n) for n in range(len(graph.nodes)) if graph.is_host_variable(n)),
        mergeable=frozenset(graph.plain_name(n) for n in users if graph.symbol[n].sharing is Sharing.MERGE),
    )


@dataclass
class _Graph:
    """The symbols of all modules, with references resolved across modules."""

    outlines: Sequence[Outline]

    def __post_init__(self) -> None:
        self.nodes: list[Node] = [(m, s) for m, o in enumerate(self.outlines) for s in o.symbols]
        self.symbol: list[Symbol] = [self.outlines[m].symbols[s] for m, s in self.nodes]
        index = {node: i for i, node in enumerate(self.nodes)}
        self._definition = self._strongest_definitions()
        self._local_names = Counter(self.plain_name(i) for i, s in enumerate(self.symbol) if s.defined)
        self._successors: list[list[int]] = []
        self.called_across_dialects: set[int] = set()
        for i, (module, _) in enumerate(self.nodes):
            symbol = self.symbol[i]
            successors = [index[module, r] for r in symbol.references] if symbol.defined else []
            if not self.is_own_definition(i) and (definition := self.definition(i)) is not None:
                if self.dialect(definition) == self.dialect(i):
                    successors.append(definition)
                else:
                    self.called_across_dialects.add(definition)
            self._successors.append(successors)

    def _strongest_definitions(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for i, symbol in enumerate(self.symbol):
            if not symbol.defined or symbol.binding is Binding.LOCAL:
                continue
            other = found.setdefault(self.plain_name(i), i)
            if other == i:
                continue
            if symbol.binding is Binding.STRONG and self.symbol[other].binding is Binding.STRONG:
                names = [self.outlines[self.nodes[n][0]].name for n in (other, i)]
                what = "kernel" if symbol.kind is SymbolKind.KERNEL else symbol.kind.name.lower()
                raise DuplicateSymbolError(
                    f"The {what} '{self.plain_name(i)}' is defined twice: in {names[0]} and in {names[1]}. "
                    "Rename one of them, or leave one input out.",
                    kernels=[self.plain_name(i)] if symbol.kind is SymbolKind.KERNEL else [],
                    input_name=names[1],
                )
            if symbol.binding is Binding.STRONG or self.symbol[other].binding is Binding.DISCARDABLE:
                found[self.plain_name(i)] = i
        return found

    def definition(self, i: int) -> int | None:
        """The node that defines what node `i` names; None when no module does."""
        if self.symbol[i].binding is Binding.LOCAL:
            return i
        return self._definition.get(self.plain_name(i))

    def is_own_definition(self, i: int) -> bool:
        """Whether the module's own definition serves: it is the program's, or equal to it (`linkonce`)."""
        symbol = self.symbol[i]
        if symbol.defined and symbol.binding is Binding.DISCARDABLE and symbol.sharing is not Sharing.ONCE:
            return True
        return self.definition(i) == i

    def plain_name(self, i: int) -> str:
        module, name = self.nodes[i]
        return self.outlines[module].plain_name(name)

    def successors(self, i: int) -> Sequence[int]:
        """What a node refers to directly."""
        return self._successors[i]

    def dialect(self, i: int) -> str:
        return self.outlines[self.nodes[i][0]].dialect

    def closure(self, roots: Iterable[int], stop: Set[int] = frozenset()) -> set[int]:
        """Everything that the roots reach; what `stop` holds is reached and not passed through."""
        reached: set[int] = set()
        pending = list(roots)
        while pending:
            node = pending.pop()
            if node not in reached:
                reached.add(node)
                if node not in stop:
                    pending.extend(self._successors[node])
        return reached

    def member(self, roots: Sequence[int], shared: Set[int]) -> Member:
        return Member(
            name=min(map(self.plain_name, roots)),
            reached=frozenset(self.closure(roots, stop=shared)),
            own=frozenset(roots),
        )

    def handles_function_pointers(self, i: int) -> bool:
        symbol = self.symbol[i]
        module = self.nodes[i][0]
        symbols = self.outlines[module].symbols
        return symbol.calls_indirectly or any(symbols[a].kind is SymbolKind.FUNCTION for a in symbol.addresses)

    def is_host_variable(self, i: int) -> bool:
        symbol = self.symbol[i]
        return (
            symbol.kind is SymbolKind.VARIABLE
            and symbol.defined
            and symbol.sharing is Sharing.ONCE
            and self.definition(i) == i
        )

    def is_single(self, i: int, kind: PlanKind, once: Set[str]) -> bool:
        """Whether one shard alone may define the variable."""
        symbol = self.symbol[i]
        if symbol.kind is not SymbolKind.VARIABLE or not symbol.defined or self.definition(i) != i:
            return False
        match symbol.sharing:
            case Sharing.ONCE | Sharing.ONCE_RENAMED:
                return True
            case Sharing.COPY_UNLESS_LINKED:
                return kind != "bundle"
            case Sharing.MERGE:
                return kind == "bundle" and self.plain_name(i) in once
            case Sharing.COPY:
                return False

    def can_be_shared(self, i: int) -> bool:
        """Whether a link can refer to the variable from several shards: by its own name, which must then be the only
        one of its kind, or by a new one."""
        symbol = self.symbol[i]
        return (
            symbol.binding is not Binding.LOCAL
            or symbol.sharing is not Sharing.ONCE
            or self._local_names[self.plain_name(i)] == 1
        )

    def visible_name(self, i: int) -> str:
        """The name under which several shards share a local variable. It depends on the definition alone, unless
        another module has an equal one."""
        module, name = self.nodes[i]
        symbol = self.symbol[i]
        if symbol.sharing is Sharing.ONCE:
            return name
        plain = re.sub(r"[^\w$]", "_", self.plain_name(i))
        twins = [m for m, o in enumerate(self.outlines) if o.symbols.get(name) == symbol]
        ordinal = f"_{twins.index(module)}" if len(twins) > 1 else ""
        return f"{plain}__parcubin_shared{ordinal}"

    def distinct_names(self) -> dict[int, str]:
        """New names for local variables of different modules that a linker would merge because they are named alike."""
        found: dict[str, int] = Counter()
        names: dict[int, str] = {}
        for i, symbol in enumerate(self.symbol):
            if symbol.defined and symbol.sharing is Sharing.MERGE and symbol.binding is Binding.LOCAL:
                number = found[symbol.name]
                found[symbol.name] += 1
                if number:
                    names[i] = f"{symbol.name}__parcubin_{number}"
        return names


class _DisjointSets:
    def __init__(self, members: Iterable[int]) -> None:
        self._parent = {m: m for m in members}

    def find(self, member: int) -> int:
        while self._parent[member] != member:
            self._parent[member] = member = self._parent[self._parent[member]]
        return member

    def join(self, members: Iterable[int]) -> None:
        found = {self.find(m) for m in members}
        for member in found:
            self._parent[member] = min(found)


def _roots(graph: _Graph, kind: PlanKind) -> list[int]:
    """What the output must hold: kernels, variables that the host may name, and device functions that are called from
    outside or from modules of another dialect."""
    return [
        i
        for i, symbol in enumerate(graph.symbol)
        if symbol.defined
        and graph.definition(i) == i
        and (
            symbol.kind is SymbolKind.KERNEL
            or graph.is_host_variable(i)
            or (
                symbol.kind is SymbolKind.FUNCTION
                and symbol.binding in (Binding.STRONG, Binding.WEAK)
                and (kind == "relocatable" or (kind == "link" and i in graph.called_across_dialects))
            )
        )
    ]


def _shard(graph: _Graph, members: Sequence[Member], shared: Set[int]) -> Shard:
    roots = set[int]().union(*(m.own for m in members))
    reached = set[int]().union(*(m.reached for m in members))
    define: dict[int, set[str]] = defaultdict(set)
    declare: dict[int, set[str]] = defaultdict(set)
    for node in reached:
        module, name = graph.nodes[node]
        symbol = graph.symbol[node]
        if not symbol.defined:
            continue
        elsewhere = node in shared or (symbol.kind is SymbolKind.VARIABLE and not graph.is_own_definition(node))
        (declare if elsewhere else define)[module].add(name)
    named = {k: sorted(graph.plain_name(r) for r in roots if graph.symbol[r].kind is k) for k in SymbolKind}
    return Shard(
        kernels=tuple(named[SymbolKind.KERNEL]),
        exports=tuple(named[SymbolKind.FUNCTION]),
        parts=tuple(
            ShardPart(m, frozenset(define[m]), frozenset(declare[m])) for m in sorted(define.keys() | declare.keys())
        ),
        constants=any(graph.symbol[node].in_constant_bank for node in reached),
        pointers=any(map(graph.handles_function_pointers, reached)),
        cost=sum(graph.symbol[node].cost for node in reached),
    )
