"""`parcubin-ptxas` as an executable, and the ptxas that it stands in for."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cuda_tools import cuda_tool

EAGER = """\
import parcubin.ptxas.main
import parcubin.split.grouping

parcubin.ptxas.main.SMALLEST_WORK = 0
parcubin.split.grouping.MEAN_SHARD_COST = 1
parcubin.split.grouping.ALONE_COST = 1
"""
"""Every input is large enough, every kernel a shard."""


@dataclass(frozen=True)
class Run:
    """What a run did; of the messages, compile times are left out."""

    status: int
    messages: list[str]


@dataclass
class Front:
    """`parcubin-ptxas`, which says in a file how it did what it did."""

    path: Path
    log: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: object, path: Path | str | None = None) -> Run:
        """Runs it, or the same under another path."""
        environment = {**os.environ, "PARCUBIN_PTXAS_LOG": str(self.log), **self.environment}
        return run(path or self.path, *arguments, environment=environment)

    @property
    def how(self) -> str:
        """How the last run did it."""
        return self.log.read_text().splitlines()[-1]


def run(path: Path | str, *arguments: object, environment: dict[str, str] | None = None) -> Run:
    """Runs a tool."""
    command = [str(path), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    lines = (done.stdout + done.stderr).splitlines()
    return Run(done.returncode, [line for line in lines if "Compile time" not in line])


def executable(path: Path, preparation: str = "") -> Path:
    """Writes `parcubin-ptxas` as pip does."""
    path.write_text(f"#!{sys.executable}\n{preparation}\nfrom parcubin.ptxas.main import main\n\nmain()\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def ptxas() -> str:
    return cuda_tool("ptxas")


@pytest.fixture
def front(tmp_path: Path, ptxas: str) -> Front:
    """As it is installed."""
    return Front(executable(tmp_path / "parcubin-ptxas"), tmp_path / "log", {"PARCUBIN_PTXAS": ptxas})


@pytest.fixture
def eager(tmp_path: Path, ptxas: str) -> Front:
    """One that compiles in parts wherever it may."""
    return Front(executable(tmp_path / "eager-ptxas", EAGER), tmp_path / "log", {"PARCUBIN_PTXAS": ptxas})


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A ptxas that writes its arguments, a line each, to a file beside it called `arguments`."""
    folder = tmp_path / "toolkit"
    folder.mkdir()
    path = folder / "ptxas"
    path.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --help ]; then echo "--split-compile <N>"; exit 0; fi\n'
        f'printf "%s\\n" "$@" > {folder}/arguments\n'
        "exit 7\n"
    )
    path.chmod(0o755)
    return path
