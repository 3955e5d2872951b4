"""parcubin: LLVM IR and PTX to CUBIN, in parallel."""

from __future__ import annotations

from parcubin.errors import CompileError, InputError, ParcubinError, ToolchainError, UsageError

TYPE_CHECKING = False  # typing takes 10 ms to import
if TYPE_CHECKING:
    from parcubin.compiler import Compiler, compile  # noqa: A004
    from parcubin.model import CompilationOptions, KernelInfo, Target, VariableInfo
    from parcubin.program import Program, Report

__all__ = [
    "CompilationOptions",
    "CompileError",
    "Compiler",
    "InputError",
    "KernelInfo",
    "ParcubinError",
    "Program",
    "Report",
    "Target",
    "ToolchainError",
    "UsageError",
    "VariableInfo",
    "compile",
]

__version__ = "0.1.0"

_LAZY = {
    "Compiler": "compiler",
    "compile": "compiler",
    "Program": "program",
    "Report": "program",
    **dict.fromkeys(("CompilationOptions", "KernelInfo", "Target", "VariableInfo"), "model"),
}


def __getattr__(name: str) -> object:
    """Imports what is used when it is first used, so that `import parcubin` is fast."""
    if name not in _LAZY:
        raise AttributeError(f"module 'parcubin' has no attribute '{name}'")
    from importlib import import_module

    value: object = getattr(import_module(f"parcubin.{_LAZY[name]}"), name)
    globals()[name] = value
    return value
