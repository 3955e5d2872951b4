"""What linkers do not always say: duplicate symbols, disagreeing variables, lost kernels.

nvlink refuses most of what is checked here. nvJitLink returns success, takes the first definition and leaves its logs
empty (measured with 13.0 and 13.5); objects newer than the library give an empty CUBIN and success.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parcubin.errors import DuplicateSymbolError, LinkCheckError
from parcubin.inspect.cubin import CubinInfo, Symbol

_VARIABLE_KINDS = ("global", "constant", "shared")
_NAMES_IN_MESSAGE = 10


@dataclass(frozen=True)
class _Occurrence:
    """A symbol that the linker merges by name, and where it was found."""

    module: str
    symbol: Symbol
    is_definition: bool


def check_before_link(modules: Sequence[tuple[str, CubinInfo]]) -> None:
    """Checks that modules can be linked in the order given without one silently shadowing another.

    Weak and common definitions merge, so they may repeat. Kernels count whatever their binding: a kernel without
    `.visible` is local, and two of one name end up in the output twice.

    Args:
        modules: name for messages and contents of each module.

    Raises:
        DuplicateSymbolError: a kernel, function or variable is defined strongly twice.
        LinkCheckError: definitions and references of one name disagree about what it is or its size in bytes, or
            dynamic shared memory needs a larger alignment than the first module gives it (linkers take the first's).
    """
    by_name: dict[str, list[_Occurrence]] = defaultdict(list)
    for module, info in modules:
        for is_definition, symbols in ((True, info.defined), (False, info.undefined)):
            for symbol in symbols:
                if _takes_part(symbol):
                    by_name[symbol.name].append(_Occurrence(module, symbol, is_definition))

    repeated = {name: occurrences for name, occurrences in by_name.items() if len(occurrences) > 1}
    _check_duplicates(repeated)
    faults = [fault for occurrences in repeated.values() if (fault := _disagreement(occurrences))]
    if faults:
        raise LinkCheckError("These modules cannot be linked: " + "; ".join(faults[:_NAMES_IN_MESSAGE]) + ".")


def check_after_link(output: CubinInfo, kernels: Iterable[str], variables: Iterable[str]) -> None:
    """Checks that everything that went into a link came out of it.

    Args:
        output: the linked CUBIN.
        kernels: names of the kernels that must be in it.
        variables: names of the variables (and texture and surface references) that must be in it.

    Raises:
        LinkCheckError: names every kernel and variable that is missing.
    """
    present = {symbol.name for symbol in output.defined if symbol.kind in ("global", "constant")}
    # Texture and surface references have no storage: they stay undefined in a finished CUBIN.
    present |= {symbol.name for symbol in output.undefined if symbol.kind == "texture"}
    missing_kernels = sorted(set(kernels) - output.kernels.keys())
    missing_variables = sorted(set(variables) - present)
    missing = [
        f"{noun} {', '.join(names)}"
        for noun, names in (("kernels", missing_kernels), ("variables", missing_variables))
        if names
    ]
    if missing:
        raise LinkCheckError(
            f"The linker reported success, but its output lacks the {' and the '.join(missing)}.",
            kernels=missing_kernels,
        )


def _takes_part(symbol: Symbol) -> bool:
    return symbol.kind != "other" and (symbol.binding != "local" or symbol.kind == "kernel")


def _is_strong(occurrence: _Occurrence) -> bool:
    return occurrence.is_definition and occurrence.symbol.binding not in ("weak", "common")


def _check_duplicates(by_name: dict[str, list[_Occurrence]]) -> None:
    duplicates = [
        strong for occurrences in by_name.values() if len(strong := list(filter(_is_strong, occurrences))) > 1
    ]
    if not duplicates:
        return
    first, second = duplicates[0][:2]
    others = f", and so are {len(duplicates) - 1} more symbols" if len(duplicates) > 1 else ""
    raise DuplicateSymbolError(
        f"The {_describe(second.symbol)} '{second.symbol.name}' is defined in {first.module} "
        f"and again in {second.module}{others}. Leave one of the inputs out, or rename what they share.",
        input_name=second.module,
        kernels=[strong[0].symbol.name for strong in duplicates if strong[0].symbol.kind == "kernel"],
    )


def _disagreement(occurrences: list[_Occurrence]) -> str | None:
    """Says how the occurrences of one name disagree, None when they do not."""
    definition = _deciding(occurrences)
    name = definition.symbol.name
    for other in occurrences:
        if _family(other.symbol) != _family(definition.symbol):
            return (
                f"'{name}' is a {_describe(definition.symbol)} in {definition.module} "
                f"and a {_describe(other.symbol)} in {other.module}"
            )
        if _sizes_differ(definition, other):
            return (
                f"'{name}' has {definition.symbol.size} bytes in {definition.module} "
                f"and {other.symbol.size} in {other.module}"
            )
    dynamic = [o for o in occurrences if o.symbol.kind == "shared" and o.symbol.alignment is not None]
    for other in dynamic:
        if (other.symbol.alignment or 0) > (dynamic[0].symbol.alignment or 0):
            return (
                f"the dynamic shared memory '{name}' is aligned to {other.symbol.alignment} bytes in {other.module}, "
                f"but to {dynamic[0].symbol.alignment} in {dynamic[0].module}, which is linked first and decides"
            )
    return None


def _deciding(occurrences: list[_Occurrence]) -> _Occurrence:
    """The occurrence that the others must agree with: a definition before a common one before a reference; the largest
    where several rank the same."""

    def rank(occurrence: _Occurrence) -> tuple[bool, bool, int]:
        return occurrence.is_definition, occurrence.symbol.binding != "common", occurrence.symbol.size

    return max(occurrences, key=rank)


def _sizes_differ(definition: _Occurrence, other: _Occurrence) -> bool:
    if definition.symbol.kind not in _VARIABLE_KINDS:
        return False
    if definition.symbol.binding == other.symbol.binding == "common":
        return False
    unknown = not other.is_definition and other.symbol.size == 0  # `extern int v[]`
    return not unknown and definition.symbol.size != other.symbol.size


def _family(symbol: Symbol) -> str:
    return "function" if symbol.kind in ("function", "kernel") else symbol.kind


def _describe(symbol: Symbol) -> str:
    return {
        "global": "global variable",
        "constant": "constant variable",
        "shared": "shared variable",
        "texture": "texture reference",
    }.get(symbol.kind, symbol.kind)
