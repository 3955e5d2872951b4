"""Many compiles at a time and one after the other: all right, nothing leaks."""

from __future__ import annotations

import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import parcubin
from parcubin.workers.memory import WORN_BYTES, memory_in_use
from tests.load.soak import soak, worker_processes
from tests.pipeline.samples import kernel, module


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def own_workers(others: set[int]) -> list[int]:
    """The workers that this test started."""
    return [pid for pid in worker_processes() if pid not in others]


@pytest.fixture
def others() -> set[int]:
    """Workers of compilers that tests of other files keep."""
    gc.collect()
    return set(worker_processes())


def test_200_compiles_from_32_threads(others: set[int]) -> None:
    before = descriptors(), threading.active_count()
    with parcubin.Compiler("sm_80", jobs=2) as compiler, ThreadPoolExecutor(32) as threads:
        programs = list(threads.map(lambda n: compiler.compile(module(kernel(f"k{n}"))), range(200)))
        assert len(own_workers(others)) == 2
    assert [list(program.kernels) for program in programs] == [[f"k{n}"] for n in range(200)]
    assert (descriptors(), threading.active_count()) == before  # although the programs keep the compiler
    assert own_workers(others) == []


def test_one_after_the_other(others: set[int]) -> None:
    """With PARCUBIN_TEST_COMPILES=10000 in the environment, as many."""
    count = int(os.environ.get("PARCUBIN_TEST_COMPILES", "300"))
    with parcubin.Compiler("sm_80", jobs=1) as compiler:

        def compile_some(first: int, last: int) -> tuple[int, int, int]:
            for number in range(first, last):
                assert list(compiler.compile(module(kernel(f"k{number}"))).kernels) == [f"k{number}"]
            workers = sum(map(memory_in_use, own_workers(others)))
            elsewhere = sum(map(memory_in_use, others))
            return memory_in_use(os.getpid()) - workers - elsewhere, workers, descriptors()

        host, _, files = compile_some(0, count // 3)
        host_later, worker, files_later = compile_some(count // 3, count)
    print(
        f"{count} compiles: {host / 1e6:.1f} MB, then {host_later / 1e6:.1f} MB; worker {worker / 1e6:.1f} MB; {files}"
    )
    assert files_later == files
    assert host_later - host < 5e6
    assert worker < WORN_BYTES + 50e6


@pytest.mark.fault(
    "workers killed, ptxas crashes and hangs, by chance, under load",
    "the right CUBIN, or an error that names the kernel; nothing is left",
)
def test_soak(others: set[int]) -> None:
    outcomes = soak(6.0)
    assert outcomes.wrong == []
    assert outcomes.counts["compiled"]
    assert own_workers(others) == []
