"""The Python interface, used in odd ways."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import parcubin
from parcubin.configuration import ToolPaths
from parcubin.errors import ParcubinError, UsageError, WorkerError
from tests.pipeline.samples import kernel, module, ptx_in_shards

GOOD = module(kernel("good"))


@pytest.mark.parametrize("target", [None, 90, "", "sm_90; rm", b"sm_90", "SM_90", "sm_90\n"])
def test_odd_targets(target: Any) -> None:
    with pytest.raises(UsageError):
        parcubin.Compiler(target)


@pytest.mark.parametrize(
    "settings",
    [
        *({"jobs": value} for value in ("2", 1.5, 0, -1, 10**9)),
        *({"max_memory": value} for value in ("1G", 0, -1, 0.5)),
        *({"nice": value} for value in ("1", -1)),
        {"driver": "new"},
    ],
    ids=str,
)
def test_odd_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        parcubin.Compiler("sm_80", **settings)


@pytest.mark.parametrize("values", [{"opt_level": "3"}, {"max_registers": "9"}, {"inlining_threshold": "x"}], ids=str)
def test_odd_options(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        parcubin.CompilationOptions(**values)


@pytest.fixture(scope="module")
def compiler() -> parcubin.Compiler:
    return parcubin.Compiler("sm_80", jobs=2)


ODD_INPUTS: dict[str, Any] = {
    "None": None,
    "no list": [],
    "no tuple": (),
    "a number": 5,
    "no text": "",
    "no bytes": b"",
    "None in a list": [None],
    "a list in a list": [[GOOD]],
    "a set": {GOOD},
    "an object": object(),
    "a zero byte": "\0",
    "a number among inputs": [GOOD, 1],
}


@pytest.mark.parametrize("what", ODD_INPUTS)
def test_odd_inputs(what: str, compiler: parcubin.Compiler) -> None:
    with pytest.raises(ParcubinError) as caught:
        compiler.compile(ODD_INPUTS[what])
    assert caught.value.message


@pytest.mark.parametrize(
    "settings",
    [{"output": None}, {"output": "exe"}, {"options": {}}, *({"timeout": x} for x in ("1", 0, -1, float("nan")))],
    ids=str,
)
def test_odd_arguments(settings: dict[str, Any], compiler: parcubin.Compiler) -> None:
    with pytest.raises(UsageError):
        compiler.compile(GOOD, **settings)


def test_infinite_limits_are_none(compiler: parcubin.Compiler) -> None:
    program = compiler.compile(GOOD, timeout=float("inf"), total_timeout=float("inf"))
    assert list(program.kernels) == ["good"]


def test_programs_pickle(compiler: parcubin.Compiler, tmp_path: Path) -> None:
    for output in ("bundle", "cubin"):
        program = compiler.compile(GOOD, output=output)
        copy = pickle.loads(pickle.dumps(program))
        assert copy.kernels == program.kernels
        assert copy.cubin == program.cubin
        copy.write(tmp_path / f"{output}.cubin" if output == "cubin" else tmp_path / output)
    with pytest.raises(UsageError, match="pickled"):
        pickle.loads(pickle.dumps(compiler.compile(GOOD))).link()


def test_async(compiler: parcubin.Compiler) -> None:
    async def several() -> list[parcubin.Program]:
        return await asyncio.gather(*(compiler.compile_async(module(kernel(f"k{i}"))) for i in range(5)))

    assert [list(program.kernels) for program in asyncio.run(several())] == [[f"k{i}"] for i in range(5)]
    with pytest.raises(ParcubinError):
        asyncio.run(compiler.compile_async("no such file"))


@pytest.mark.parametrize("cache", ["off", "kept"])
@pytest.mark.fault("an asynchronous compile that is cancelled", "its jobs end; other compiles and the compiler go on")
def test_cancelled(cache: str, tmp_path: Path) -> None:
    ptxas = tmp_path / "ptxas"
    with parcubin.Compiler("sm_80", jobs=1) as compiler:
        selection = compiler.select_provider("bundle")
    assert selection is not None
    ptxas.write_text(
        '#!/bin/sh\nif [ -f input.ptx ] && grep -q "entry slow" input.ptx; then\n'
        f"touch {tmp_path}/started; sleep 1000; fi\n"
        f'exec {selection.tools[0].path} "$@"\n'
    )
    ptxas.chmod(0o755)
    paths = ToolPaths(ptxas=str(ptxas))

    async def run(compiler: parcubin.Compiler) -> float:
        task = asyncio.ensure_future(compiler.compile_async([module(kernel("slow")), ptx_in_shards(3)]))
        other = asyncio.ensure_future(compiler.compile_async(module(kernel("other"))))
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.02)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        took = time.monotonic() - start
        assert list((await other).kernels) == ["other"]
        return took

    folder = cache if cache == "off" else tmp_path / cache
    with parcubin.Compiler("sm_80", jobs=2, provider="subprocess", paths=paths, cache=folder) as compiler:
        assert asyncio.run(run(compiler)) < 100  # of 1000
        program = compiler.compile(GOOD)
        assert list(program.kernels) == ["good"]
        assert not program.report.warnings


LEFT = {
    "never closed": "compiler.compile(text)",
    "while a thread compiles": "threading.Thread(target=compiler.compile, args=[slow], daemon=True).start()",
    "compiles at exit": "import atexit; atexit.register(lambda: compiler.compile(text))",
    "garbage": "compiler.me = compiler; compiler.compile(text); del compiler",
}


@pytest.mark.parametrize("how", LEFT)
@pytest.mark.fault("a compiler that is not closed when the interpreter ends", "the interpreter ends, nothing is left")
def test_the_interpreter_ends(how: str, tmp_path: Path) -> None:
    script = "import parcubin, sys, threading, time\ntext, slow = open(sys.argv[1]).read(), open(sys.argv[2]).read()\n"
    script += f"compiler = parcubin.Compiler('sm_80', jobs=2)\n{LEFT[how]}\n"
    (tmp_path / "good.ll").write_text(GOOD)
    (tmp_path / "slow.ptx").write_text(ptx_in_shards(8))
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-c", script, str(tmp_path / "good.ll"), str(tmp_path / "slow.ptx")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    if how != "compiles at exit":  # where Python starts nothing any more
        assert (run.returncode, run.stderr) == (0, "")
    end = time.monotonic() + 10
    while (left := list((tmp_path / "temporary").iterdir())) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []


def test_threads(compiler: parcubin.Compiler) -> None:
    found: dict[int, list[str]] = {}

    def run(number: int) -> None:
        found[number] = list(compiler.compile(module(kernel(f"k{number}"))).kernels)

    threads = [threading.Thread(target=run, args=[number]) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [f"k{number}"] for number in range(24)}


def test_closed_compiler_says_so() -> None:
    compiler = parcubin.Compiler("sm_80", jobs=1)
    compiler.close()
    with pytest.raises(WorkerError, match="closed"):
        compiler.compile(GOOD)
    with pytest.raises(WorkerError, match="closed"):
        asyncio.run(compiler.compile_async(GOOD))
