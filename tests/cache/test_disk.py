"""The folder: bounded, private, and never in the way."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from parcubin.cache.cache import Cache
from parcubin.cache.disk import MAX_AGE_S, DiskStore
from parcubin.cache.entry import Entry
from parcubin.cache.key import key_of
from parcubin.cache.memory import MemoryStore
from parcubin.errors import ToolchainError

KIB = 1024


def key(number: int) -> str:
    return key_of("test", {"number": number})


def store(folder: Path, size: int = 1 << 20, *, max_age: float = MAX_AGE_S) -> DiskStore:
    return DiskStore(folder, max_bytes=size, max_age=max_age)


def used_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and file.name != "usage")


def test_what_was_put_is_there_for_another_process(tmp_path: Path) -> None:
    store(tmp_path / "c").put(key(1), b"one")
    script = (
        "import sys; from parcubin.cache.disk import DiskStore;"
        "sys.stdout.buffer.write(DiskStore(sys.argv[1], max_bytes=9).get(sys.argv[2]))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "c"), key(1)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(command, env=environment, capture_output=True, check=True).stdout == b"one"


def test_it_is_private(tmp_path: Path) -> None:
    own = store(tmp_path / "a" / "c")
    own.put(key(1), b"one")
    assert (tmp_path / "a" / "c").stat().st_mode & 0o777 == 0o700
    assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "a" / "c").rglob("*"))


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(ToolchainError, match="not private"):
        store(tmp_path)
    DiskStore(tmp_path, max_bytes=9, shared=True).put(key(1), b"one")
    assert DiskStore(tmp_path, max_bytes=9, shared=True).get(key(1)) == b"one"


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    with pytest.raises(ToolchainError, match="not private"):
        store(tmp_path)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("")
    with pytest.raises(ToolchainError, match="cannot be used"):
        store(tmp_path / "c")


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    own = store(tmp_path, 100 * KIB)
    for number in range(10):
        own.put(key(number), bytes(9 * KIB))
    for number in range(10):
        file = tmp_path / "v1" / key(number)[:2] / key(number)
        os.utime(file, (time.time() - 1000 + number,) * 2)
    assert own.get(key(0)) is not None  # used now
    own.put(key(10), bytes(9 * KIB))
    own.put(key(11), bytes(9 * KIB))
    kept = [number for number in range(12) if own.get(key(number)) is not None]
    assert 0 in kept
    assert {10, 11} <= set(kept)
    assert 1 not in kept
    assert used_bytes(tmp_path) <= 100 * KIB


def test_it_never_grows_beyond_its_size(tmp_path: Path) -> None:
    own = store(tmp_path, 100 * KIB)
    for number in range(200):
        own.put(key(number), bytes(3 * KIB + number))
        assert used_bytes(tmp_path) <= 100 * KIB
    assert used_bytes(tmp_path) > 50 * KIB


def test_what_is_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    own = store(tmp_path, 100 * KIB)
    own.put(key(1), b"one")
    own.put(key(2), bytes(101 * KIB))
    assert own.get(key(1)) == b"one"
    assert own.get(key(2)) is None


def test_what_nobody_used_for_long_goes(tmp_path: Path) -> None:
    own = store(tmp_path, max_age=1000)
    own.put(key(1), b"one")
    own.put(key(2), b"two")
    abandoned = tmp_path / "v1" / key(1)[:2] / "new-1-abandoned"
    abandoned.write_bytes(b"half")
    for file, age in ((abandoned, 4000), (tmp_path / "v1" / key(1)[:2] / key(1), 2000)):
        os.utime(file, (time.time() - age,) * 2)
    (tmp_path / "v1" / "usage").unlink()  # as if a day had passed
    own.put(key(3), b"three")
    assert [own.get(key(number)) for number in (1, 2, 3)] == [None, b"two", b"three"]
    assert not abandoned.exists()


@pytest.mark.parametrize("content", [b"", b"\xff" * 16, bytes(16), b"short"])
def test_a_damaged_count_is_made_again(tmp_path: Path, content: bytes) -> None:
    own = store(tmp_path, 100 * KIB)
    for number in range(100):
        own.put(key(number), bytes(3 * KIB))
        (tmp_path / "v1" / "usage").write_bytes(content)
    assert used_bytes(tmp_path) <= 100 * KIB


def test_a_process_that_is_stopped_holding_the_lock_blocks_nobody(tmp_path: Path) -> None:
    own = store(tmp_path)
    own.put(key(1), b"one")
    with (tmp_path / "v1" / "usage").open("rb+") as usage:
        fcntl.flock(usage, fcntl.LOCK_EX)
        start = time.monotonic()
        own.put(key(2), b"two")
        waited = time.monotonic() - start
    assert own.get(key(2)) == b"two"
    assert waited < 5


def test_a_folder_that_is_removed_is_made_again(tmp_path: Path) -> None:
    own = store(tmp_path / "c")
    own.put(key(1), b"one")
    shutil.rmtree(tmp_path / "c")
    assert own.get(key(1)) is None
    own.put(key(2), b"two")
    assert own.get(key(2)) == b"two"
    assert own.warnings == ()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("call", ["open", "write", "rename"])
def test_a_full_disk_and_a_read_only_folder_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    own = store(tmp_path)
    own.put(key(1), b"one")
    original: Callable[..., object] = getattr(os, call)

    def fails(*arguments: object, **named: object) -> object:
        is_reading = call == "open" and not int(str(arguments[1])) & (os.O_WRONLY | os.O_RDWR)
        if is_reading:
            return original(*arguments, **named)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fails)
    own.put(key(2), b"two")
    own.put(key(3), b"three")
    monkeypatch.undo()
    assert own.get(key(1)) == b"one"
    assert own.get(key(2)) is None
    assert len(own.warnings) == 1
    assert os.strerror(number) in own.warnings[0]
    assert not list(tmp_path.rglob("new-*"))


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    own = store(tmp_path)
    own.put(key(1), b"one")
    place = tmp_path / "v1" / key(1)[:2] / key(1)
    place.unlink()
    os.mkfifo(place)
    assert not own.get(key(1))
    place.unlink()
    place.symlink_to("/etc/passwd")
    assert own.get(key(1)) is None
    place.unlink()
    place.mkdir()
    assert not own.get(key(1))


def test_a_damaged_entry_is_dropped_and_a_nearer_store_filled(tmp_path: Path) -> None:
    disk, memory = store(tmp_path), MemoryStore()
    cache = Cache([memory, disk])
    Cache([disk]).put(key(1), Entry({"value": 1}))
    assert cache.get(key(1), lambda entry: entry.facts["value"]) == 1
    assert memory.get(key(1)) is not None
    file = tmp_path / "v1" / key(1)[:2] / key(1)
    file.write_bytes(file.read_bytes()[:-1])
    assert Cache([disk]).get(key(1), lambda entry: entry) is None
    assert not file.exists()


def test_an_entry_that_cannot_be_read_is_dropped(tmp_path: Path) -> None:
    disk = store(tmp_path)
    cache = Cache([disk])
    cache.put(key(1), Entry({"value": 1}))
    assert cache.get(key(1), lambda entry: entry.facts["other"]) is None
    assert disk.get(key(1)) is None


def test_memory_is_bounded() -> None:
    memory = MemoryStore(100)
    for number in range(20):
        memory.put(key(number), bytes(30))
        memory.get(key(0))
    assert [n for n in range(20) if memory.get(key(n))] == [0, 18, 19]
    memory.put(key(0), bytes(101))
    assert memory.get(key(0)) is None
