"""Ctrl-C and SIGTERM at any moment: nothing is left, and the exit status says it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.pipeline.samples import ptx_in_shards
from tests.workers.test_pool import wait_until

MOMENTS = [0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95]
"""Parts of the time that a whole run takes."""

HEEDING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
from parcubin.cli.main import main
main()
"""


class Run:
    """A command line in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.output = folder / "output"
        self.temporary = folder / "temporary"
        for path in (self.output, self.temporary):
            path.mkdir(parents=True)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(self.temporary)}
        command = [sys.executable, "-c", HEEDING, "compile", str(folder.parent / "kernels.ptx"), "--arch", "sm_80"]
        command += ["-o", str(self.output / "out.cubin"), "-j", "2"]
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    def handles(self, number: signal.Signals) -> bool:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        return bool(int(caught.split()[1], 16) >> (number - 1) & 1)

    def end(self) -> str:
        """Waits for the end. Returns: what was printed."""
        _, printed = self.process.communicate(timeout=60)
        return printed

    def processes(self) -> list[str]:
        """Processes that it started and that live, by their environment."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdecimal() and str(self.temporary).encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_text())
            except OSError:
                continue
        return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("interruption")
    (made / "kernels.ptx").write_text(ptx_in_shards(6))
    return made


@pytest.fixture(scope="module")
def whole(folder: Path) -> float:
    """How long a run takes that nobody interrupts, from where it handles signals."""
    run = Run(folder / "whole")
    wait_until(lambda: run.handles(signal.SIGTERM))
    start = time.monotonic()
    run.end()
    assert run.process.returncode == 0
    assert run.processes() == []
    assert list(run.temporary.iterdir()) == []
    return time.monotonic() - start


@pytest.mark.fault(
    "Ctrl-C and SIGTERM at any moment", "exit status 130 or 143; no process, no temporary file, whole output or none"
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", MOMENTS)
def test_nothing_is_left(moment: float, number: signal.Signals, whole: float, folder: Path) -> None:
    run = Run(folder / f"{moment}-{number.name}")
    wait_until(lambda: run.handles(signal.SIGTERM))
    time.sleep(moment * whole)
    run.process.send_signal(number)
    run.process.send_signal(number)  # as impatient people do
    printed = run.end()
    assert run.process.returncode in ((0, 128 + number) if moment > 0.5 else (128 + number,)), printed
    assert "Traceback" not in printed
    names = [path.name for path in run.output.iterdir()]
    assert names == (["out.cubin"] if run.process.returncode == 0 else [])
    wait_until(lambda: run.processes() == [])
    assert list(run.temporary.iterdir()) == []
