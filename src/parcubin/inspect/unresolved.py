"""Symbols that PTX uses and nothing defines: which kernels reach them, and the error that says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from parcubin.errors import UnresolvedSymbolError
from parcubin.inspect.ptx import PtxSummary, is_of_device_runtime
from parcubin.ptx_syntax import UseReader, alias, function_head, statements, variable_declaration, without_comments

_NAMES_IN_MESSAGE = 3


@dataclass(frozen=True)
class Use:
    """A symbol and who uses it.

    Attributes:
        symbol: its name.
        where: what messages call the input or shard that uses it.
        kernels: the kernels that reach it.
        functions: when no kernel does, the functions that refer to it.
        defined_in: the input that defines it but is not linked with this one; empty when no input does.
        input_name: the input that refers to it, where that is known.
        line: the line of the input where it does so first.
    """

    symbol: str
    where: str
    kernels: tuple[str, ...]
    functions: tuple[str, ...] = ()
    defined_in: str = ""
    input_name: str = ""
    line: int | None = None


def uses_of(
    symbols: Collection[str], text: str, summary: PtxSummary, where: str, defined_in: Mapping[str, str] | None = None
) -> list[Use]:
    """Who uses symbols in a PTX module: through calls, addresses, aliases and initial values.

    Args:
        symbols: the names to look for.
        text: the PTX.
        summary: of the same PTX.
        where: what messages call it.
        defined_in: inputs that define some of them and are not linked with this one.
    """
    users = _users(text, summary)
    kernels = {kernel.name for kernel in summary.kernels}
    found = []
    for symbol in sorted(symbols):
        reaching = _closure(symbol, users)
        found.append(
            Use(
                symbol,
                where,
                kernels=tuple(sorted(reaching & kernels)),
                functions=() if reaching & kernels else tuple(sorted(users[symbol])),
                defined_in=(defined_in or {}).get(symbol, ""),
            )
        )
    return found


def unresolved_error(uses: Iterable[Use]) -> UnresolvedSymbolError:
    """One error for all uses, with every symbol and every kernel that reaches one."""
    by_symbol: dict[str, list[Use]] = defaultdict(list)
    for use in uses:
        by_symbol[use.symbol].append(use)
    lines = [_describe(symbol, by_symbol[symbol]) for symbol in sorted(by_symbol)]
    hints = []
    if any(use.defined_in for several in by_symbol.values() for use in several):
        hints.append("Inputs that use each other have to be linked: compile to one CUBIN instead of a bundle.")
    if any(
        not use.defined_in and not is_of_device_runtime(use.symbol) for several in by_symbol.values() for use in several
    ):
        hints.append("Add the inputs that define what is missing.")
    if any(map(is_of_device_runtime, by_symbol)):
        hints.append("Kernels that launch kernels are linked with libcudadevrt: compile to one CUBIN.")
    if len(lines) == 1:
        message = f"A symbol is used and not defined: {lines[0]}. {' '.join(hints)}"
    else:
        message = "\n".join([f"{len(lines)} symbols are used and not defined:", *(f"  {x}" for x in lines), *hints])
    first = next((use for symbol in sorted(by_symbol) for use in by_symbol[symbol] if use.line is not None), None)
    return UnresolvedSymbolError(
        message,
        symbols=sorted(by_symbol),
        input_name=first.input_name if first else "",
        line=first.line if first else None,
        kernels=list(dict.fromkeys(k for several in by_symbol.values() for use in several for k in use.kernels)),
    )


def demangled(name: str) -> str:
    """A C++ or Rust name as its source has it, and any other as it is.

    pycxxfilt wraps LLVM's demangler, which reads every name of the CUB corpus; itanium-demangler, in Python, fails on
    817 of 2,895, and the C++ library's, through ctypes, would load that library into this process.
    """
    if not name.startswith(("_Z", "_R")):
        return name
    import pycxxfilt

    try:
        return pycxxfilt.demangle(name) or name
    except ValueError:
        return name


def _describe(symbol: str, uses: Sequence[Use]) -> str:
    plain = demangled(symbol)
    name = f"'{symbol}'" if plain == symbol else f"'{plain}' ({symbol})"
    kernels = list(dict.fromkeys(k for use in uses for k in use.kernels))
    functions = list(dict.fromkeys(f for use in uses for f in use.functions))
    user = (
        f"by kernel{'s' if len(kernels) > 1 else ''} {_some(kernels)}"
        if kernels
        else f"by {_some(functions)}"
        if functions
        else f"in {uses[0].where}"
    )
    defined_in = next((use.defined_in for use in uses if use.defined_in), "")
    at = next((f" (line {use.line} of {use.input_name})" for use in uses if use.line is not None), "")
    return f"{name}, used {user}{at}" + (f" and defined in {defined_in}" if defined_in else "")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(demangled(name) for name in names[:_NAMES_IN_MESSAGE])
    more = len(names) - _NAMES_IN_MESSAGE
    return f"{shown} and {more} more" if more > 0 else shown


def _users(text: str, summary: PtxSummary) -> dict[str, set[str]]:
    """For each name, the functions, kernels and variables that refer to it."""
    functions = {f.name for f in (*summary.kernels, *summary.functions)} | {*summary.declared}
    read = UseReader(functions, {v.name for v in summary.variables})
    users: dict[str, set[str]] = defaultdict(set)
    data = text.encode("utf-8", "surrogateescape")
    for statement in statements(data):
        head = without_comments(data[statement.start : statement.body or statement.end])
        if function := function_head(head):
            if statement.body is not None:
                for name in read(without_comments(data[statement.body : statement.end])).names:
                    users[name].add(function.name)
        elif names := alias(head):
            users[names[1]].add(names[0])
        elif declaration := variable_declaration(head):
            for declarator in declaration.declarators:
                if declarator.initial is not None:
                    for name in read(head[declarator.initial : declarator.end]).names:
                        users[name].add(declarator.name)
    return users


def _closure(symbol: str, users: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    pending = [symbol]
    while pending:
        for user in users.get(pending.pop(), set()) - reached:
            reached.add(user)
            pending.append(user)
    return reached
