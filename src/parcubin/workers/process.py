"""A worker process: `python -m parcubin.workers.process FOLDER [llvmlite]`.

Reads jobs from standard input and writes results to what was standard output, each as a length (8 bytes, little endian)
and a pickle. Both ends are the same program, so pickle is safe here. What libraries print goes to standard error, where
the pool looks when a worker dies. Temporary files go to FOLDER. With `llvmlite` it
loads that first. When standard input ends, the parent is gone or wants
the worker gone: it, its children and FOLDER go at once.
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
from typing import IO, Any, Protocol, TypeVar

from parcubin.errors import ParcubinError, WorkerError

ResultT_co = TypeVar("ResultT_co", covariant=True)


class Job(Protocol[ResultT_co]):
    """Work for a worker: picklable plain data that returns picklable plain data."""

    def run(self) -> ResultT_co: ...


def send(stream: IO[bytes], value: object) -> None:
    """Writes one value."""
    data = pickle.dumps(value, protocol=5)
    stream.write(len(data).to_bytes(8, "little"))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Reads one value.

    Raises:
        EOFError: the stream ended.
    """
    size = stream.read(8)
    if len(size) < 8:
        raise EOFError
    data = stream.read(int.from_bytes(size, "little"))
    return pickle.loads(data)  # noqa: S301 - written by our own process


def main() -> None:
    tempfile.tempdir = os.environ["TMPDIR"] = sys.argv[1]
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    jobs: queue.SimpleQueue[Job[object]] = queue.SimpleQueue()
    threading.Thread(target=_read_jobs, args=(sys.stdin.buffer, jobs), daemon=True).start()
    if "llvmlite" in sys.argv[2:]:
        with contextlib.suppress(ImportError):  # PTX needs no LLVM
            from parcubin.lower.llvmlite import load

            load()
    while True:
        job = jobs.get()
        try:
            outcome: tuple[bool, object] = (True, job.run())
        except ParcubinError as error:
            outcome = (False, error)
        except Exception as error:
            outcome = (False, WorkerError(f"A worker failed: {error!r}.", log=traceback.format_exc()))
        send(results, outcome)


def _read_jobs(stream: IO[bytes], jobs: queue.SimpleQueue[Job[object]]) -> None:
    try:
        while True:
            jobs.put(receive(stream))
    finally:
        shutil.rmtree(sys.argv[1], ignore_errors=True)
        os.killpg(0, signal.SIGKILL)  # the worker leads its own process group


if __name__ == "__main__":
    main()
