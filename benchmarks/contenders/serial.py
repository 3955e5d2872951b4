"""The serial whole-program baseline: one process, llvmlite, then ptxas; of several inputs, one after the other."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.contenders.arguments import assemble, parser
from benchmarks.contenders.lowering import ptx_of


def main() -> None:
    arguments_parser = parser(__doc__)
    arguments_parser.add_argument("--split-compile", type=int, metavar="N", help="threads of ptxas; 0: all cores")
    arguments = arguments_parser.parse_args()
    options = [] if arguments.split_compile is None else [f"--split-compile={arguments.split_compile}"]
    arguments.output.mkdir()
    for source in arguments.inputs:
        with tempfile.TemporaryDirectory() as folder:
            ptx = ptx_of(source, Path(folder), arguments.arch)
            assemble(ptx, arguments.output / f"{source.stem}.cubin", arguments, options)


if __name__ == "__main__":
    main()
