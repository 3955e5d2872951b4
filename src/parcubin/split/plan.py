"""The plan: which kernels make a shard, and where each variable is defined.

The plan depends on the program and on the kind of output alone, never on the number of workers. It does not know which
format it works on.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from parcubin.errors import DuplicateSymbolError
from parcubin.split.cost import inlined_costs
from parcubin.split.grouping import Grouping, Member, drawn
from parcubin.split.outline import Binding, Outline, Sharing, Symbol, SymbolKind

PlanKind = Literal["bundle", "link", "relocatable"]

Node = tuple[int, str]
"""A symbol of one module of the program: the module's index and the symbol's name there."""

_MOST_REACHED = 10_000_000
"""Nodes that all roots together may reach for a program to be split, at 60 bytes each. `cub.ll` has 200,000."""

_STRENGTH = {Binding.DISCARDABLE: 0, Binding.WEAK: 1, Binding.STRONG: 2}
_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


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
        defines_constants: it defines what is in the constant bank.
        pointers: it takes the addresses of functions or calls through pointers.
        cost: CPU microseconds that it is predicted to take, without the start of a compiler.
    """

    kernels: tuple[str, ...]
    exports: tuple[str, ...]
    parts: tuple[ShardPart, ...]
    constants: bool
    defines_constants: bool
    pointers: bool
    cost: int


@dataclass(frozen=True)
class Plan:
    """The shards, in the order in which they are linked.

    Attributes:
        shards: variables that no kernel holds first, then by kernel name.
        rename: for each module, the names of its variables that several shards share.
        variables: every variable that the host may name as C++ does.
        mergeable: variables of which every shard that refers to them has a definition, to be merged by the linker.
        unsplit_reason: why the program is not split although it was to be; None when it is.
    """

    shards: tuple[Shard, ...]
    rename: tuple[Mapping[str, str], ...]
    variables: frozenset[str]
    mergeable: frozenset[str]
    unsplit_reason: str | None = None


class _TooManyReferencesError(Exception):
    """What the roots reach is more than is looked at for each of them."""


def plan_shards(
    outlines: Sequence[Outline],
    kind: PlanKind,
    *,
    split: bool = True,
    once: Set[str] = frozenset(),
    halved: Set[tuple[str, ...]] = frozenset(),
    constants_together: bool = False,
) -> Plan:
    """Plans a program.

    Args:
        outlines: the program's modules.
        kind: "bundle": shards that stand alone; "link": shards of one linked CUBIN; "relocatable": likewise, with the
            modules' external device functions kept callable.
        split: False for one shard of each dialect.
        once: names of mergeable variables that turned out to survive optimisation in several shards of a bundle, where
            nothing merges them: their users are planned into one shard.
        halved: kernels of shards that made a compiler fail internally: their kernels are planned into two shards each.
        constants_together: one shard holds all kernels that use the constant bank, so that it can be extensible.

    Raises:
        DuplicateSymbolError: two modules define a symbol strongly.
    """
    graph = _Graph(outlines)
    if split:
        try:
            return _plan(graph, kind, once=once, halved=halved, constants_together=constants_together)
        except _TooManyReferencesError:
            reason = "its kernels and variables refer to each other so much that it is not split"
            graph.closures_left = None
            return replace(_plan(graph, kind, split=False, once=once, halved=halved), unsplit_reason=reason)
    graph.closures_left = None
    return _plan(graph, kind, split=False, once=once, halved=halved)


def _plan(
    graph: _Graph,
    kind: PlanKind,
    *,
    split: bool = True,
    once: Set[str] = frozenset(),
    halved: Set[tuple[str, ...]] = frozenset(),
    constants_together: bool = False,
) -> Plan:
    """Plans a program; see `plan_shards`."""
    outlines = graph.outlines
    roots = _roots(graph, kind)
    reached = {root: graph.closure([root]) for root in roots} if split else _reached_together(graph, roots)
    single = {node for node in range(len(graph.nodes)) if graph.is_single(node, kind, once)}
    users = _users(reached, single | graph.kernels)
    rootless = {m for m in graph.whole_modules if all(graph.nodes[root][0] != m for root in roots)}

    sets = _DisjointSets(roots)
    for dialect in {o.dialect for o in outlines}:
        spoken = [root for root in roots if graph.dialect(root) == dialect]
        sets.join(root for root in spoken if not graph.pointer_nodes.isdisjoint(reached[root]))
        if constants_together:
            sets.join(root for root in spoken if not graph.constants.isdisjoint(reached[root]))
        if not split or any(outlines[m].dialect == dialect for m in rootless):
            sets.join(spoken)
    for root in roots:
        if graph.symbol[root].is_alias:
            sets.join([root, *(node for node in graph.successors(root) if node in reached)])
    for whole in graph.whole_modules.values():
        sets.join(root for root in roots if not whole.isdisjoint(reached[root]))
    for node, node_users in users.items():
        if node in graph.kernels or kind == "bundle" or not graph.can_be_shared(node):
            sets.join(node_users)
    if kind == "bundle":
        shared: set[int] = set()
    else:
        bound = graph.bound(single)
        shared = {node for node in single if users[node] and node not in bound}

    members: dict[str, list[Member]] = defaultdict(list)
    variables = set(shared)
    for component in sets.all():
        if all(graph.symbol[root].kind is SymbolKind.VARIABLE for root in component):
            variables.update(component)
        else:
            kept = [root for root in component if root not in shared]
            members[graph.environment(component[0])].append(graph.member(kept, reached, shared))
    grouping = Grouping(graph.plain.__getitem__, graph.cost.__getitem__, lambda node: graph.closure([node]))
    groups = [
        half
        for environment in sorted(members)
        for group in grouping.groups(members[environment])
        for half in _halves(graph, group, halved)
    ]
    if len(groups) == 1 and {graph.environment(n) for n in variables} == {graph.environment(min(groups[0][0].own))}:
        groups[0].append(graph.member(sorted(variables), reached, frozenset()))
        shared = variables = set()
    elif kind == "link":
        variables -= _give_constants_to_one_user(graph, groups, variables)
    shards = [_shard(graph, group, shared, rootless) for group in groups]
    shards.sort(key=lambda s: (s.kernels, s.exports))
    for environment in sorted({graph.environment(node) for node in variables}, reverse=True):
        own = {node for node in variables if graph.environment(node) == environment}
        shards.insert(0, _shard(graph, [graph.member(sorted(own), {}, shared - own)], shared, rootless))
    rename: list[dict[str, str]] = [{} for _ in outlines]
    names = graph.visible_names(shared, users) | ({} if kind == "bundle" else graph.distinct_names())
    for node, name in names.items():
        module, old = graph.nodes[node]
        rename[module][old] = name
    return Plan(
        shards=tuple(shards),
        rename=tuple(rename),
        variables=frozenset(
            graph.plain[n]
            for n in range(len(graph.nodes))
            if graph.is_host_variable(n) and _IDENTIFIER.fullmatch(graph.plain[n])
        ),
        mergeable=frozenset(
            graph.plain[n]
            for n, symbol in enumerate(graph.symbol)
            if symbol.defined and symbol.sharing is Sharing.MERGE
        ),
    )


@dataclass
class _Graph:
    """The symbols of all modules, with references resolved across modules. A node is an index into its lists.

    Attributes:
        outlines: the modules.
        closures_left: how many nodes all closures together may still have; None for any number.
    """

    outlines: Sequence[Outline]
    closures_left: int | None = _MOST_REACHED

    def __post_init__(self) -> None:
        self.nodes: list[Node] = [(m, s) for m, o in enumerate(self.outlines) for s in o.symbols]
        self.symbol: list[Symbol] = [self.outlines[m].symbols[s] for m, s in self.nodes]
        self.plain: list[str] = [self.outlines[m].plain_name(s) for m, s in self.nodes]
        self._contested: set[int] = set()
        self._definition = self._strongest_definitions()
        self._refuse_names_defined_twice()
        index = {node: i for i, node in enumerate(self.nodes)}
        self._successors: list[list[int]] = []
        calls: list[list[tuple[int, int]]] = []
        self.called_across_dialects: set[int] = set()
        for i, (module, _) in enumerate(self.nodes):
            symbol = self.symbol[i]
            successors = [index[module, r] for r in symbol.references] if symbol.defined else []
            called = [(index[module, c], times) for c, times in symbol.calls.items() if (module, c) in index]
            if not self.is_own_definition(i) and (definition := self.definition(i)) is not None:
                if self.dialect(definition) == self.dialect(i):
                    successors.append(definition)
                    called = [(definition, 1)]
                else:
                    self.called_across_dialects.add(definition)
            self._successors.append(successors)
            calls.append(called)
        never_inlined = [s.never_inlined or s.kind is SymbolKind.KERNEL for s in self.symbol]
        inlined = inlined_costs([s.copy_cost for s in self.symbol], calls, never_inlined)
        self.cost = [symbol.cost + copies for symbol, copies in zip(self.symbol, inlined, strict=True)]
        self.constants = {i for i, symbol in enumerate(self.symbol) if symbol.defined and symbol.in_constant_bank}
        self.kernels = {i for i, symbol in enumerate(self.symbol) if symbol.kind is SymbolKind.KERNEL}
        functions = {i for i, symbol in enumerate(self.symbol) if symbol.kind is SymbolKind.FUNCTION}
        self.pointer_nodes = {
            i
            for i, symbol in enumerate(self.symbol)
            if symbol.calls_indirectly or any(index[self.nodes[i][0], a] in functions for a in symbol.addresses)
        }
        self.whole_modules = {
            m: {i for i, node in enumerate(self.nodes) if node[0] == m}
            for m, outline in enumerate(self.outlines)
            if outline.whole_reason is not None
        }

    def _strongest_definitions(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for i, symbol in enumerate(self.symbol):
            if not symbol.defined or symbol.binding is Binding.LOCAL:
                continue
            other = found.setdefault(self.plain[i], i)
            if other == i:
                continue
            if symbol.binding is Binding.STRONG and self.symbol[other].binding is Binding.STRONG:
                raise self._defined_twice(other, i)
            if symbol.binding is self.symbol[other].binding is Binding.WEAK:
                self._contested.add(other)
            if _STRENGTH[symbol.binding] > _STRENGTH[self.symbol[other].binding]:
                found[self.plain[i]] = i
        return found

    def _refuse_names_defined_twice(self) -> None:
        """Names that the host looks up are unique in the program, local ones too."""
        found: dict[str, int] = {}
        for i, symbol in enumerate(self.symbol):
            if self.is_host_variable(i) or (
                symbol.kind is SymbolKind.KERNEL and symbol.defined and self.definition(i) == i
            ):
                other = found.setdefault(self.plain[i], i)
                if other != i:
                    raise self._defined_twice(other, i)

    def _defined_twice(self, first: int, second: int) -> DuplicateSymbolError:
        symbol = self.symbol[second]
        name = self.plain[second]
        modules = [self.outlines[self.nodes[i][0]].name for i in (first, second)]
        return DuplicateSymbolError(
            f"The {symbol.kind.name.lower()} '{name}' is defined twice: in {modules[0]} and in {modules[1]}. "
            "Rename one of them, or leave one input out.",
            kernels=[name] if symbol.kind is SymbolKind.KERNEL else [],
            input_name=modules[1],
        )

    def definition(self, i: int) -> int | None:
        """The node that defines what node `i` names; None when no module does."""
        if self.symbol[i].binding is Binding.LOCAL:
            return i
        return self._definition.get(self.plain[i])

    def is_own_definition(self, i: int) -> bool:
        """Whether the module's own definition serves: it is the program's, or as good (`linkonce_odr`)."""
        definition = self.definition(i)
        if definition is None or definition == i:
            return definition == i
        return all(
            s.defined and s.binding is Binding.DISCARDABLE and s.sharing is Sharing.COPY
            for s in (self.symbol[i], self.symbol[definition])
        )

    def environment(self, i: int) -> str:
        return self.outlines[self.nodes[i][0]].environment

    def dialect(self, i: int) -> str:
        return self.outlines[self.nodes[i][0]].dialect

    def successors(self, i: int) -> Sequence[int]:
        """What a node refers to directly."""
        return self._successors[i]

    def closure(self, roots: Iterable[int], stop: Set[int] = frozenset()) -> frozenset[int]:
        """Everything that the roots reach; what `stop` holds is reached and not passed through."""
        reached: set[int] = set()
        pending = list(roots)
        while pending:
            node = pending.pop()
            if node not in reached:
                reached.add(node)
                if node not in stop:
                    pending.extend(self._successors[node])
        if self.closures_left is not None:
            self.closures_left -= len(reached)
            if self.closures_left < 0:
                raise _TooManyReferencesError
        return frozenset(reached)

    def member(self, roots: Sequence[int], reached: Mapping[int, frozenset[int]], shared: Set[int]) -> Member:
        """The roots and what they reach.

        Args:
            reached: what is known of what roots reach.
            shared: nodes that are not passed through.
        """

        def reach(*roots: int) -> frozenset[int]:
            known = reached.get(roots[0]) if len(roots) == 1 else None
            return known if known and known.isdisjoint(shared) else self.closure(roots, stop=shared)

        first = min(roots, key=lambda root: (self.symbol[root].kind is not SymbolKind.KERNEL, self.plain[root]))
        return Member(self.plain[first], reach(*roots), reach(first) - shared, frozenset(roots))

    def bound(self, single: Set[int]) -> set[int]:
        """The nodes that a link cannot refer to from several shards, because they reach functions by their addresses,
        or variables that must be where their users are.

        Args:
            single: variables that one shard alone may define.
        """
        users: list[list[int]] = [[] for _ in self.nodes]
        for node, successors in enumerate(self._successors):
            for successor in successors:
                users[successor].append(node)
        pending = [*self.pointer_nodes, *(node for node in single if not self.can_be_shared(node))]
        found: set[int] = set()
        while pending:
            node = pending.pop()
            if node not in found:
                found.add(node)
                pending.extend(users[node])
        return found

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
                # Of a bank that refers to a constant which is merged away, linkers forget the addresses (nvlink and
                # nvJitLink 13.0 and 13.5).
                return self.plain[i] in once if kind == "bundle" else symbol.in_constant_bank
            case Sharing.COPY:
                return False

    def can_be_shared(self, i: int) -> bool:
        """Whether a link can refer to the variable from several shards: by a new name, or by its own, under which a
        local variable must become visible. Of several weak definitions, of which the largest may have to win, nobody
        knows better than LLVM's linker, which must see them all."""
        symbol = self.symbol[i]
        if i in self._contested or self.nodes[i][0] in self.whole_modules:
            return False
        if symbol.binding is not Binding.LOCAL or symbol.sharing is not Sharing.ONCE:
            return True
        return self.plain[i] not in self._definition and _IDENTIFIER.fullmatch(symbol.name) is not None

    def visible_names(self, shared: Set[int], users: Mapping[int, Sequence[int]]) -> dict[int, str]:
        """The names under which several shards share variables that are not visible as they are. A name depends on the
        variable's own alone, unless other modules have shared variables of that name."""
        names: dict[int, str] = {}
        twins: dict[str, list[int]] = defaultdict(list)
        for node in shared:
            symbol = self.symbol[node]
            if (
                symbol.sharing is Sharing.MERGE
                or symbol.binding is Binding.DISCARDABLE
                or (symbol.binding is Binding.LOCAL and symbol.sharing is Sharing.ONCE)
            ):
                names[node] = symbol.name
            elif symbol.binding is Binding.LOCAL:
                twins[symbol.name].append(node)
        for name, nodes in twins.items():
            digest = hashlib.sha256(name.encode()).hexdigest()[:8]
            stem = f"{re.sub(r'[^a-zA-Z0-9_]', '_', name)}$parcubin_{digest}"
            nodes.sort(key=lambda node: (min(self.plain[user] for user in users[node]), node))
            for number, node in enumerate(nodes):
                names[node] = f"_{stem}_{number}" if number else f"_{stem}"
        return names

    def distinct_names(self) -> dict[int, str]:
        """New names for local variables of different modules that a linker would merge because they are named alike."""
        twins: dict[str, list[int]] = defaultdict(list)
        for i, symbol in enumerate(self.symbol):
            if symbol.defined and symbol.sharing is Sharing.MERGE and symbol.binding is Binding.LOCAL:
                twins[symbol.name].append(i)
        return {
            node: f"{name}__parcubin_{number}"
            for name, nodes in twins.items()
            for number, node in enumerate(nodes)
            if number
        }


class _DisjointSets:
    def __init__(self, members: Iterable[int]) -> None:
        self._parent = {m: m for m in members}

    def find(self, member: int) -> int:
        while self._parent[member] != member:
            self._parent[member] = member = self._parent[self._parent[member]]
        return member

    def all(self) -> list[list[int]]:
        """The sets, each in the order of its members."""
        found: dict[int, list[int]] = defaultdict(list)
        for member in self._parent:
            found[self.find(member)].append(member)
        return list(found.values())

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


def _give_constants_to_one_user(graph: _Graph, groups: Sequence[list[Member]], variables: Set[int]) -> Set[int]:
    """Makes one of the groups whose code refers to the constant bank define all of it: `-ewp` code has to, and one such
    shard may be in a link. It is the group that has to define a part of it in any case, or the group of one kernel, by
    a hash of names, so that other kernels come and go without moving the bank.

    Returns: the variables that moved into the group.
    """
    moved = graph.constants & variables
    users = [
        ((graph.constants - variables).isdisjoint(member.reached), drawn("constants", member.name), number)
        for number, group in enumerate(groups)
        for member in group
        if not graph.constants.isdisjoint(member.reached)
    ]
    if not moved or not users or not graph.pointer_nodes.isdisjoint(graph.closure(moved)):
        return frozenset()
    home = groups[min(users)[-1]]
    if {graph.environment(node) for node in moved} != {graph.environment(min(home[0].own))}:
        return frozenset()
    home.append(graph.member(sorted(moved), {}, variables - moved))
    return moved


def _reached_together(graph: _Graph, roots: Sequence[int]) -> dict[int, frozenset[int]]:
    """What the roots of each dialect reach, which all are in one shard, for the first of them; the others alone."""
    found = {root: frozenset((root,)) for root in roots}
    spoken: dict[str, list[int]] = defaultdict(list)
    for root in roots:
        spoken[graph.dialect(root)].append(root)
    return found | {together[0]: graph.closure(together) for together in spoken.values()}


def _users(reached: Mapping[int, frozenset[int]], nodes: Set[int]) -> Mapping[int, list[int]]:
    """For each node, the roots that reach it."""
    users: dict[int, list[int]] = {node: [] for node in nodes}
    for root, closure in reached.items():
        for node in closure & nodes:
            users[node].append(root)
    return users


def _halves(graph: _Graph, group: list[Member], halved: Set[tuple[str, ...]]) -> Iterator[list[Member]]:
    """The group in parts none of which is in `halved`."""
    roots = [root for member in group for root in member.own]
    kernels = tuple(sorted(graph.plain[root] for root in roots if graph.symbol[root].kind is SymbolKind.KERNEL))
    if len(group) > 1 and kernels in halved:
        middle = len(group) // 2
        yield from _halves(graph, group[:middle], halved)
        yield from _halves(graph, group[middle:], halved)
    else:
        yield group


def _shard(graph: _Graph, members: Sequence[Member], shared: Set[int], always: Set[int]) -> Shard:
    """The shard of some members.

    Args:
        shared: nodes that are defined elsewhere.
        always: modules that are a part of every shard of their dialect.
    """
    roots = set[int]().union(*(m.own for m in members))
    reached = set[int]().union(*(m.reached for m in members))
    dialect = graph.dialect(min(roots))
    foreign = shared - roots
    # Of several definitions that meet in a shard, LLVM's linker takes the right one.
    defined = {node for node in reached if graph.symbol[node].defined and graph.definition(node) not in foreign}
    define: dict[int, set[str]] = defaultdict(set)
    declare: dict[int, set[str]] = defaultdict(set)
    for node in reached:
        module, name = graph.nodes[node]
        if node in defined:
            define[module].add(name)
        elif graph.symbol[node].defined:
            declare[module].add(name)
    named = {k: sorted(graph.plain[r] for r in roots if graph.symbol[r].kind is k) for k in SymbolKind}
    return Shard(
        kernels=tuple(named[SymbolKind.KERNEL]),
        exports=tuple(named[SymbolKind.FUNCTION]),
        parts=tuple(
            ShardPart(m, frozenset(define[m]), frozenset(declare[m]))
            for m in sorted(
                define.keys() | declare.keys() | {m for m in always if graph.outlines[m].dialect == dialect}
            )
        ),
        constants=any(graph.symbol[node].in_constant_bank for node in reached),
        defines_constants=any(graph.symbol[node].in_constant_bank for node in defined),
        pointers=not graph.pointer_nodes.isdisjoint(reached),
        cost=sum(graph.cost[node] for node in reached),
    )
