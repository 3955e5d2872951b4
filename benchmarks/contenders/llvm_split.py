"""LLVM's own module splitter: `llvm-split`, then one `opt`, `llc` and `ptxas -c` per part, several at a time, then
nvlink. There are several parts for every job, so that the jobs end together."""

from __future__ import annotations

import argparse
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.contenders.arguments import assemble, parser, run
from benchmarks.contenders.lowering import PTX_VERSION, TRIPLE, optimizable

PARTS_PER_JOB = 4


def compile_part(part: Path, arguments: argparse.Namespace) -> Path:
    """The relocatable module of a part."""
    optimized, ptx, cubin = (part.with_suffix(suffix) for suffix in (".opt.bc", ".ptx", ".cubin"))
    machine = [f"-mtriple={TRIPLE}", f"-mcpu={arguments.arch}", f"-mattr=+ptx{PTX_VERSION}"]
    run([str(arguments.llvm / "opt"), "-O3", *machine, str(part), "-o", str(optimized)])
    run([str(arguments.llvm / "llc"), "-O3", *machine, str(optimized), "-o", str(ptx)])
    ptx.write_text(optimizable(ptx.read_text()))
    assemble(ptx, cubin, arguments, ["-c"])
    return cubin


def main() -> None:
    arguments_parser = parser(__doc__)
    arguments_parser.add_argument("--jobs", type=int, required=True)
    arguments_parser.add_argument("--nvlink", default="nvlink")
    arguments_parser.add_argument("--llvm", type=Path, required=True, help="the folder of LLVM's tools")
    arguments = arguments_parser.parse_args()
    arguments.output.mkdir()
    for source in arguments.inputs:
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
            number = f"{arguments.jobs * PARTS_PER_JOB}"
            split = [str(arguments.llvm / "llvm-split"), "-j", number, "-preserve-locals", "-round-robin"]
            run([*split, str(source), "-o", str(Path(folder, "part"))])
            parts = sorted(Path(folder).glob("part*"))
            for part in parts:
                part.rename(part.with_suffix(".bc"))
            modules = pool.map(partial(compile_part, arguments=arguments), [part.with_suffix(".bc") for part in parts])
            output = arguments.output / f"{source.stem}.cubin"
            run([arguments.nvlink, f"-arch={arguments.arch}", "-o", str(output), *map(str, modules)])


if __name__ == "__main__":
    main()
