"""What a generated program is made of, whatever the format in which it is written.

A program is a set of kernels `void k(ptr)`, device functions `i32 f(i32 x, i32 n)` and variables. All code is a list of
steps that make a new `x` of `x`; `n` is the depth to which recursion may still go. A kernel starts with the element of
its thread and stores `x` there at the end. So that the results do not depend on the order of threads,

- a thread touches its own element of what is stored to (`Role.SLOTS`, shared memory), except across barriers;
- counters are added to in functions and read by kernels only, in front of a barrier;
- pointers are replaced by kernels only, behind the last barrier, by all threads alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import Literal, TypeAlias

Format = Literal["ll", "ptx"]

Space = Literal["global", "const", "generic", "shared"]

THREADS = 64
"""Of the block, of which each kernel runs one."""

DEPTH = 2
"""What the word behind the elements of a kernel's buffer says: the depth of kernels that read it there."""


class Role(Enum):
    """What a variable is for.

    TABLE: words that no kernel stores to.
    SLOTS: one word a thread.
    COUNTER: one word, which is only added to.
    POINTERS: addresses of tables and slots.
    FUNCTIONS: addresses of functions.
    SHARED: one word a thread, in shared memory.
    DYNAMIC: the same, of a size that the launch gives.
    """

    TABLE = auto()
    SLOTS = auto()
    COUNTER = auto()
    POINTERS = auto()
    FUNCTIONS = auto()
    SHARED = auto()
    DYNAMIC = auto()


@dataclass(frozen=True)
class Variable:
    """A variable at module scope.

    Attributes:
        name: as the program's source would have it, without quotes and escapes.
        role: what it is for.
        space: where it is; "generic" is LLVM's address space 0.
        linkage: the format's word; empty for the format's default.
        words: initial values; none where they are left to be zero.
        targets: of pointers, what they point to at first.
        alignment: bytes.
        traits: what else the format has: see the renderers.
        written_by_host: what the host sets it to before the first kernel.
        module: the module that defines it.
    """

    name: str
    role: Role
    space: Space
    linkage: str
    words: tuple[int, ...] = ()
    targets: tuple[str, ...] = ()
    alignment: int = 4
    traits: frozenset[str] = frozenset()
    written_by_host: tuple[int, ...] = ()
    module: int = 0

    @property
    def count(self) -> int:
        """Number of elements."""
        match self.role:
            case Role.TABLE:
                return len(self.words)
            case Role.COUNTER:
                return 1
            case Role.POINTERS | Role.FUNCTIONS:
                return len(self.targets)
            case _:
                return THREADS

    @property
    def holds_addresses(self) -> bool:
        return self.role in (Role.POINTERS, Role.FUNCTIONS)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.count * (8 if self.holds_addresses else 4)


@dataclass(frozen=True)
class Arithmetic:
    """`x = x OPERATION value`."""

    operation: Literal["add", "mul", "xor", "sub", "and", "or"]
    value: int


@dataclass(frozen=True)
class Division:
    """`x = value / (x | 1)`, in integers of 32 or 64 bits or in floating point, all of whose bits count."""

    kind: Literal["u32", "u64", "f32", "f64"]
    value: int


@dataclass(frozen=True)
class Call:
    """`x = function(x, n)`; guarded, for recursion: `if (n != 0) x = function(x, n - 1)`."""

    function: str
    guarded: bool


@dataclass(frozen=True)
class CallPointer:
    """`if (n != 0) x = table[(x + offset) % count](x, n - 1)`."""

    table: str
    offset: int
    annotated: bool = False
    """With a list of what may be called: `!callees`, `.calltargets`."""


@dataclass(frozen=True)
class CallEither:
    """`if (n != 0) x = (x & 1 ? first : second)(x, n - 1)`."""

    first: str
    second: str


@dataclass(frozen=True)
class Lookup:
    """`x ^= table[x % count]`; directly, or at a fixed index."""

    table: str
    index: int | None


@dataclass(frozen=True)
class Follow:
    """`x += pointers[x % count][thread % least count of what they point to]`."""

    pointers: str


@dataclass(frozen=True)
class Update:
    """`slots[thread] = x = slots[thread] * factor + x`; with slots in shared memory, too."""

    slots: str
    factor: int


@dataclass(frozen=True)
class Count:
    """`counter += x & mask`, atomically."""

    counter: str
    mask: int


@dataclass(frozen=True)
class Scratch:
    """Stores `x` into a local array at an index that depends on it and adds the sum of two elements."""

    size: int


@dataclass(frozen=True)
class Exchange:
    """In kernels only: `shared[thread] = x; barrier; x += shared[thread ^ distance]; barrier`."""

    shared: str
    distance: int


@dataclass(frozen=True)
class Shuffle:
    """In kernels only: `x += the x of thread ^ distance`, in its warp."""

    distance: int


@dataclass(frozen=True)
class Vote:
    """In kernels only: `x += the number of threads of its warp whose x & mask is not zero`."""

    mask: int


Step: TypeAlias = (
    Arithmetic
    | Division
    | Call
    | CallPointer
    | CallEither
    | Lookup
    | Follow
    | Update
    | Count
    | Scratch
    | Exchange
    | Shuffle
    | Vote
)


def named_by(step: Step) -> tuple[str, ...]:
    """The symbols that a step names."""
    match step:
        case Call(function=name) | CallPointer(table=name) | Lookup(table=name):
            return (name,)
        case Follow(pointers=name) | Update(slots=name) | Count(counter=name) | Exchange(shared=name):
            return (name,)
        case CallEither(first, second):
            return (first, second)
        case _:
            return ()


@dataclass(frozen=True)
class Function:
    """A device function.

    Attributes:
        name: as for variables.
        linkage: the format's word; empty for the format's default.
        steps: what it does.
        traits: what else the format has: see the renderers.
        comment: something to write inside it that is no code.
    """

    name: str
    linkage: str
    steps: tuple[Step, ...]
    traits: frozenset[str] = frozenset()
    comment: str = ""
    module: int = 0


@dataclass(frozen=True)
class Alias:
    """Another name of a function."""

    name: str
    aliasee: str
    linkage: str
    module: int = 0


@dataclass(frozen=True)
class Assignment:
    """`pointers[index] = target`, at the end of a kernel."""

    pointers: str
    index: int
    target: str


@dataclass(frozen=True)
class Kernel:
    """A kernel.

    Attributes:
        name: a C identifier or another that PTX has.
        depth: to which recursion may go; None to read it from the buffer.
        counters: what it adds to `x` before anything else.
        steps: what it does.
        assignments: what it stores to pointers at its end.
        linkage: the format's word.
        traits: what else the format has: see the renderers.
        comment: something to write inside it that is no code.
    """

    name: str
    depth: int | None
    counters: tuple[str, ...]
    steps: tuple[Step, ...]
    assignments: tuple[Assignment, ...] = ()
    linkage: str = ""
    traits: frozenset[str] = frozenset()
    comment: str = ""
    module: int = 0


@dataclass(frozen=True)
class Program:
    """A program of one module or two.

    The trait `everywhere` of a symbol says that each module that uses it defines it; `available` that the others have
    its definition as `available_externally`, `extern_weak` that they declare it so.

    Attributes:
        seed: what it was drawn from.
        format: in which it can be written.
        kernels: in the order in which they are run.
        functions: each calls without a guard only functions behind it.
        aliases: of functions.
        variables: in the order in which they are declared.
        traits: what else the format has: see the renderers.
        modules: how many.
        twins: symbols that one module has for itself, with the names of symbols of the other that they are called like.
    """

    seed: int
    format: Format
    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...]
    aliases: tuple[Alias, ...]
    variables: tuple[Variable, ...]
    traits: frozenset[str] = frozenset()
    modules: int = 1
    twins: tuple[tuple[str, str], ...] = ()

    @cached_property
    def function(self) -> Mapping[str, Function]:
        """Functions by name and by alias."""
        found = {f.name: f for f in self.functions}
        return found | {a.name: found[a.aliasee] for a in self.aliases}

    @cached_property
    def variable(self) -> Mapping[str, Variable]:
        return {v.name: v for v in self.variables}

    @cached_property
    def symbol(self) -> Mapping[str, Symbol]:
        """All symbols by name."""
        symbols: tuple[Symbol, ...] = (*self.kernels, *self.functions, *self.aliases, *self.variables)
        return {symbol.name: symbol for symbol in symbols}

    def written(self, name: str) -> str:
        """What a symbol is called in its module."""
        return dict(self.twins).get(name, name)

    def users(self) -> Iterator[tuple[str, str]]:
        """Each symbol with each that it names."""
        for k in self.kernels:
            yield from ((k.name, n) for s in k.steps for n in named_by(s))
            yield from ((k.name, n) for n in (*k.counters, *self.shared_memory(k)))
            yield from ((k.name, n) for a in k.assignments for n in (a.pointers, a.target))
        for f in self.functions:
            yield from ((f.name, n) for s in f.steps for n in named_by(s))
        for owner in self.kernels_and_functions:
            annotated = (s.table for s in owner.steps if isinstance(s, CallPointer) and s.annotated)
            yield from ((owner.name, n) for table in annotated for n in self.pointees(table))
        yield from ((a.name, a.aliasee) for a in self.aliases)
        yield from ((v.name, n) for v in self.variables for n in v.targets)

    def parts(self, module: int) -> Part:
        """What a module defines and what it only declares."""
        named: dict[str, list[str]] = {}
        for user, name in self.users():
            named.setdefault(user, []).append(name)
        defined: set[str] = set()
        available: set[str] = set()
        declared: set[str] = set()
        pending = [s.name for s in self.symbol.values() if s.module == module]
        while pending:
            name = pending.pop()
            if name in defined | available | declared:
                continue
            symbol = self.symbol[name]
            if symbol.module == module or is_everywhere(symbol):
                defined.add(name)
            elif isinstance(symbol, Function | Variable) and "available" in symbol.traits:
                available.add(name)
            else:
                declared.add(name)
                continue
            pending += named.get(name, [])
        return Part(frozenset(defined), frozenset(available), frozenset(declared))

    @property
    def functions_and_variables(self) -> tuple[Function | Variable, ...]:
        return (*self.functions, *self.variables)

    @property
    def kernels_and_functions(self) -> tuple[Kernel | Function, ...]:
        return (*self.kernels, *self.functions)

    @property
    def all_steps(self) -> Iterator[tuple[Step, ...]]:
        """The code of every kernel and every function."""
        yield from (owner.steps for owner in self.kernels_and_functions)

    def pointees(self, name: str) -> tuple[str, ...]:
        """All that a variable's pointers may point to at any time."""
        assigned = (a.target for k in self.kernels for a in k.assignments if a.pointers == name)
        return tuple(dict.fromkeys((*self.variable[name].targets, *assigned)))

    def reached(self, steps: Sequence[Step]) -> frozenset[str]:
        """All symbols that the steps may come to use, aliases among them."""
        found: set[str] = set()
        pending = [name for step in steps for name in named_by(step)]
        while pending:
            name = pending.pop()
            if name in found:
                continue
            found.add(name)
            if name in self.function:
                pending += [self.function[name].name, *(n for s in self.function[name].steps for n in named_by(s))]
            elif self.variable[name].holds_addresses:
                pending += self.pointees(name)
        return frozenset(found)

    def shared_memory(self, kernel: Kernel) -> list[str]:
        """The shared memory that a kernel may come to use, which it has to initialise."""
        roles = (Role.SHARED, Role.DYNAMIC)
        return sorted(n for n in self.reached(kernel.steps) if n in self.variable and self.variable[n].role in roles)

    @property
    def host_variables(self) -> dict[str, Variable]:
        """The variables that the host may name, whatever the optimisers do."""
        return {v.name: v for v in self.variables if self._is_host_variable(v)}

    def _is_host_variable(self, variable: Variable) -> bool:
        if variable.space == "shared" or not re.fullmatch("[A-Za-z_][A-Za-z_0-9]*", variable.name):
            return False
        if self.format == "ptx":
            # nvlink, which makes one of two modules, drops local variables that nothing refers to.
            return bool(variable.linkage) or (self.modules == 1 and not is_constant_data(variable.name))
        kept = {"used", "compiler_used"} & variable.traits
        return bool(kept) or variable.linkage in ("", "weak", "weak_odr", "common")


Symbol: TypeAlias = Kernel | Function | Alias | Variable


@dataclass(frozen=True)
class Part:
    """What a module has of a program's symbols.

    Attributes:
        defined: symbols that it defines.
        available: symbols of which it has a definition that is for optimisation only.
        declared: symbols that it declares.
    """

    defined: frozenset[str]
    available: frozenset[str]
    declared: frozenset[str]


def is_everywhere(symbol: Symbol) -> bool:
    """Whether each module that uses the symbol defines it, too."""
    if isinstance(symbol, Variable) and symbol.role is Role.DYNAMIC:
        return True
    return not isinstance(symbol, Alias) and "everywhere" in symbol.traits


def is_constant_data(name: str) -> bool:
    """Whether compilers give names of this kind to what is never stored to and the host does not name."""
    return re.match(r"__unnamed_\d|\$str|_\$_str|__const_\$_|switch_\$_table_\$_|anon_\$_", name) is not None


def costs(program: Program, steps: Sequence[Step], depth: int) -> int:
    """How many steps are executed at most."""
    known: dict[tuple[str, int], int] = {}

    def of_function(name: str, n: int) -> int:
        if (name, n) not in known:
            known[name, n] = of_steps(program.function[name].steps, n)
        return known[name, n]

    def of_steps(several: Sequence[Step], n: int) -> int:
        return sum(
            1 + max((of_function(*callee) for callee in _callees(program, step, n)), default=0) for step in several
        )

    return of_steps(steps, depth)


def _callees(program: Program, step: Step, n: int) -> Iterator[tuple[str, int]]:
    match step:
        case Call(function, guarded=False):
            yield function, n
        case Call(function) if n:
            yield function, n - 1
        case CallPointer(table=table) if n:
            yield from ((function, n - 1) for function in program.pointees(table))
        case CallEither(first, second) if n:
            yield from ((first, n - 1), (second, n - 1))
