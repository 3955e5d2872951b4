"""The front of `parcubin-ptxas`: looks at the command line and the input, and becomes the real ptxas unless compiling
in parts pays. What it imports is small, so that it costs hardly more than a start of Python."""

from __future__ import annotations

import os
import sys

from parcubin.ptxas.command_line import ALLOW_SLOWER_CODE, CommandLine, NotUnderstoodError
from parcubin.ptxas.real import NoRealPtxasError, real_ptxas
from parcubin.split.cost import PTX_CHARACTER

TYPE_CHECKING = False  # typing takes 10 ms to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

SMALLEST_WORK = 1_000_000
"""CPU microseconds, predicted, from which on a program is compiled in parts. Splitting takes 0.3 s to start."""

_FIRST_TARGET_IN_PARTS = 90
"""As `split.worth.FIRST_WHOLE_PROGRAM_LINK`, which takes longer to import."""

_RUNNING = "PARCUBIN_PTXAS_RUNNING"
_LOG = "PARCUBIN_PTXAS_LOG"


def main() -> None:
    """The `parcubin-ptxas` executable."""
    sys.exit(run(sys.argv[0], sys.argv[1:]))


def run(invoked_as: str, arguments: Sequence[str]) -> int:
    """Does what ptxas would do.

    Args:
        invoked_as: the path of the program that was started.
        arguments: its arguments.

    Returns: the exit status, when this process did not become ptxas.
    """
    try:
        real = real_ptxas(invoked_as)
    except NoRealPtxasError as error:
        print(f"parcubin-ptxas: {error}", file=sys.stderr)
        return 255
    if real == os.environ.get(_RUNNING):
        print(f"parcubin-ptxas: {real}, taken for the real ptxas, starts parcubin-ptxas.", file=sys.stderr)
        return 255
    os.environ[_RUNNING] = real
    allow_slower_code = ALLOW_SLOWER_CODE in arguments
    arguments = [argument for argument in arguments if argument != ALLOW_SLOWER_CODE]
    try:
        command = CommandLine(arguments)
    except NotUnderstoodError as error:
        become(real, arguments, f"{error} is left to ptxas")
    if why := _why_whole(command):
        become(real, arguments, why)
    if not (allow_slower_code or _is_as_good_in_parts(command)):
        become(real, arguments, "linked code would be slower", split_compile=True)

    from parcubin.ptxas.parts import compile_in_parts

    refusal = compile_in_parts(command, real, allow_slower_code=allow_slower_code)
    if refusal is not None:
        become(real, arguments, refusal.reason, split_compile=refusal.is_sound)
    _log("compiled in parts")
    return 0


def become(real: str, arguments: Sequence[str], reason: str, *, split_compile: bool = False) -> NoReturn:
    """Replaces this process by ptxas.

    Args:
        real: its path.
        arguments: its arguments.
        reason: for the log.
        split_compile: whether the input is large and has several kernels, which ptxas can optimise in parallel.
    """
    if split_compile and (option := _split_compile(real, arguments)):
        arguments = [option, *arguments]
        reason = f"{reason}; {option}"
    _log(f"ptxas: {reason}")
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(real, [real, *arguments])  # noqa: S606 - the user's ptxas with the user's arguments
    except OSError as error:
        print(f"parcubin-ptxas: {real} cannot be run: {error.strerror}.", file=sys.stderr)
        sys.exit(255)


def _why_whole(command: CommandLine) -> str | None:
    """Why the program is left to ptxas as it is, as far as a look can tell."""
    if len(command.inputs) != 1:
        return f"there are {len(command.inputs)} inputs"
    if command.values.get("split-compile", "0") == "1":
        return "one thread is asked for"
    if _cores() < 2:
        return "there is one core"
    try:
        size = os.stat(command.inputs[0]).st_size  # noqa: PTH116 - see command_line.py
    except OSError:
        return "the input is not a file that can be read"
    if size * PTX_CHARACTER < SMALLEST_WORK:
        return "there is little to do"
    if os.path.lexists(command.output) and not os.path.isfile(command.output):  # noqa: PTH113
        return "the output is not a regular file"
    try:
        with open(command.inputs[0], "rb") as file:  # noqa: PTH123
            ptx = file.read()
    except OSError:
        return "the input is not a file that can be read"
    if ptx.count(b".entry") < 2:
        return "there is one kernel"
    target = ptx.find(b".target")
    if b"debug" in ptx[target : ptx.find(b"\n", target)]:
        return "the PTX is to be debugged"
    return None


def _is_as_good_in_parts(command: CommandLine) -> bool:
    if "compile-only" in command.flags:
        return True
    number = command.values.get("gpu-name", "").removeprefix("sm_").rstrip("af")
    return number.isdecimal() and int(number) >= _FIRST_TARGET_IN_PARTS


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _split_compile(real: str, arguments: Sequence[str]) -> str | None:
    """The option for as many threads as there are cores, where ptxas has it and nobody else decides."""
    if "jobserver" in os.environ.get("MAKEFLAGS", "") or any("split-compile" in argument for argument in arguments):
        return None
    import subprocess

    help_text = subprocess.run([real, "--help"], capture_output=True, check=False).stdout
    return f"--split-compile={_cores()}" if b"--split-compile" in help_text else None


def _log(what: str) -> None:
    """Adds a line to the file that PARCUBIN_PTXAS_LOG names."""
    if path := os.environ.get(_LOG):
        try:
            with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:  # noqa: PTH123
                file.write(f"{what}\n")
        except OSError:
            pass
