"""The command line of ptxas, which libnvptxcompiler takes too."""

from __future__ import annotations

from parcubin.model import CompilationOptions, RelocatableKind, Target


def ptxas_options(
    target: Target, options: CompilationOptions, kind: RelocatableKind | None, function_registers: int | None
) -> list[str]:
    """ptxas's arguments, without input and output.

    Args:
        target: the architecture.
        options: what was asked for.
        kind: of a relocatable module; None for an assembly.
        function_registers: most registers that a device function may use; None for no limit.
    """
    arguments = ["-v", "-arch", target.name, f"-O{0 if options.debug_info else options.opt_level}"]
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
    return arguments
