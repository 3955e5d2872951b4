"""Many processes compile overlapping programs into one small cache while its files are damaged, and every result is
compared with that of a compile without a cache.

    python -m benchmarks.shared_cache [--processes N] [--rounds N] [--size 64M]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cases import ROOT
from parcubin.configuration import bytes_of

_PROGRAMS = 12
_KERNELS = 40
_IN_A_PROGRAM = 12

WORK = """\
import hashlib, json, random, sys
from unittest import mock
import parcubin
from parcubin.split import grouping
from benchmarks.shared_cache import program

cache, rounds, size, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
source = random.Random(seed)
results, cached = {}, 0
with mock.patch.object(grouping, "ALONE_COST", -1):
    with parcubin.Compiler("sm_90", jobs=1, llvm="none", cache=cache, cache_size=size) as compiler:
        for number in [source.randrange(12) for _ in range(rounds)] if rounds else range(12):
            done = compiler.compile(program(number), output="cubin")
            digest = hashlib.sha256(done.cubin).hexdigest()
            assert results.setdefault(str(number), digest) == digest
            cached += done.report.cached
print(json.dumps({"results": results, "cached": cached}))
"""


def program(number: int) -> str:
    """PTX of some of the kernels that there are; what their size is does not depend on the program."""
    source = random.Random(number)
    kernels = sorted(source.sample(range(_KERNELS), _IN_A_PROGRAM))
    text = [".version 7.8\n.target sm_90\n.address_size 64\n"]
    for kernel in kernels:
        work = "".join(f"fma.rn.f32 f, f, f, 0f{0x3F000000 + kernel * 4096 + i:08X};\n" for i in range(60 * kernel))
        text.append(
            f".visible .entry k{kernel}(.param .u64 p) {{\n.reg .b64 a; .reg .f32 f; ld.param.u64 a, [p];\n"
            f"ld.global.f32 f, [a];\n{work}st.global.f32 [a], f; ret; }}\n"
        )
    return "".join(text)


def damage(cache: Path, source: random.Random) -> None:
    """Truncates a file, or flips one bit of it."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        path = source.choice([path for path in cache.glob("v1/*/*") if path.is_file()])
        size = path.stat().st_size
        with path.open("rb+") as file:
            if source.random() < 0.5:
                file.truncate(source.randrange(size))
            else:
                place = source.randrange(size)
                file.seek(place)
                byte = file.read(1)[0] ^ 1 << source.randrange(8)
                file.seek(place)
                file.write(bytes([byte]))


def start(cache: str, rounds: int, size: int, seed: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORK, cache, str(rounds), str(size), str(seed)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--size", type=bytes_of, default=bytes_of("64M"))
    arguments = parser.parse_args()
    expected = json.loads(start("off", 0, 1, 0).communicate()[0])["results"]
    assert len(set(expected.values())) == len(expected) == _PROGRAMS
    source = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name, "cache")
        began = time.perf_counter()
        running = [
            start(str(cache), arguments.rounds, arguments.size, seed) for seed in range(1, arguments.processes + 1)
        ]
        damaged = 0
        while any(process.poll() is None for process in running):
            damage(cache, source)
            damaged += 1
            time.sleep(0.05)
        outputs = [json.loads(process.communicate()[0]) for process in running]
        wall = time.perf_counter() - began
        used = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    wrong = [n for output in outputs for n, digest in output["results"].items() if digest != expected[n]]
    cached = sum(output["cached"] for output in outputs)
    shards = arguments.processes * arguments.rounds * _IN_A_PROGRAM
    print(
        f"{arguments.processes} processes, {arguments.processes * arguments.rounds} compiles, {wall:.0f} s, "
        f"{cached} of {shards} shards from the cache, {damaged} times damaged, {used / 1024**2:.1f} MiB at the end, "
        f"{len(wrong)} results differ"
    )
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
