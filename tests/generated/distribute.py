"""Programs of two modules that refer to each other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from random import Random

from tests.generated.description import (
    Alias,
    Function,
    Kernel,
    Program,
    Role,
    Symbol,
    Variable,
    is_constant_data,
    is_everywhere,
)

_DISCARDABLE = ("linkonce", "linkonce_odr")
"""A module that uses what has such a linkage has to define it."""

_MERGED = (*_DISCARDABLE, "weak", "weak_odr", "common")
"""Several modules may define it."""


def distributed(program: Program, random: Random) -> Program:
    """The program in two modules. What is local to a module has all its users there."""
    program = _everywhere(program, random)
    home = _homes(program, random)
    program = _replaced(program, {s.name: replace(s, module=home[s.name]) for s in program.symbol.values()})
    if len(set(home.values())) < 2:
        return program
    program = replace(program, modules=2)
    if program.format == "ll":
        program = _declared_unusually(program, random)
    return replace(program, twins=_twins(program, random))


def is_local(program: Program, symbol: Symbol) -> bool:
    """Whether the symbol means nothing to other modules."""
    if isinstance(symbol, Kernel):
        return False
    return symbol.linkage in (("internal", "private") if program.format == "ll" else ("",))


def _named(program: Program) -> Mapping[str, list[str]]:
    named: dict[str, list[str]] = defaultdict(list)
    for user, name in program.users():
        named[user].append(name)
    return named


def _everywhere(program: Program, random: Random) -> Program:
    """The program with `everywhere` where it may be: on nothing that needs what is local to a module."""
    named = _named(program)
    chosen = {
        s.name
        for s in program.functions_and_variables
        if s.linkage in _DISCARDABLE or (s.linkage in _MERGED and random.random() < 0.5)
    }
    while unfit := {n for n in chosen if any(is_local(program, program.symbol[u]) for u in named[n])}:
        chosen -= unfit
    changed: dict[str, Symbol] = {}
    for symbol in program.functions_and_variables:
        if symbol.name in chosen:
            changed[symbol.name] = replace(symbol, traits=symbol.traits | {"everywhere"})
        elif symbol.linkage in _DISCARDABLE:
            changed[symbol.name] = replace(symbol, linkage="weak_odr")
    return _replaced(program, changed)


def _homes(program: Program, random: Random) -> Mapping[str, int]:
    """A module for each symbol."""
    leader = {name: name for name in program.symbol}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for user, name in program.users():
        symbol = program.symbol[name]
        if is_local(program, symbol) or isinstance(program.symbol[user], Alias):
            leader[find(user)] = find(name)
    module = {name: random.randrange(2) for name in program.symbol if leader[name] == name}
    return {name: module[find(name)] for name in program.symbol}


def _declared_unusually(program: Program, random: Random) -> Program:
    """LLVM: some of what other modules use is `available_externally` or `extern_weak` there."""
    named = _named(program)
    changed: dict[str, Symbol] = {}
    for symbol in program.functions_and_variables:
        if symbol.linkage or is_everywhere(symbol):
            continue
        needs_local = any(is_local(program, program.symbol[n]) for n in named[symbol.name])
        is_fixed = isinstance(symbol, Function) or ("constant" in symbol.traits and not symbol.written_by_host)
        if random.random() < 0.3 and is_fixed and not needs_local:
            changed[symbol.name] = replace(symbol, traits=symbol.traits | {"available"})
        elif random.random() < 0.3:
            changed[symbol.name] = replace(symbol, traits=symbol.traits | {"extern_weak"})
    return _replaced(program, changed)


def _twins(program: Program, random: Random) -> tuple[tuple[str, str], ...]:
    """Local symbols that are called like something in the other module."""
    parts = [program.parts(module) for module in range(2)]
    found: list[tuple[str, str]] = []
    used: set[str] = set()
    for symbol in program.functions_and_variables:
        if not is_local(program, symbol) or symbol.name in program.host_variables or "unnamed" in symbol.traits:
            continue
        part = parts[symbol.module]
        for other in program.functions_and_variables:
            if (
                other.module != symbol.module
                and other.name not in part.defined | part.available | part.declared | used
                and "unnamed" not in other.traits
                and _may_be_called_like(program, symbol, other)
                and random.random() < 0.2
            ):
                found.append((symbol.name, other.name))
                used |= {symbol.name, other.name}
                break
        used.add(symbol.name)
    return tuple(found)


def _may_be_called_like(program: Program, symbol: Function | Variable, other: Function | Variable) -> bool:
    """In PTX, names say what is constant data and what the host may name."""
    if program.format == "ll":
        return True
    if other.name in program.host_variables:
        return False
    if isinstance(symbol, Variable) and re.fullmatch("[A-Za-z_][A-Za-z_0-9]*", other.name):
        return False  # the host might look it up, and find a function
    return not is_constant_data(other.name) or (isinstance(symbol, Variable) and symbol.role is Role.TABLE)


def _replaced(program: Program, changed: Mapping[str, Symbol]) -> Program:
    def kernel(k: Kernel) -> Kernel:
        new = changed.get(k.name, k)
        assert isinstance(new, Kernel)
        return new

    def function(f: Function) -> Function:
        new = changed.get(f.name, f)
        assert isinstance(new, Function)
        return new

    def alias(a: Alias) -> Alias:
        new = changed.get(a.name, a)
        assert isinstance(new, Alias)
        return new

    def variable(v: Variable) -> Variable:
        new = changed.get(v.name, v)
        assert isinstance(new, Variable)
        return new

    return replace(
        program,
        kernels=tuple(map(kernel, program.kernels)),
        functions=tuple(map(function, program.functions)),
        aliases=tuple(map(alias, program.aliases)),
        variables=tuple(map(variable, program.variables)),
    )
