"""Errors on the command line: one paragraph on standard error, the compiler's log shortened, no traceback."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from parcubin.errors import InputError, ParcubinError
from parcubin.printable import printable

MAX_LOG_LINES = 20


@contextmanager
def exit_on_error(as_json: bool) -> Iterator[None]:
    """Turns a `ParcubinError` into a message and `SystemExit` with its exit status.

    Args:
        as_json: also print the error as the one JSON object that `--json` promises on standard output.
    """
    try:
        yield
    except ParcubinError as error:
        print_error(error)
        if as_json:
            print_json({"error": describe(error)})
        sys.exit(error.exit_status)


def show_verbose(times: int) -> None:
    """Does what `-v`, or `-vv`, asks for."""
    if times:
        import logging

        from parcubin.log import show_log

        show_log(logging.INFO if times == 1 else logging.DEBUG)


def print_error(error: ParcubinError) -> None:
    """Writes the message and the first lines of the compiler's log to standard error."""
    print(f"parcubin: {printable(error.message)}", file=sys.stderr)
    lines = error.log.strip().splitlines()
    for line in lines[:MAX_LOG_LINES]:
        print(f"    {printable(line)}", file=sys.stderr)
    if len(lines) > MAX_LOG_LINES:
        print(f"    ... {len(lines) - MAX_LOG_LINES} more lines of the compiler's log", file=sys.stderr)


def describe(error: ParcubinError) -> dict[str, object]:
    """The error as JSON: `type`, `message`, `kernels`, `log`, and `input` and `line` where an input is at fault."""
    described: dict[str, object] = {
        "type": type(error).__name__,
        "message": error.message,
        "kernels": list(error.kernels),
        "log": error.log,
    }
    if isinstance(error, InputError):
        described |= {"input": error.input_name, "line": error.line}
    return described


def print_json(value: dict[str, object]) -> None:
    """Prints one JSON object on standard output."""
    json.dump(value, sys.stdout, indent=2)
    sys.stdout.write("\n")
    sys.stdout.flush()
