"""The worker pool: limits of time and memory, deaths of workers, and its own end."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from parcubin.errors import CompilationTimeoutError, OutOfMemoryError, ProcessCrashedError, WorkerError
from parcubin.workers.failures import as_compiler_error
from parcubin.workers.pool import WorkerPool
from tests.workers.jobs import Ask, DieFirst, HangWithChild, Niceness, Overlap, RunOut, Take

MB = 1 << 20


def test_worn_workers_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with WorkerPool(1) as pool:
        group = pool.group()
        first = group.submit(Ask()).result()
        assert group.submit(Ask()).result() == first
        monkeypatch.setattr("parcubin.workers.worker.WORN_BYTES", 1_000_000)
        assert group.submit(Ask()).result() != first
        wait_until(lambda: not is_alive(first))


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def python(code: str, **environment: str) -> subprocess.Popen[str]:
    """A process that runs code, with this one's modules."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True, env=environment)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_time_limit_ends_the_worker_and_its_children(tmp_path: Path) -> None:
    with WorkerPool(1) as pool:
        group = pool.group()
        before = group.submit(Ask()).result()
        with pytest.raises(CompilationTimeoutError) as caught:
            group.submit(HangWithChild(tmp_path / "pids"), timeout=0.5).result()
        assert (caught.value.seconds, caught.value.total) == (0.5, False)
        worker, child = map(int, (tmp_path / "pids").read_text().split())
        assert worker == before
        wait_until(lambda: not is_alive(child))
        assert not is_alive(worker)
        assert group.submit(Ask()).result() != before


def test_starting_a_worker_is_not_the_time_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import time; time.sleep(3)")  # every worker starts slowly
    monkeypatch.syspath_prepend(tmp_path)
    with WorkerPool(1) as pool:
        assert pool.group().submit(Ask(), timeout=2).result()


def test_deadline_ends_what_runs_and_what_waits(tmp_path: Path) -> None:
    with WorkerPool(1) as pool:
        hanging = pool.group()
        hanging.submit(HangWithChild(tmp_path / "pids"))
        group = pool.group(total_timeout=0.5)
        futures = [group.submit(Ask()) for _ in range(3)]  # there is no worker for them
        for future in group.completed(futures):
            with pytest.raises(CompilationTimeoutError) as caught:
                future.result()
            assert (caught.value.seconds, caught.value.total) == (0.5, True)
    with WorkerPool(1) as pool:
        group = pool.group(total_timeout=0.5)
        running, waiting = group.submit(HangWithChild(tmp_path / "pids")), group.submit(Ask())
        for late in (running, waiting):
            with pytest.raises(CompilationTimeoutError):
                late.result()
        assert isinstance(pool.submit(Ask()).result(), int)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_job_of_a_worker_that_was_ended_is_run_again(number: signal.Signals, tmp_path: Path) -> None:
    with WorkerPool(2) as pool:
        group = pool.group()
        assert group.submit(DieFirst(tmp_path / "runs", 1, number)).result() == 2
        (warning,) = group.warnings
        assert "the job" in warning
        assert number.name in warning
        other = pool.group()
        assert isinstance(other.submit(Ask()).result(), int)
        assert other.warnings == ()


def test_second_try_is_the_last(tmp_path: Path) -> None:
    with WorkerPool(1) as pool:
        future = pool.submit(DieFirst(tmp_path / "runs", 9))
        with pytest.raises(ProcessCrashedError) as caught:
            future.result()
        assert (tmp_path / "runs").stat().st_size == 2
        error = as_compiler_error(caught.value, "k and 1 more", ["k", "l"])
        assert isinstance(error, OutOfMemoryError)
        assert error.kernels == ("k", "l")


def test_crash_of_a_compiler_is_not_tried_again(tmp_path: Path) -> None:
    with WorkerPool(1) as pool:
        with pytest.raises(ProcessCrashedError):
            pool.submit(DieFirst(tmp_path / "runs", 9, signal.SIGABRT)).result()
        assert (tmp_path / "runs").stat().st_size == 1


def test_idle_worker_that_was_ended_is_replaced() -> None:
    with WorkerPool(1) as pool:
        pid = pool.submit(Ask()).result()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid))
        group = pool.group()
        assert group.submit(Ask()).result() != pid
        assert "SIGKILL" in group.warnings[0]


def test_memory_error_is_typed() -> None:
    with WorkerPool(1) as pool, pytest.raises(OutOfMemoryError):
        pool.submit(RunOut()).result()


def overlap(pool: WorkerPool, folder: Path, size: float) -> int:
    group = pool.group()
    futures = [group.submit(Overlap(folder), size=size) for _ in range(6)]
    return max(future.result() for future in futures)


def test_no_more_jobs_than_memory_for_them(tmp_path: Path) -> None:
    with WorkerPool(3) as pool:
        assert overlap(pool, tmp_path, 100_000) == 3
    with WorkerPool(3, max_memory=200 * MB) as pool:
        assert overlap(pool, tmp_path, 100_000) < 3
    with WorkerPool(3, max_memory=1) as pool:
        assert overlap(pool, tmp_path, 100_000) == 1  # one always runs


def test_prediction_counts_and_not_the_number_of_jobs(tmp_path: Path) -> None:
    with WorkerPool(3, max_memory=1000 * MB) as pool:
        assert overlap(pool, tmp_path, 10_000) == 3
        assert overlap(pool, tmp_path, 100_000_000) == 1


def test_peak_memory_is_that_of_jobs_and_their_children() -> None:
    with WorkerPool(2) as pool:
        group = pool.group()
        group.submit(Take(200)).result()
        assert 200 * MB < group.peak_memory < 300 * MB
        futures = [group.submit(Take(200)) for _ in range(2)]
        for future in futures:
            future.result()
        assert 400 * MB < group.peak_memory < 600 * MB


def test_niceness() -> None:
    with WorkerPool(1, nice=3) as pool:
        assert pool.submit(Niceness()).result() == os.nice(0) + 3


def test_closing_ends_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pool = WorkerPool(1)
    group = pool.group()
    running = group.submit(HangWithChild(tmp_path / "pids"))
    waiting = group.submit(Ask())
    wait_until(lambda: (tmp_path / "pids").exists() and " " in (tmp_path / "pids").read_text())
    pool.close()
    assert list(tmp_path.glob("parcubin-*")) == []
    worker, child = map(int, (tmp_path / "pids").read_text().split())
    assert not is_alive(worker)
    wait_until(lambda: not is_alive(child))
    for future in (running, waiting):
        with pytest.raises(WorkerError, match="closed"):
            future.result()
    pool.close()
    with pytest.raises(WorkerError, match="closed"):
        group.submit(Ask())


def test_pool_that_nobody_refers_to_ends() -> None:
    pool = WorkerPool(1)
    pid = pool.submit(Ask()).result()
    del pool
    gc.collect()
    wait_until(lambda: not is_alive(pid))


def test_folder_for_temporary_files_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with WorkerPool(1) as pool, pytest.raises(WorkerError, match="temporary files"):
        pool.submit(Ask()).result()


def test_many_threads_share_a_pool() -> None:
    results: list[list[int]] = []

    def use(pool: WorkerPool) -> None:
        group = pool.group()
        futures = [group.submit(Ask(), cost) for cost in range(20)]
        results.append([future.result() for future in futures])

    with WorkerPool(2) as pool:
        threads = [threading.Thread(target=use, args=(pool,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [len(pids) for pids in results] == [20] * 8
    assert len({pid for pids in results for pid in pids}) <= 2


FORKING = """
import os, signal, sys, time
from parcubin.errors import WorkerError
from parcubin.workers.pool import WorkerPool
from tests.workers.jobs import Ask

pool = WorkerPool(1)
worker = pool.submit(Ask()).result()
child = os.fork()
if child == 0:
    try:
        pool.submit(Ask())
    except WorkerError as error:
        assert "forked" in str(error)
    pool.close()
    with WorkerPool(1) as own:
        assert own.group().submit(Ask()).result() != worker
    print(worker, os.getpid(), flush=True)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)
time.sleep(1000)
"""


def test_forked_process_has_no_part_in_the_pool() -> None:
    with python(FORKING) as process:
        assert process.stdout is not None
        worker, child = map(int, process.stdout.readline().split())
        try:
            # The parent was killed. Its worker sees that, although the child lives.
            wait_until(lambda: not is_alive(worker))
            assert is_alive(child)
        finally:
            os.kill(child, signal.SIGKILL)


NEVER_CLOSED = """
from parcubin.workers.pool import WorkerPool
from tests.workers.jobs import Ask

pool = WorkerPool(2)
print(pool.submit(Ask()).result(), flush=True)
"""


def test_pool_that_is_never_closed_ends_with_the_interpreter(tmp_path: Path) -> None:
    with python(NEVER_CLOSED, TMPDIR=str(tmp_path)) as process:
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    wait_until(lambda: not is_alive(int(output)))
    assert list(tmp_path.iterdir()) == []
