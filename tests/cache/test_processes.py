"""Many processes, one small folder, and somebody who damages it: nobody gets anything but what was put there."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from pathlib import Path

PROCESSES = 50
SIZE = 4 << 20

# Looks results up in another order than everybody else, and makes those that are not there.
SCRIPT = """\
import hashlib, random, sys
from parcubin.cache.cache import Cache
from parcubin.cache.disk import DiskStore
from parcubin.cache.entry import Entry

def made(number):
    size = 20_000 + number * 977 % 80_000
    return Entry({"number": number}, (hashlib.shake_256(str(number).encode()).digest(size),))

folder, seed, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
cache = Cache([DiskStore(folder, max_bytes=size)])
source = random.Random(seed)
found = 0
for _ in range(60):
    number = source.randrange(120)
    key = hashlib.sha256(str(number).encode()).hexdigest()
    entry = cache.get(key, lambda entry: entry)
    if entry is None:
        cache.put(key, made(number))
    else:
        found += 1
        assert entry == made(number), number
assert not cache.warnings, cache.warnings
print(found)
"""


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.glob("v1/*/*") if path.is_file()]


def damage(folder: Path, source: random.Random) -> None:
    """One file is truncated, has a bit flipped, is emptied, removed, or touched."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        path = source.choice(entries(folder))
        size = path.stat().st_size
        what = source.randrange(5)
        with path.open("rb+") as file:
            if what == 0:
                file.truncate(source.randrange(size))
            elif what == 1:
                place = source.randrange(size)
                file.seek(place)
                byte = file.read(1)[0] ^ 1 << source.randrange(8)
                file.seek(place)
                file.write(bytes([byte]))
            elif what == 2:
                file.truncate(0)
            elif what == 3:
                path.unlink()
            else:
                (folder / "v1" / "usage").write_bytes(source.randbytes(source.randrange(20)))


def test_fifty_processes_and_a_vandal(tmp_path: Path) -> None:
    source = random.Random(3)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path), str(number), str(SIZE)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    try:
        most = 0
        while any(process.poll() is None for process in running):
            damage(tmp_path, source)
            with contextlib.suppress(OSError):
                most = max(most, sum(path.stat().st_size for path in entries(tmp_path)))
            time.sleep(0.002)
        outputs = [process.communicate() for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert [error for _, error in outputs if error] == []
    assert sum(int(found) for found, _ in outputs) > 100
    assert most > SIZE // 4
    # Beyond the size there is at most what is just being written, and what damaged counts did not count.
    assert most < 2 * SIZE
    assert not list(tmp_path.rglob("new-*"))
