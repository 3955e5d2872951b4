"""What the death of a worker, or of a process that it started, says about the compiler that ran in it."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from parcubin.errors import (
    CompilationTimeoutError,
    InternalCompilerError,
    OutOfMemoryError,
    ParcubinError,
    ProcessCrashedError,
)
from parcubin.toolchain.logs import is_out_of_memory, out_of_memory

_SIGNALS_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FATAL = re.compile(r"(?:LLVM ERROR: |(?=Assertion ))(.*)")
_FUNCTION_AT_FAULT = re.compile(r"^In function: (\S+)$", re.M)


def is_from_outside(error: ParcubinError) -> bool:
    """Whether a process died because somebody, or the system, ended it."""
    return isinstance(error, ProcessCrashedError) and error.signal in _SIGNALS_FROM_OUTSIDE


def is_shortage_of_memory(error: ParcubinError) -> bool:
    """Whether a job failed because there was too little memory."""
    return isinstance(error, OutOfMemoryError) or (
        isinstance(error, ProcessCrashedError) and is_out_of_memory(error.log)
    )


def as_compiler_error(error: ParcubinError, what: str, kernels: Sequence[str] = ()) -> ParcubinError:
    """The error; the crash of a process becomes that of the compiler in it, and a time limit names what hit it.

    Args:
        error: what a job failed with.
        what: what was compiled.
        kernels: those in it; if LLVM names the one at fault, that one is the error's.
    """
    if isinstance(error, CompilationTimeoutError):
        return _timeout(error, what, kernels)
    if isinstance(error, OutOfMemoryError | InternalCompilerError) and not error.kernels:
        return type(error)(error.message, kernels=kernels, log=error.log)
    if not isinstance(error, ProcessCrashedError):
        return error
    how = f" ({signal.Signals(error.signal).name})" if error.signal else ""
    if error.signal == signal.SIGKILL or is_out_of_memory(error.log):
        said = "it was ended by SIGKILL twice" if error.signal == signal.SIGKILL else f"it crashed{how}"
        return out_of_memory(what, tool="The compiler", said=said, kernels=kernels, log=error.log)
    if is_from_outside(error):
        return error
    complaint = _FATAL.search(error.log)
    function = _FUNCTION_AT_FAULT.search(error.log)
    return InternalCompilerError(
        f"The compiler crashed on {what}{how}" + (f": {complaint[1]}" if complaint else "."),
        kernels=[function[1]] if function and function[1] in kernels else kernels,
        log=error.log,
    )


def _timeout(error: CompilationTimeoutError, what: str, kernels: Sequence[str]) -> CompilationTimeoutError:
    if error.total:
        message = (
            f"{what} was not compiled when the time limit of the whole compile, {error.seconds:g} s, was reached. "
            "Raise the limit, or use more cores."
        )
    else:
        message = (
            f"{what} did not compile within {error.seconds:g} s, the time limit of a shard. Raise the limit, or make "
            "the kernel smaller: less unrolling and inlining."
        )
    return CompilationTimeoutError(message, seconds=error.seconds, total=error.total, kernels=kernels, log=error.log)
