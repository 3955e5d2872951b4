"""The command line that the contenders have in common, and ptxas."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the arguments of every contender."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("inputs", type=Path, nargs="+", help="LLVM IR as text (.ll), PTX (.ptx)")
    parser.add_argument("--arch", required=True)
    parser.add_argument("--output", type=Path, required=True, help="a new folder for the CUBINs")
    parser.add_argument("--lineinfo", action="store_true")
    parser.add_argument("--ptxas", default="ptxas")
    return parser


def assemble(ptx: Path, cubin: Path, arguments: argparse.Namespace, options: Sequence[str] = ()) -> None:
    """Runs ptxas once, and ends this process when it fails."""
    command = [arguments.ptxas, f"-arch={arguments.arch}", "-O3", *options, "-o", str(cubin), str(ptx)]
    run(command if not arguments.lineinfo else [*command, "-lineinfo"])


def run(command: Sequence[str]) -> None:
    """Runs a tool, and ends this process with what it says when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} failed with status {done.returncode}:\n{done.stdout}")
