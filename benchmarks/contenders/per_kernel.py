"""One job a kernel, as JIT frameworks compile: modules of one kernel each, lowered by llvmlite and assembled by a ptxas
process of their own, in worker processes. The largest start first."""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.contenders.arguments import assemble, parser
from benchmarks.contenders.lowering import ptx_of


def compile_one(source: Path, arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ptx = ptx_of(source, Path(folder), arguments.arch)
        assemble(ptx, arguments.output / f"{source.stem}.cubin", arguments)


def main() -> None:
    arguments_parser = parser(__doc__)
    arguments_parser.add_argument("--jobs", type=int, required=True)
    arguments = arguments_parser.parse_args()
    arguments.output.mkdir()
    sources = sorted(arguments.inputs, key=lambda path: -path.stat().st_size)
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn")) as pool:
        for _ in pool.map(partial(compile_one, arguments=arguments), sources):
            pass


if __name__ == "__main__":
    main()
