"""Runs the command line in this process."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass

from parcubin.cli.main import run


@dataclass(frozen=True)
class Result:
    """What a command line did.

    Attributes:
        exit_code: the exit status.
        stdout: standard output.
        stderr: standard error.
    """

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Both streams."""
        return self.stdout + self.stderr


def parcubin(*arguments: object) -> Result:
    """Runs `parcubin` with arguments."""
    stdout, stderr = io.StringIO(), io.StringIO()
    status = 0
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            run([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0
    return Result(status, stdout.getvalue(), stderr.getvalue())
