"""Makes a program that fails smaller.

    python -m tests.generated.reduce ptx 67

compiles what the seed draws and, if that fails or something static differs, prints a smaller program that does, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import parcubin
from tests.generated.compiled import compile_split, compile_whole, static_differences, texts_of
from tests.generated.description import Alias, Function, Kernel, Program, Variable, named_by
from tests.generated.draw import draw


def reduced(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A smaller program for which `fails` is still true: no kernel, symbol, step or trait of it can be left out."""
    while True:
        smaller = next((candidate for candidate in _smaller(program) if fails(candidate)), None)
        if smaller is None:
            return program
        program = smaller


def _smaller(program: Program) -> Iterator[Program]:
    for i in range(len(program.kernels)):
        yield replace(program, kernels=program.kernels[:i] + program.kernels[i + 1 :])
    symbols: tuple[Function | Alias | Variable, ...] = (*program.functions, *program.aliases, *program.variables)
    for symbol in symbols:
        yield _without(program, {symbol.name})
    for i, kernel in enumerate(program.kernels):
        for less in _smaller_kernels(kernel):
            yield replace(program, kernels=(*program.kernels[:i], less, *program.kernels[i + 1 :]))
    for i, function in enumerate(program.functions):
        for shorter in _smaller_functions(function):
            yield replace(program, functions=(*program.functions[:i], shorter, *program.functions[i + 1 :]))
    for i, variable in enumerate(program.variables):
        for smaller in _smaller_variables(variable):
            yield replace(program, variables=(*program.variables[:i], smaller, *program.variables[i + 1 :]))
    for trait in sorted(program.traits):
        yield replace(program, traits=program.traits - {trait})


def _smaller_functions(function: Function) -> Iterator[Function]:
    for i in range(len(function.steps)):
        yield replace(function, steps=function.steps[:i] + function.steps[i + 1 :])
    for trait in sorted(function.traits):
        yield replace(function, traits=function.traits - {trait})
    if function.comment:
        yield replace(function, comment="")


def _smaller_kernels(kernel: Kernel) -> Iterator[Kernel]:
    for i in range(len(kernel.steps)):
        yield replace(kernel, steps=kernel.steps[:i] + kernel.steps[i + 1 :])
    for trait in sorted(kernel.traits):
        yield replace(kernel, traits=kernel.traits - {trait})
    if kernel.counters:
        yield replace(kernel, counters=())
    if kernel.assignments:
        yield replace(kernel, assignments=())
    if kernel.comment:
        yield replace(kernel, comment="")


def _smaller_variables(variable: Variable) -> Iterator[Variable]:
    for trait in sorted(variable.traits):
        yield replace(variable, traits=variable.traits - {trait})
    if len(variable.targets) > 1:
        yield replace(variable, targets=variable.targets[:-1])
    if len(variable.words) > 2:
        yield replace(variable, words=variable.words[:2])
    if variable.written_by_host:
        yield replace(variable, written_by_host=())


def _without(program: Program, names: set[str]) -> Program:
    """The program without some symbols and all that names them."""
    while True:
        more = {a.name for a in program.aliases if a.aliasee in names}
        more |= {v.name for v in program.variables if v.targets and names.issuperset(v.targets)}
        if more <= names:
            break
        names = names | more
    return replace(
        program,
        kernels=tuple(
            replace(
                k,
                steps=tuple(s for s in k.steps if names.isdisjoint(named_by(s))),
                counters=tuple(c for c in k.counters if c not in names),
                assignments=tuple(a for a in k.assignments if names.isdisjoint((a.pointers, a.target))),
            )
            for k in program.kernels
        ),
        functions=tuple(
            replace(f, steps=tuple(s for s in f.steps if names.isdisjoint(named_by(s))))
            for f in program.functions
            if f.name not in names
        ),
        aliases=tuple(a for a in program.aliases if a.name not in names),
        variables=tuple(
            replace(v, targets=tuple(t for t in v.targets if t not in names))
            for v in program.variables
            if v.name not in names
        ),
    )


def failure(program: Program, compiler: parcubin.Compiler) -> str:
    """What goes wrong when the program is split; empty when nothing does, or when the whole program fails, too."""
    try:
        whole = compile_whole(program, compiler)
    except Exception:  # no candidate
        return ""
    try:
        found = static_differences(program, whole, compile_split(program, compiler))
    except parcubin.ParcubinError as error:
        return f"{type(error).__name__}: {error}"
    return found[0] if found else ""


def main() -> int:
    program = draw(int(sys.argv[2]), "ll" if sys.argv[1] == "ll" else "ptx")
    with parcubin.Compiler("sm_90", jobs=1) as compiler:
        wrong = failure(program, compiler)
        if not wrong:
            print("Nothing is wrong with it.")
            return 0
        kind = wrong[:20]
        smaller = reduced(program, lambda candidate: failure(candidate, compiler).startswith(kind))
        print(*texts_of(smaller), sep="\n")
        print(failure(smaller, compiler))
        return 1


if __name__ == "__main__":
    sys.exit(main())
