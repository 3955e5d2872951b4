"""An error of the driver ends one program and no other. The driver is a stand-in, so this takes no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gpu.launch import GpuProcess, Outcome, Work

_DRIVER = """
import enum, os

class Error(enum.IntEnum):
    SUCCESS = 0
    CUDA_ERROR_ILLEGAL_ADDRESS = 700

spoiled = False

def cuModuleLoadData(cubin):
    global spoiled
    if cubin == b"ends the process":
        os._exit(3)
    spoiled = spoiled or cubin == b"bad"
    return Error.CUDA_ERROR_ILLEGAL_ADDRESS if spoiled else Error.SUCCESS, 1

def cuModuleUnload(module):
    return (Error.SUCCESS,)

def cuModuleGetGlobal(module, name):
    return Error.SUCCESS, 0, 4

def cuMemcpyDtoH(result, address, size):
    result[:] = os.getpid().to_bytes(4, "little")
    return (Error.SUCCESS,)

def cuInit(flags):
    return (Error.SUCCESS,)

cuCtxSetCurrent = cuDevicePrimaryCtxRelease = cuInit

def cuDeviceGet(number):
    return Error.SUCCESS, 0

cuDevicePrimaryCtxRetain = cuDeviceGet
"""


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GpuProcess]:
    package = tmp_path / "cuda" / "bindings"
    package.mkdir(parents=True)
    (package / "driver.py").write_text(_DRIVER)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)  # which a spawned process inherits
    process = GpuProcess()
    yield process
    process.close()


def process_of(gpu: GpuProcess) -> bytes:
    """The number of the process that runs a good program."""
    outcome = gpu.run(Work((b"good",), (), ("pid",)))
    assert not outcome.error
    return outcome.buffers[0]


@pytest.mark.parametrize(
    ("cubin", "error"), [(b"bad", "CUDA_ERROR_ILLEGAL_ADDRESS"), (b"ends the process", "the process ended")]
)
def test_an_error_replaces_the_process(gpu: GpuProcess, cubin: bytes, error: str) -> None:
    first = process_of(gpu)
    assert process_of(gpu) == first
    outcome = gpu.run(Work((cubin,), ()))
    assert outcome == Outcome((), outcome.error)
    assert outcome.error.startswith(error)
    assert process_of(gpu) != first
