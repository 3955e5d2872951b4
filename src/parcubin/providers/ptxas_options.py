"""The command line of ptxas, which libnvptxcompiler takes too."""

from __future__ import annotations

from parcubin.errors import UnavailableError
from parcubin.model import CompilationOptions, FastCompile, RelocatableKind, Target
from parcubin.toolchain.version import Tool

_FIRST_RELEASE: dict[FastCompile, tuple[int, int]] = {"max": (12, 5), "mid": (12, 9), "min": (12, 9)}
"""The first release of ptxas, libnvptxcompiler and nvJitLink that knows a fast-compile level (tried: 12.4 to 13.5)."""


def ptxas_options(
    tool: Tool,
    target: Target,
    options: CompilationOptions,
    kind: RelocatableKind | None,
    function_registers: int | None,
) -> list[str]:
    """ptxas's arguments, without input and output.

    Args:
        tool: ptxas or libnvptxcompiler.
        target: the architecture.
        options: what was asked for.
        kind: of a relocatable module; None for an assembly.
        function_registers: most registers that a device function may use; None for no limit.

    Raises:
        UnavailableError: the tool does not know the fast-compile level.
    """
    arguments = ["-v", "-arch", target.name, optimisation_option(tool, options)]
    if kind is not None:
        arguments.append(f"-{kind.value}")
    if options.debug_info:
        arguments.append("-g")
    if options.line_info:
        arguments.append("-lineinfo")
    if options.max_registers is not None:
        arguments += ["-maxrregcount", str(options.max_registers)]
    if function_registers is not None:
        arguments += ["--device-function-maxrregcount", str(function_registers)]
    return [*arguments, *options.ptxas_options]


def optimisation_option(tool: Tool, options: CompilationOptions) -> str:
    """ptxas's `-O`, or the fast-compile level, which ptxas refuses next to most levels of `-O`.

    Raises:
        UnavailableError: the tool does not know the fast-compile level.
    """
    level = options.fast_compile
    if level == "0":
        return f"-O{0 if options.debug_info else options.opt_level}"
    first = _FIRST_RELEASE[level]
    if tool.version.release < first:
        raise UnavailableError(
            f"{tool} does not know the fast-compile level {level}; {first[0]}.{first[1]} is the first release that "
            "does. Use a newer one, or leave the level out."
        )
    return f"--Ofast-compile={level}"
