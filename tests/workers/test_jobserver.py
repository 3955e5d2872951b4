"""GNU make's jobserver, with and without make."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path

import pytest

import parcubin
from parcubin.workers.jobserver import Jobserver, JobserverUnavailableError, connect
from parcubin.workers.pool import WorkerPool
from tests.pipeline.samples import ptx_in_shards
from tests.workers.jobs import DieFirst, HangWithChild, Overlap, RunOut
from tests.workers.test_pool import wait_until


class Tokens:
    """The other end: a pipe that holds tokens."""

    def __init__(self, address: str, reading: int, writing: int) -> None:
        self.address = address
        self._reading = reading
        self._writing = writing
        self.descriptors = (reading, writing)

    def put(self, count: int) -> None:
        os.write(self._writing, b"+" * count)

    def taken_back(self) -> bytes:
        """All tokens that are there, which are taken."""
        os.set_blocking(self._reading, False)
        try:
            return os.read(self._reading, 1000)
        except BlockingIOError:
            return b""
        finally:
            os.set_blocking(self._reading, True)


@pytest.fixture(params=["--jobserver-auth=R,W", "--jobserver-fds=R,W", "--jobserver-auth=fifo:PATH"])
def tokens(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tokens]:
    if "PATH" in request.param:
        path = tmp_path / "a fifo"
        os.mkfifo(path)
        reading = writing = os.open(path, os.O_RDWR)
        address = request.param.replace("PATH", str(path).replace(" ", "\\ "))
    else:
        reading, writing = os.pipe()
        address = request.param.replace("R,W", f"{reading},{writing}")
    yield Tokens(address, reading, writing)
    for descriptor in {reading, writing}:
        os.close(descriptor)


@pytest.fixture
def client(tokens: Tokens) -> Jobserver:
    found = connect({"MAKEFLAGS": f" -j3 {tokens.address} -- A=--jobserver-auth=7,8"})
    assert found is not None
    return found


def test_one_token_is_ours_and_all_go_back(tokens: Tokens, client: Jobserver) -> None:
    assert client.acquire()
    assert not client.acquire()
    tokens.put(1)
    assert client.acquire()
    assert not client.acquire()
    client.release()
    assert tokens.taken_back() == b"+"
    client.release()
    assert tokens.taken_back() == b""
    assert client.acquire()


def test_make_may_go_on_blocking(tokens: Tokens, client: Jobserver) -> None:
    assert not (client.acquire() and client.acquire())
    assert os.get_blocking(tokens._reading)
    assert os.get_blocking(tokens._writing)


@pytest.mark.parametrize("flags", ["", "k", " -j4", "-- A=--jobserver-auth=3,4"])
def test_no_jobserver(flags: str) -> None:
    assert connect({"MAKEFLAGS": flags}) is None


@pytest.mark.parametrize("address", ["-2,-2", "98,99", "0,1", "x", "fifo:/does/not/exist"])
def test_jobserver_out_of_reach(address: str) -> None:
    with pytest.raises(JobserverUnavailableError, match=r"'\+'"):
        connect({"MAKEFLAGS": f" -j4 --jobserver-auth={address}"})


@pytest.mark.parametrize("count", [0, 1, 5])
def test_no_more_jobs_than_tokens(count: int, tokens: Tokens, client: Jobserver, tmp_path: Path) -> None:
    (tmp_path / "running").mkdir()
    tokens.put(count)
    with WorkerPool(3, jobserver=client) as pool:
        group = pool.group()
        most = max(f.result() for f in [group.submit(Overlap(tmp_path / "running")) for _ in range(8)])
        assert most == min(3, count + 1)
    assert tokens.taken_back() == b"+" * count


def test_token_that_comes_late_is_used(tokens: Tokens, client: Jobserver, tmp_path: Path) -> None:
    with WorkerPool(2, jobserver=client) as pool:
        group = pool.group()
        futures = [group.submit(HangWithChild(tmp_path / name)) for name in ("a", "b")]
        wait_until((tmp_path / "a").exists)
        assert not (tmp_path / "b").exists()
        tokens.put(1)
        wait_until((tmp_path / "b").exists)
        assert not any(future.done() for future in futures)
        assert tokens.taken_back() == b""
    assert tokens.taken_back() == b"+"  # closing gives back what is held


def test_tokens_go_back_whatever_happens(tokens: Tokens, client: Jobserver, tmp_path: Path) -> None:
    tokens.put(2)
    with WorkerPool(3, jobserver=client) as pool:
        group = pool.group(total_timeout=60)
        futures: list[Future[object]] = [
            group.submit(RunOut()),
            group.submit(DieFirst(tmp_path / "a", 9)),
            group.submit(DieFirst(tmp_path / "b", 1)),
            group.submit(HangWithChild(tmp_path / "c"), timeout=0.2),
        ]
        group.submit(RunOut()).cancel()
        wait(futures)
        assert tokens.taken_back() == b"++"


MAKE = shutil.which("make")


def make_version() -> tuple[int, ...]:
    if MAKE is None:
        return ()
    words = subprocess.run([MAKE, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return tuple(int(part) for part in words[2].split(".")[:2]) if words[:2] == ["GNU", "Make"] else ()


def wrapper(folder: Path, first: str) -> None:
    """Makes a ptxas in a folder that does something else before it compiles, other than when asked for its version."""
    selection = parcubin.Compiler("sm_80", jobs=1).select_provider("bundle")
    assert selection is not None
    script = folder / "ptxas"
    script.write_text(
        f'#!/bin/sh\nif [ -f input.ptx ] && ! grep -q "version 99" input.ptx; then\n{first}fi\n'
        f'exec {selection.tools[0].path} "$@"\n'
    )
    script.chmod(0o755)


@pytest.fixture
def counting(tmp_path: Path) -> Callable[[], int]:
    """Puts a ptxas that counts itself in place. Returns: how many ran at the same time, at most."""
    (tmp_path / "running").mkdir()
    wrapper(
        tmp_path,
        f"touch {tmp_path}/running/$$\n"
        "for i in 0 1 2 3 4 5 6 7 8 9; do\n"  # until another one runs, for a while
        f"count=$(ls {tmp_path}/running | wc -l)\necho $count >> {tmp_path}/counts\n"
        "if [ $count -gt 1 ]; then break; fi\nsleep 0.2\ndone\n"
        f"sleep 0.1\nrm {tmp_path}/running/$$\n",
    )
    return lambda: max(int(line) for line in (tmp_path / "counts").read_text().split())


MAKEFILE = """
all: a.cubin b.cubin
%.cubin: kernels.ptx
\t{plus}{python} -m parcubin compile kernels.ptx -o $@ --arch sm_80 -q {options}
"""


@pytest.mark.parametrize(("jobs", "options"), [(2, ""), (3, "-j 3"), (4, "-j 1")])
@pytest.mark.parametrize("style", ["pipe", "fifo"])
@pytest.mark.skipif(not make_version(), reason="there is no GNU make")
def test_under_make(style: str, jobs: int, options: str, tmp_path: Path, counting: Callable[[], int]) -> None:
    style_option = [f"--jobserver-style={style}"] if make_version() >= (4, 4) else []
    if style == "fifo" and not style_option:
        pytest.skip("this make has no named pipes")
    (tmp_path / "kernels.ptx").write_text(ptx_in_shards(4))
    (tmp_path / "Makefile").write_text(MAKEFILE.format(plus="+", python=sys.executable, options=options))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PARCUBIN_PTXAS": str(tmp_path / "ptxas")}
    assert MAKE is not None
    subprocess.run([MAKE, f"-j{jobs}", *style_option], cwd=tmp_path, env=environment, check=True, timeout=120)
    assert (tmp_path / "a.cubin").exists()
    assert counting() <= (2 if options == "-j 1" else jobs)
    assert options == "-j 1" or counting() > 1


@pytest.mark.skipif(not make_version(), reason="there is no GNU make")
def test_recipe_without_plus_runs_one_job_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "kernels.ptx").write_text(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"
    )
    recipe = MAKEFILE.format(plus="", python=sys.executable, options="").replace("-q", "--json").replace(" b.cubin", "")
    (tmp_path / "Makefile").write_text(recipe)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert MAKE is not None
    result = subprocess.run([MAKE, "-sj3"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert '"jobs": 1' in result.stdout
    assert "in front of the recipe" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_command_gives_tokens_back(number: signal.Signals, tokens: Tokens, tmp_path: Path) -> None:
    tokens.put(3)
    (tmp_path / "kernels.ptx").write_text(ptx_in_shards(4))
    wrapper(tmp_path, f"touch {tmp_path}/started-$$\nsleep 1000\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PARCUBIN_PTXAS": str(tmp_path / "ptxas")}
    environment["MAKEFLAGS"] = f" -j4 {tokens.address}"
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job ignores it
    code += "from parcubin.cli.main import main; main()"
    command = [sys.executable, "-c", code, "compile", "kernels.ptx", "-o", "out.cubin", "--arch", "sm_80", "-q", "-j3"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, pass_fds=tokens.descriptors)
    try:
        wait_until(lambda: len(list(tmp_path.glob("started-*"))) == 3)
        process.send_signal(number)
        assert process.wait(timeout=10) == 128 + number
    finally:
        process.kill()
        process.wait()
    assert tokens.taken_back() == b"+++"
