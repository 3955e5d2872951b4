"""What happens, for those who want to know: loggers below `parcubin`, silent unless they are asked for.

`parcubin.pool` tells of workers and jobs, `parcubin.pipeline` of the stages of a compile. PARCUBIN_LOG=info or
PARCUBIN_LOG=debug writes them to standard error; so do `-v` and `-vv` on the command line.
"""

from __future__ import annotations

import logging
import os

from parcubin.errors import UsageError
from parcubin.printable import printable

_LEVELS = {"warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
_ROOT = logging.getLogger("parcubin")
_ROOT.addHandler(logging.NullHandler())


def logger(name: str) -> logging.Logger:
    """The logger `parcubin.NAME`."""
    return _ROOT.getChild(name)


class _Formatter(logging.Formatter):
    """Lines that a terminal does not obey."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def show_log(level: int) -> None:
    """Writes what happens to standard error, from `level` of `logging` on."""
    if not any(isinstance(handler, logging.StreamHandler) for handler in _ROOT.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(_Formatter("%(asctime)s %(name)s: %(message)s"))
        _ROOT.addHandler(handler)
    _ROOT.setLevel(level)


def show_log_as_configured() -> None:
    """Does what PARCUBIN_LOG says.

    Raises:
        UsageError: it is no level.
    """
    wanted = os.environ.get("PARCUBIN_LOG", "").lower()
    if not wanted:
        return
    if wanted not in _LEVELS:
        raise UsageError(f"PARCUBIN_LOG is '{wanted}'; it can be {', '.join(_LEVELS)}.")
    show_log(_LEVELS[wanted])
