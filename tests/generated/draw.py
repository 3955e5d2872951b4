"""Draws programs. A seed gives the same program on any machine and any version of Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from tests.generated.description import (
    THREADS,
    Alias,
    Arithmetic,
    Assignment,
    Call,
    CallEither,
    CallPointer,
    Count,
    Division,
    Exchange,
    Follow,
    Format,
    Function,
    Kernel,
    Lookup,
    Program,
    Role,
    Scratch,
    Shuffle,
    Space,
    Step,
    Update,
    Variable,
    Vote,
    costs,
    is_constant_data,
)
from tests.generated.distribute import distributed
from tests.generated.names import CONSTANT_DATA, draw_name

_T = TypeVar("_T")

_MOST_STEPS = 400
"""A kernel executes no more than this."""

_MOST_INLINED_STEPS = 40
"""A function executes no more than this without following guarded calls, so that inlining does not swell it."""

_LLVM_FUNCTION_LINKAGES = {
    "internal": 7,
    "private": 2,
    "": 4,
    "linkonce": 1,
    "linkonce_odr": 4,
    "weak": 1,
    "weak_odr": 2,
}
_PTX_FUNCTION_LINKAGES = {"": 6, "visible": 3, "weak": 3}
_LLVM_VARIABLE_LINKAGES = {
    "internal": 8,
    "private": 3,
    "": 4,
    "linkonce": 1,
    "linkonce_odr": 3,
    "weak": 2,
    "weak_odr": 2,
    "common": 1,
}
_PTX_VARIABLE_LINKAGES = {"": 8, "visible": 4, "weak": 3, "common": 1}

_LLVM_COMMENTS = ("", "", "", '; } "', "; @nobody, %nothing", "; define void @nobody() {")
_PTX_COMMENTS = (
    *("", "", ""),
    '// } "',
    '/* { " ; */',
    "{ { } }",
    '.pragma "nounroll";',
    ".loc 1 7 3",
    ".loc 3 1 1 // call (x), nobody, (y);",
    "/* .global .u32 nothing; */ .loc 2 3 0",
)


def draw(seed: int, format_: Format) -> Program:
    """The program of a seed."""
    return _Drawing(Random(f"{format_} {seed}"), format_, seed).program()


class _Drawing:
    def __init__(self, random: Random, format_: Format, seed: int) -> None:
        self.random, self.format, self.seed = random, format_, seed
        self.taken: set[str] = set()
        self.unnamed = 0
        self.two_modules = self.chance(0.35)
        self.kernels = random.randint(2, 6)
        # Kernels that share what must not be copied have to stay together. In most programs each variable that must not
        # be has one kernel that uses it.
        self.owned = self.chance(0.65)
        self.owner: dict[str, int] = {}
        self.drawn_for: int | None = None

    def program(self) -> Program:
        random = self.random
        functions = [self.function(i) for i in range(random.randint(2, 9))]
        aliases = self.aliases(functions)
        self.callable = [f.name for f in functions] + [a.name for a in aliases]
        # LLVM 22 writes an alias in an initial value as `generic(alias)`, which ptxas refuses.
        self.addressable = self.callable if self.format == "ptx" else [f.name for f in functions]
        self.variables = self.all_variables()
        whole = Program(
            self.seed, self.format, (), tuple(functions), tuple(aliases), tuple(self.variables), self.program_traits()
        )
        # From the last on: what a function calls without a guard is known.
        for i in reversed(range(len(functions))):
            aliased = {a.name for a in aliases if a.aliasee in {f.name for f in functions[i + 1 :]}}
            behind = [f.name for f in functions[i + 1 :]] + sorted(aliased)
            while True:
                steps = tuple(self.step(behind) for _ in range(random.randint(1, 6)))
                if self.format == "ptx" and any(a.aliasee == functions[i].name for a in aliases):
                    # ptxas 13.5 fails ("alias to unknown symbol") when it can inline all that an alias names.
                    steps += (Call(functions[i].name, guarded=True),)
                functions[i] = replace(functions[i], steps=steps)
                whole = replace(whole, functions=tuple(functions))
                if costs(whole, functions[i].steps, 0) <= _MOST_INLINED_STEPS:
                    break
        kernels = []
        for i in range(self.kernels):
            self.drawn_for = i
            kernels.append(self.kernel(i))
            whole = replace(whole, kernels=tuple(kernels))
        whole = self.with_all_tables_used(whole)
        kernels = list(whole.kernels)
        # Assignments of other kernels may make a kernel call more.
        whole = replace(whole, kernels=tuple(self.shallow(whole, kernel) for kernel in kernels))
        return distributed(whole, random) if self.two_modules else whole

    def with_all_tables_used(self, program: Program) -> Program:
        """nvlink 13.5 fails ("reference to deleted section") when a function that no kernel reaches calls an alias, so
        that kernels reach all tables of functions that the link keeps."""
        if self.format == "ll" or not program.aliases:
            return program
        reached = frozenset[str]().union(*(program.reached(kernel.steps) for kernel in program.kernels))
        unused = [v.name for v in program.variables if v.role is Role.FUNCTIONS and v.name not in reached]
        kernel, *others = program.kernels
        steps = (*kernel.steps, *(CallPointer(table, 0) for table in unused))
        return replace(program, kernels=(replace(kernel, steps=steps), *others))

    def shallow(self, program: Program, kernel: Kernel) -> Kernel:
        """The kernel, with recursion no deeper than it may be."""
        depths = [d for d in (3, 2, 1, 0) if costs(program, kernel.steps, d) <= _MOST_STEPS]
        deepest = depths[0] if depths else 0
        if kernel.depth is None and deepest < 2:
            kernel = replace(kernel, depth=deepest)
        elif kernel.depth is not None:
            kernel = replace(kernel, depth=min(kernel.depth, deepest))
        return kernel

    # Choices

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def weighted(self, weights: dict[str, int]) -> str:
        number = self.random.randrange(sum(weights.values()))
        for choice, weight in weights.items():
            number -= weight
            if number < 0:
                return choice
        raise AssertionError

    def linkage(self, weights: dict[str, int]) -> str:
        """In programs of two modules, most symbols can be used by both."""
        found = self.weighted(weights)
        if self.two_modules and self.chance(0.65):
            external = "" if self.format == "ll" else "visible"
            return external if found in (("internal", "private") if self.format == "ll" else ("",)) else found
        return found

    def some(self, candidates: Sequence[_T], least: int, most: int) -> tuple[_T, ...]:
        return tuple(self.random.choice(candidates) for _ in range(self.random.randint(least, most)))

    def traits(self, probabilities: dict[str, float]) -> frozenset[str]:
        return frozenset(trait for trait, probability in probabilities.items() if self.chance(probability))

    def word(self) -> int:
        return self.random.randrange(1, 1 << self.random.choice((4, 8, 16, 31)))

    def program_traits(self) -> frozenset[str]:
        if self.format == "ll":
            return self.traits({"line_info": 0.2, "needless_quotes": 0.1, "flags": 0.3, "metadata": 0.3})
        return self.traits({"comments": 0.3, "crowded": 0.1})

    # Symbols

    def function(self, number: int) -> Function:
        ll = self.format == "ll"
        linkage = self.linkage(_LLVM_FUNCTION_LINKAGES if ll else _PTX_FUNCTION_LINKAGES)
        # parcubin and the whole-program compile that it is compared with make all device functions internal.
        name = draw_name(self.random, self.format, f"fn{number}", self.taken, for_host=False, local=True)
        if ll:
            traits = self.traits(
                {"unnamed_addr": 0.2, "attributes": 0.3, "section": 0.05, "dso_local": 0.2, "metadata": 0.15}
            )
            traits |= {self.weighted({"noinline": 5, "alwaysinline": 2, "inline": 4, "optnone": 1})}
            if linkage not in ("internal", "private"):
                traits |= self.traits({"comdat": 0.3, "hidden": 0.15})
        else:
            traits = self.traits({"shadows": 0.15, "declared_twice": 0.3})
        comment = self.random.choice(_LLVM_COMMENTS if ll else _PTX_COMMENTS)
        return Function(name, linkage, (), traits, comment)

    def aliases(self, functions: Sequence[Function]) -> list[Alias]:
        if self.format == "ptx" and self.two_modules:
            return []  # nvlink, which makes one of the modules, fails internally with many an alias
        found = []
        for number in range(self.random.choice((0, 0, 0, 1, 2))):
            # An alias of a weak function is refused: by LLVM ("NVPTX aliasee must not be '.weak'") and by ptxas.
            weak = ("weak", "weak_odr", "linkonce", "linkonce_odr")
            candidates = [f for f in functions if f.linkage not in weak]
            if candidates:
                aliasee = self.random.choice(candidates)
                linkage = self.random.choice(("internal", "")) if self.format == "ll" else aliasee.linkage
                local = linkage == "internal"
                name = draw_name(self.random, self.format, f"al{number}", self.taken, for_host=False, local=local)
                found.append(Alias(name, aliasee.name, linkage))
        return found

    def all_variables(self) -> list[Variable]:
        roles = [Role.TABLE, Role.SLOTS, Role.COUNTER]
        roles += self.some(
            [Role.TABLE, Role.TABLE, Role.SLOTS, Role.COUNTER, Role.SHARED, Role.FUNCTIONS, Role.POINTERS], 1, 8
        )
        if self.chance(0.25):
            roles.append(Role.DYNAMIC)
        roles.sort(key=lambda role: role in (Role.POINTERS, Role.FUNCTIONS))
        variables: list[Variable] = []
        for number, role in enumerate(roles):
            variables.append(self.one_variable(number, role, variables))
        if self.format == "ptx":
            return variables  # ptxas wants what an initial value names declared in front of it
        self.random.shuffle(variables)
        return variables

    def may_be_used(self, name: str) -> bool:
        """Whether the kernel or function that is drawn may use a variable; functions belong to all kernels."""
        return self.owner.get(name, self.drawn_for) == self.drawn_for

    def is_copied(self, variable: Variable) -> bool:
        """Whether each shard has its own."""
        if variable.space == "shared":
            return True
        if self.format == "ptx":
            return is_constant_data(variable.name)
        host_traits = {"used", "compiler_used", "externally_initialized"} & variable.traits
        return (
            variable.linkage in ("internal", "private", "linkonce_odr")
            and "constant" in variable.traits
            and not host_traits
            and not variable.holds_addresses
        )

    def one_variable(self, number: int, role: Role, others: Sequence[Variable]) -> Variable:
        variable = self.ptx_variable(role) if self.format == "ptx" else self.llvm_variable(role)
        if role in (Role.SHARED, Role.DYNAMIC):
            words: tuple[int, ...] = ()
        elif role is Role.TABLE:
            words = tuple(self.word() for _ in range(self.random.choice((2, 3, 4, 8, 16))))
        else:
            words = tuple(self.word() for _ in range(variable.count)) if self.chance(0.5) else ()
        targets: tuple[str, ...] = ()
        if role is Role.FUNCTIONS:
            targets = self.some(self.addressable, 1, 5)
        elif role is Role.POINTERS:
            pointees = [v for v in others if v.role in (Role.TABLE, Role.SLOTS)]
            self.drawn_for = self.owner.get(self.random.choice(pointees).name, 0)
            tables = [v.name for v in pointees if v.role is Role.TABLE and self.may_be_used(v.name)]
            slots = [v.name for v in pointees if v.role is Role.SLOTS and self.may_be_used(v.name)]
            # A thread must not read what another writes, so that pointers are to one of these.
            targets = self.some(self.random.choice([names for names in (tables, slots) if names]), 1, 4)
            if targets[0] in tables and self.chance(0.4):
                variable = replace(variable, traits=variable.traits | {"offset"})
        if variable.linkage == "common":
            words = ()
        variable = replace(
            variable,
            words=words,
            targets=targets,
            alignment=max(variable.alignment, 8 if variable.holds_addresses else 4),
        )
        host_trait = bool({"used", "compiler_used", "externally_initialized"} & variable.traits)
        for_host = variable.space != "shared" and (
            host_trait or (variable.linkage in ("visible", "") and self.chance(0.7))
        )
        local = variable.linkage in ("internal", "private") and not host_trait
        if "unnamed" in variable.traits:
            variable = replace(variable, name=str(self.unnamed))
            self.unnamed += 1
        elif self.format == "ptx" and role is Role.TABLE and not variable.linkage and self.chance(0.4):
            variable = replace(variable, name=self.random.choice(CONSTANT_DATA).format(number))
            self.taken.add(variable.name)
        else:
            name = draw_name(self.random, self.format, f"var{number}", self.taken, for_host=for_host, local=local)
            variable = replace(variable, name=name)
        if self.owned and not self.is_copied(variable):
            owner = self.random.randrange(self.kernels)
            # Kernels that call through pointers stay together in any case.
            self.owner[variable.name] = {Role.FUNCTIONS: 0, Role.POINTERS: self.drawn_for or 0}.get(role, owner)
        self.drawn_for = None
        return self.written(variable)

    def written(self, variable: Variable) -> Variable:
        """The variable, perhaps written by the host."""
        program = Program(self.seed, self.format, (), (), (), (variable,))
        may_change = self.format == "ptx" or (
            "externally_initialized" in variable.traits or not ({"constant", "compiler_used", "used"} & variable.traits)
        )
        if variable.holds_addresses or not program.host_variables or not may_change or self.chance(0.5):
            return variable
        return replace(variable, written_by_host=tuple(self.word() for _ in range(variable.count)))

    def llvm_variable(self, role: Role) -> Variable:
        if role is Role.DYNAMIC:
            return Variable("", role, "shared", "external", alignment=self.random.choice((4, 8, 16)))
        linkage = self.linkage(_LLVM_VARIABLE_LINKAGES)
        if role is Role.SHARED:
            shared = self.random.choice(("internal", "internal", "private", "", "linkonce_odr", "weak"))
            return Variable("", role, "shared", shared, alignment=self.random.choice((4, 8, 16)))
        if linkage == "common" and role not in (Role.SLOTS, Role.COUNTER):
            linkage = "internal"
        is_data = role in (Role.TABLE, Role.FUNCTIONS, Role.POINTERS)
        spaces: tuple[Space, ...] = ("global", "global", "generic", "const" if is_data else "global")
        space = self.random.choice(spaces)
        traits = self.traits({"named_type": 0.2, "section": 0.1, "dso_local": 0.2, "metadata": 0.05})
        if linkage == "common":
            traits -= {"section"}
        local = linkage in ("internal", "private")
        if is_data and self.chance(0.6):
            traits |= {"constant"}
        if not local and linkage != "common":
            traits |= self.traits({"comdat": 0.2, "hidden": 0.15})
        if linkage in ("internal", ""):
            if self.chance(0.25):
                traits |= {self.random.choice(("used", "compiler_used"))}
            traits |= self.traits({"externally_initialized": 0.25})
            if linkage == "internal" and "externally_initialized" in traits:
                traits |= {"compiler_used"}
        if not {"used", "compiler_used", "externally_initialized"} & traits:
            traits |= self.traits({"unnamed_addr": 0.35})
            if local and "constant" in traits and self.chance(0.3):
                traits |= {"unnamed"}
        return Variable("", role, space, linkage, alignment=self.random.choice((4, 4, 8, 16, 64)), traits=traits)

    def ptx_variable(self, role: Role) -> Variable:
        if role is Role.DYNAMIC:
            return Variable("", role, "shared", "extern", alignment=self.random.choice((4, 8, 16)))
        linkage = self.linkage(_PTX_VARIABLE_LINKAGES)
        if role is Role.SHARED:
            shared = self.random.choice(("", "", "", "visible", "weak"))
            return Variable("", role, "shared", shared, alignment=self.random.choice((4, 8, 16)))
        if linkage == "common" and role not in (Role.SLOTS, Role.COUNTER):
            linkage = ""
        is_data = role in (Role.TABLE, Role.FUNCTIONS, Role.POINTERS)
        spaces: tuple[Space, ...] = ("global", "global", "const" if is_data else "global")
        space = self.random.choice(spaces)
        traits = self.traits({"generic_address": 0.5, "bytes": 0.2, "joined": 0.3, "unsized": 0.3})
        return Variable("", role, space, linkage, alignment=self.random.choice((4, 4, 8, 16, 64)), traits=traits)

    # Code

    def named(self, *roles: Role) -> list[str]:
        return [v.name for v in self.variables if v.role in roles and self.may_be_used(v.name)]

    def step(self, behind: Sequence[str]) -> Step:
        """A step of a function, or of a kernel; `behind` are functions that it may call without a guard."""
        random = self.random
        while True:
            match random.randrange(16):
                case 0 | 1:
                    return Arithmetic(random.choice(("add", "mul", "xor", "sub", "and", "or")), self.word())
                case 2:
                    return Division(random.choice(("u32", "u64", "f32", "f64")), self.word())
                case 3 | 4 if behind:
                    return Call(random.choice(behind), guarded=False)
                case 5:
                    return Call(random.choice(self.callable), guarded=True)
                case 6 if tables := self.named(Role.FUNCTIONS):
                    return CallPointer(random.choice(tables), random.randrange(4), self.chance(0.3))
                case 7 if self.chance(0.3) and not (self.owned and self.drawn_for != 0):
                    return CallEither(random.choice(self.callable), random.choice(self.callable))
                case 8 | 9 if tables := self.named(Role.TABLE):
                    index = 1 if self.chance(0.3) else None
                    return Lookup(random.choice(tables), index)
                case 10 if pointers := self.named(Role.POINTERS):
                    return Follow(random.choice(pointers))
                case 11 | 12 if slots := self.named(Role.SLOTS):
                    return Update(random.choice(slots), random.randrange(2, 9))
                case 13 if counters := self.named(Role.COUNTER):
                    return Count(random.choice(counters), random.choice((1, 15, 255)))
                case 14 if shared := self.named(Role.SHARED, Role.DYNAMIC):
                    return Update(random.choice(shared), random.randrange(2, 9))
                case 15 if self.chance(0.5):
                    return Scratch(random.choice((2, 4, 8)))

    def kernel_step(self) -> Step:
        random = self.random
        match random.randrange(12):
            case 0 if shared := self.named(Role.SHARED, Role.DYNAMIC):
                return Exchange(random.choice(shared), random.choice((1, 3, 32)))
            case 1:
                return Shuffle(random.choice((1, 2, 16)))
            case 2:
                return Vote(self.word())
            case _:
                return self.step(self.callable)

    def kernel(self, number: int) -> Kernel:
        random = self.random
        name = draw_name(random, self.format, f"kernel{number}", self.taken, for_host=self.format == "ll", local=False)
        known = self.named(Role.COUNTER)
        counters = self.some(known, 0, 1) if known else ()
        steps = tuple(self.kernel_step() for _ in range(random.randint(1, 6)))
        assignments = [self.assignment() for _ in range(random.choice((0, 0, 0, 1)))]
        if self.format == "ll":
            linkage = self.weighted({"": 6, "weak_odr": 1, "weak": 1})
            traits = self.traits({"annotated": 0.25, "bounds": 0.3, "attributes": 0.3, "metadata": 0.2})
            if linkage and self.chance(0.5):
                traits |= {"comdat"}
        else:
            linkage = self.weighted({"visible": 6, "weak": 1, "": 2})
            traits = self.traits({"maxntid": 0.3, "minnctapersm": 0.15, "shadows": 0.15})
        return Kernel(
            name=name,
            depth=None if self.chance(0.3) else random.randrange(4),
            counters=counters,
            steps=steps,
            assignments=tuple(a for a in assignments if a),
            linkage=linkage,
            traits=traits,
            comment=random.choice(_LLVM_COMMENTS if self.format == "ll" else _PTX_COMMENTS),
        )

    def assignment(self) -> Assignment | None:
        """What replaces an element of a variable that may change."""
        changing = [
            v
            for v in self.variables
            if v.holds_addresses and v.space != "const" and "constant" not in v.traits and self.may_be_used(v.name)
        ]
        if not changing:
            return None
        variable = self.random.choice(changing)
        if variable.role is Role.FUNCTIONS:
            candidates = self.callable
        else:
            role = next(v.role for v in self.variables if v.name == variable.targets[0])
            candidates = self.named(role)
        return Assignment(variable.name, self.random.randrange(variable.count), self.random.choice(candidates))


assert THREADS % 32 == 0  # warps are full, as shuffles and votes need it
