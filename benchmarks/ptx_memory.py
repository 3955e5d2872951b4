"""How much memory a large PTX file takes: a file of many copies of cub.ptx under other names is compiled to a bundle.

    python benchmarks/ptx_memory.py --megabytes 300

Prints the size of the file, the peak of the main process, that of all workers and compilers together, and for
comparison what ptxas alone takes for a tenth of the file.
"""

from __future__ import annotations

import argparse
import lzma
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cuda.pathfinder import find_nvidia_binary_utility

import parcubin

CORPUS = Path(__file__).resolve().parent.parent / "corpus" / "cub.ptx.xz"
DEFINED = re.compile(
    rb"^[^\n]*\.(?:entry|func(?:\s*\([^)]*\))?|(?:global|const|shared)\b[^;={]*\.[bsuf]\d+)\s+([\w$]+)", re.M
)
NAME = re.compile(rb"[A-Za-z_$][\w$]*")


def copies(text: bytes, megabytes: int) -> Iterator[bytes]:
    """A module of copies of another under other names."""
    start = text.index(b"\n", text.index(b".address_size")) + 1
    yield text[:start]
    body, names = text[start:], set(DEFINED.findall(text))
    pieces: list[bytes] = []
    end = 0
    for match in NAME.finditer(body):
        if match[0] in names:
            pieces.append(body[end : match.end()])
            end = match.end()
    rest = body[end:]
    for number in range(max(1, megabytes * 1_000_000 // len(body))):
        suffix = b"_%d" % number
        yield suffix.join([*pieces, rest])


def peak(who: int) -> int:
    return resource.getrusage(who).ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--ptxas", action="store_true", help="only compile FILE with ptxas, and say what that takes")
    parser.add_argument("file", nargs="?", type=Path)
    arguments = parser.parse_args()
    if arguments.ptxas:
        ptxas = find_nvidia_binary_utility("ptxas")
        with tempfile.TemporaryDirectory() as folder:
            command = [ptxas, f"-arch={arguments.arch}", "-o", f"{folder}/out.cubin", arguments.file]
            subprocess.run(command, check=True)
        print(peak(resource.RUSAGE_CHILDREN))
        return

    text = lzma.decompress(CORPUS.read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        for name, megabytes in (("tenth", arguments.megabytes // 10), ("whole", arguments.megabytes)):
            with Path(folder, f"{name}.ptx").open("wb") as file:
                file.writelines(copies(text, megabytes))
        command = [sys.executable, __file__, "--ptxas", "--arch", arguments.arch, f"{folder}/tenth.ptx"]
        alone = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        whole = Path(folder, "whole.ptx")
        print(f"file: {whole.stat().st_size >> 20} MiB", flush=True)
        with parcubin.Compiler(arguments.arch, jobs=arguments.jobs) as compiler:
            report = compiler.compile(whole).report
        main_peak = peak(resource.RUSAGE_SELF)
        print(f"{report.kernels} kernels in {report.shards} shards, {report.wall_s:.0f} s")
        print(f"main process: {main_peak} MiB ({main_peak / (whole.stat().st_size >> 20):.2f} times the file)")
        print(f"all workers and compilers together: {report.peak_memory >> 20} MiB")
        print(f"ptxas alone, for a tenth of the file: {alone} MiB")


if __name__ == "__main__":
    main()
