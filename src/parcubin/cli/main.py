"""The command line. What a command needs is imported when it runs, so that everything starts fast."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

COMMANDS = {
    "cache": "Show, check or clear the cache.",
    "compile": "Compile LLVM IR or PTX for NVIDIA GPUs, in parallel.",
    "bugreport": "Collect what a report of a fault needs.",
    "info": "Show the toolchain found, the driver, what is configured, the provider chosen and why.",
    "inspect": "Show the kernels of a CUBIN or bundle.",
    "split": "Write the shards of a program and the plan.",
}

_HELP = """\
Usage: parcubin [--version] COMMAND ...

LLVM IR and PTX for NVIDIA GPUs to CUBIN, in parallel.

Commands:
{commands}

parcubin COMMAND --help describes a command.
"""


def command_of(name: str) -> Callable[..., None]:
    """The function behind a command."""
    from importlib import import_module

    command: Callable[..., None] = getattr(import_module(f"parcubin.cli.{name}"), f"{name}_command")
    return command


def run(arguments: Sequence[str]) -> None:
    """Runs the command line.

    Args:
        arguments: without the program's name.

    Raises:
        SystemExit: with the exit status, when it is not 0, or nothing was to be done.
    """
    name = arguments[0] if arguments else "--help"
    if name == "--version":
        from parcubin import __version__

        print(__version__)
    elif name in ("--help", "-h"):
        width = max(map(len, COMMANDS))
        print(_HELP.format(commands="\n".join(f"  {n:<{width}}  {text}" for n, text in COMMANDS.items())), end="")
        if not arguments:
            sys.exit(2)
    elif name in COMMANDS:
        from parcubin.cli.arguments import run_command

        run_command(command_of(name), f"parcubin {name}", arguments[1:])
    else:
        print(f"parcubin: there is no command '{name}'. The commands are {', '.join(COMMANDS)}.", file=sys.stderr)
        sys.exit(2)


def main() -> None:
    """The `parcubin` executable. SIGINT and SIGTERM unwind everything, so that workers, temporary files and tokens go,
    and end with status 130 and 143. Only the first counts: nothing interrupts the unwinding. When nobody reads what is
    printed any more, it ends likewise, with status 141."""
    unwind_on_signals()
    try:
        try:
            run(sys.argv[1:])
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):  # Python flushes them at its exit
            os.dup2(nowhere, stream)
        sys.exit(128 + signal.SIGPIPE)


def unwind_on_signals() -> None:
    """Makes SIGINT and SIGTERM a `SystemExit`, with status 130 and 143."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # a shell's background job is to ignore Ctrl-C
            signal.signal(number, _unwind)


def end_interruptibility() -> None:
    """From here on, SIGINT and SIGTERM come too late: what was asked for is written, and the exit status says so."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is _unwind:
            signal.signal(number, signal.SIG_IGN)


def _unwind(number: int, _: FrameType | None) -> None:
    for other in (signal.SIGINT, signal.SIGTERM):
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)
