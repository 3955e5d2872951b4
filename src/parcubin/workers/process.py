"""A worker process: `python -m parcubin.workers.process FOLDER NICENESS [llvmlite]`.

Reads jobs from standard input and writes results to what was standard output, each as a length (8 bytes, little endian)
and a pickle; a first, empty result says that it is ready, which with `llvmlite` is when it has loaded that. Both ends
are the same program, so pickle is safe here. What libraries print goes to standard error, where the pool looks when a
worker dies. Temporary files go to FOLDER. When standard input ends, the parent is gone or wants the worker gone: it,
its children and FOLDER go at once.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import shutil
import signal
import sys
import tempfile
import threading
import traceback
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from parcubin.errors import OutOfMemoryError, ParcubinError, WorkerError
from parcubin.workers.memory import PeakMemory, give_back_memory

LENGTH_BYTES = 8

_KILLED_FIRST = "500"
"""oom_score_adj: when memory runs out all the same, the system is to end a worker and not the process that compiles."""

ResultT_co = TypeVar("ResultT_co", covariant=True)


class Job(Protocol[ResultT_co]):
    """Work for a worker: picklable plain data that returns picklable plain data."""

    def run(self) -> ResultT_co: ...


def packed(value: object) -> bytes:
    """A value as it goes through a pipe."""
    data = pickle.dumps(value, protocol=5)
    return len(data).to_bytes(LENGTH_BYTES, "little") + data


def receive(stream: IO[bytes]) -> Any:
    """Reads one value.

    Raises:
        EOFError: the stream ended.
    """
    size = stream.read(LENGTH_BYTES)
    if len(size) < LENGTH_BYTES:
        raise EOFError
    data = stream.read(int.from_bytes(size, "little"))
    return pickle.loads(data)  # noqa: S301 - written by our own process


def main() -> None:
    tempfile.tempdir = os.environ["TMPDIR"] = sys.argv[1]
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.nice(int(sys.argv[2]))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_KILLED_FIRST)
    jobs: queue.SimpleQueue[Job[object]] = queue.SimpleQueue()
    threading.Thread(target=_read_jobs, args=(sys.stdin.buffer, jobs), daemon=True).start()
    if "llvmlite" in sys.argv[3:]:
        with contextlib.suppress(ImportError):  # PTX needs no LLVM
            from parcubin.lower.llvmlite import load

            load()
    import_module("parcubin.workers.jobs")  # while the parent is not ready either
    outcome: tuple[bool, object, int] = (True, None, 0)
    while True:
        results.write(packed(outcome))
        results.flush()
        del outcome
        give_back_memory()
        job = jobs.get()
        with PeakMemory() as peak:
            succeeded, value = _run(job)
        outcome = (succeeded, value, peak.bytes)
        del job, value


def _run(job: Job[object]) -> tuple[bool, object]:
    try:
        return True, job.run()
    except ParcubinError as error:
        return False, error
    except MemoryError:
        return False, OutOfMemoryError("A worker got no memory.", log=traceback.format_exc())
    except Exception as error:
        return False, WorkerError(f"A worker failed: {error!r}.", log=traceback.format_exc())


def _read_jobs(stream: IO[bytes], jobs: queue.SimpleQueue[Job[object]]) -> None:
    try:
        while True:
            jobs.put(receive(stream))
    finally:
        shutil.rmtree(sys.argv[1], ignore_errors=True)
        os.killpg(0, signal.SIGKILL)  # the worker leads its own process group


if __name__ == "__main__":
    main()
