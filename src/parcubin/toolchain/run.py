"""Running a compiler's executable."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from parcubin.errors import ToolchainError


@dataclass(frozen=True)
class ToolRun:
    """How a run ended.

    Attributes:
        status: the exit status; negative for the number of the signal that ended it.
        log: everything that the tool printed.
    """

    status: int
    log: str

    @property
    def signal_name(self) -> str:
        """The signal that ended the run, SIGSEGV."""
        try:
            return signal.Signals(-self.status).name
        except ValueError:
            return f"signal {-self.status}"


def run_tool(path: str, arguments: Sequence[str], directory: str) -> ToolRun:
    """Runs an executable in a private folder, where its temporary files go, too. It belongs to the process group of the
    worker, with which it dies.

    Raises:
        ToolchainError: it cannot be run.
    """
    try:
        run = subprocess.run(
            [path, *arguments],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": directory},
            check=False,
        )
    except OSError as error:
        raise ToolchainError(f"{path} cannot be run: {error.strerror}.") from error
    return ToolRun(run.returncode, run.stdout.decode("utf-8", errors="replace"))
