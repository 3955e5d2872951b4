"""A remote store that is slow, failing and lying by turns: it costs a bounded time and changes nothing."""

from __future__ import annotations

import io
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest

import parcubin
from parcubin.cache import opening
from parcubin.cache.cache import Cache
from parcubin.cache.entry import Entry
from parcubin.cache.key import key_of
from parcubin.cache.memory import MemoryStore
from parcubin.cache.remote import RemoteStore
from parcubin.compiler import Compiler
from parcubin.configuration import Configuration, Setting, read_configuration
from tests.pipeline.samples import kernel, module

KEYS = [key_of("test", {"number": number}) for number in range(50)]
PROGRAM = module(*(kernel(f"k{i}", f"  store i32 {i}, ptr %p\n") for i in range(3)))


@dataclass
class FakeRemote:
    """As much of fsspec's interface as is used. `behaviour` comes with every operation and may change what is read."""

    behaviour: Callable[[bytes], bytes] = lambda data: data
    files: dict[str, bytes] = field(default_factory=dict)
    reads: int = 0
    writes: int = 0

    def open(self, path: str, mode: str) -> io.BytesIO:
        assert mode == "rb"
        self.reads += 1
        changed = self.behaviour(self.files.get(path, b""))
        if path not in self.files:
            raise FileNotFoundError(path)
        return io.BytesIO(changed)

    def pipe_file(self, path: str, data: bytes) -> None:
        self.writes += 1
        self.behaviour(b"")
        self.files[path] = data


def remote(fake: FakeRemote, timeout: float = 0.1, patience: float = 0.3, linger: float = 5.0) -> RemoteStore:
    return RemoteStore("fake://bucket/c/", timeout=timeout, patience=patience, linger=linger, filesystem=fake)


def same(data: bytes) -> bytes:
    return data


def failing(_: bytes) -> bytes:
    raise ConnectionError("no route to host")


def hanging(data: bytes) -> bytes:
    time.sleep(3)
    return data


def lying(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1]) if data else data


def test_what_one_machine_puts_there_another_finds() -> None:
    fake = FakeRemote()
    one = Cache([MemoryStore()], remote=remote(fake))
    one.put(KEYS[0], Entry({"value": 1}))
    one.close()
    near = MemoryStore()
    other = Cache([near], remote=remote(fake))
    assert other.get(KEYS[0], lambda entry: entry.facts["value"]) == 1
    assert near.get(KEYS[0]) is not None
    assert other.get(KEYS[1], lambda entry: entry) is None
    assert other.warnings == ()
    other.close()


@pytest.mark.parametrize("behaviour", [failing, hanging, lying])
def test_it_is_left_alone_when_it_costs_too_much(behaviour: Callable[[bytes], bytes]) -> None:
    fake = FakeRemote()
    filled = Cache([], remote=remote(fake))
    for key in KEYS:
        filled.put(key, Entry({"key": key}))
    filled.close()
    fake.behaviour, fake.reads = behaviour, 0
    cache = Cache([], remote=remote(fake))
    start = time.monotonic()
    assert [cache.get(key, lambda entry: entry) for key in KEYS] == [None] * len(KEYS)
    assert fake.reads < 10
    assert time.monotonic() - start < 2.5
    assert "is not asked any more" in cache.warnings[0]
    cache.close()


def test_a_writer_that_hangs_is_not_waited_for() -> None:
    fake = FakeRemote(hanging)
    cache = Cache([], remote=remote(fake, linger=0.1))
    start = time.monotonic()
    for key in KEYS:
        cache.put(key, Entry({}, (bytes(1000),)))
    cache.close()
    assert time.monotonic() - start < 2.5


def test_a_writer_that_fails_is_a_warning_and_a_web_folder_is_not() -> None:
    def read_only(_: bytes) -> bytes:
        raise NotImplementedError

    for behaviour, warned in ((failing, True), (read_only, False)):
        fake = FakeRemote(behaviour)
        cache = Cache([], remote=remote(fake))
        for key in KEYS:
            cache.put(key, Entry({}))
        cache.close()
        assert fake.writes == 1
        assert bool(cache.warnings) == warned


def test_compiles_with_a_remote_that_is_slow_failing_and_lying_by_turns(tmp_path: Path) -> None:
    source = random.Random(5)

    def slow(data: bytes) -> bytes:
        time.sleep(0.15)
        return data

    def by_turns(data: bytes) -> bytes:
        return source.choice([same, failing, lying, slow])(data)

    fake = FakeRemote()
    with Compiler("sm_90", jobs=1, cache="off") as compiler:
        expected = compiler.compile(PROGRAM, output="cubin").cubin
    settings = Configuration({"cache_remote": Setting("fake://bucket/c", "test")})
    with (
        mock.patch.object(opening, "read_configuration", return_value=settings),
        mock.patch("parcubin.cache.remote.RemoteStore", side_effect=lambda _: remote(fake, patience=1.0)),
    ):
        for number in range(6):
            fake.behaviour = by_turns if number else same
            program = parcubin.compile(PROGRAM, "sm_90", output="cubin", cache=tmp_path / str(number), jobs=1)
            assert program.cubin == expected
        fake.behaviour = same
        program = parcubin.compile(PROGRAM, "sm_90", output="cubin", cache=tmp_path / "last", jobs=1)
        assert program.report.cached == program.report.shards
        assert program.cubin == expected


def test_fsspec_reaches_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    (tmp_path / "ab").mkdir()
    one = RemoteStore(f"file://{tmp_path}")
    key = "ab" + KEYS[0][2:]
    one.put(key, b"one")
    one.close()
    assert one.warnings == ()
    other = RemoteStore(f"file://{tmp_path}")
    assert other.get(key) == b"one"
    assert other.get("ab" + KEYS[1][2:]) is None
    assert other.warnings == ()


def test_it_is_off_by_default_and_no_project_turns_it_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_configuration().cache_remote == ""
    for setting in ('cache_remote = "s3://x"', "cache_shared = true", 'cache = "/x"'):
        (tmp_path / "pyproject.toml").write_text(f"[tool.parcubin]\n{setting}\n")
        with pytest.raises(parcubin.UsageError, match="a project must not set"):
            read_configuration()
    (tmp_path / "pyproject.toml").write_text('[tool.parcubin]\ncache_size = "1G"\n')
    assert read_configuration().cache_size == 1 << 30


def test_threads_share_a_store() -> None:
    fake = FakeRemote()
    cache = Cache([], remote=remote(fake))
    threads = [threading.Thread(target=cache.put, args=(key, Entry({"key": key}))) for key in KEYS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache.close()
    other = Cache([], remote=remote(fake, timeout=5))
    assert [other.get(key, lambda entry: entry.facts["key"]) for key in KEYS] == KEYS
