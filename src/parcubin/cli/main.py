"""The command line. A command imports what it needs when it runs, so that `--help` is fast."""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

from parcubin.cli.compile import compile_command
from parcubin.cli.info import info_command
from parcubin.cli.inspect import inspect_command
from parcubin.cli.split import split_command

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("compile")(compile_command)
app.command("info")(info_command)
app.command("inspect")(inspect_command)
app.command("split")(split_command)


def _print_version(requested: bool) -> None:
    if requested:
        from parcubin import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """LLVM IR and PTX for NVIDIA GPUs to CUBIN, in parallel."""


def main() -> None:
    """The `parcubin` executable. SIGTERM unwinds as Ctrl-C does, so that workers and temporary files go."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    app(prog_name="parcubin")
