"""Running CUBINs on the GPU, through the driver.

As a program of its own (`python -m tests.gpu.launch RESULT`), it runs what standard input says in a process that may
print, and whose context may break: it reads a pickled `Work` and writes a pickled `Outcome`.
"""

from __future__ import annotations

import ctypes
import pickle
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.gpu.replaceable_process import ReplaceableProcess

WORDS = 256
"""Size of a kernel's buffer, in words of 32 bits."""

THREADS = 32

_SECONDS_OF_A_PROGRAM = 120


@dataclass(frozen=True)
class Launch:
    """A kernel to run as `kernel(buffer, arguments...)`.

    Attributes:
        kernel: its name.
        threads: threads a block.
        blocks: blocks of the grid.
        shared: bytes of dynamic shared memory.
        arguments: the bytes of each parameter after the buffer.
        texture: the second parameter is the handle of a texture.
        set_before: variables that the host sets first, and their bytes.
        buffer: what the buffer holds at first; numbers where nothing is said.
    """

    kernel: str
    threads: int = THREADS
    blocks: int = 1
    shared: int = 8 * THREADS
    arguments: tuple[bytes, ...] = ()
    texture: bool = False
    set_before: tuple[tuple[str, bytes], ...] = ()
    buffer: bytes | None = None


@dataclass(frozen=True)
class Work:
    """The CUBINs of a program, what to run, in order, and the variables to read afterwards."""

    cubins: tuple[bytes, ...]
    launches: tuple[Launch, ...]
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What became of some work.

    Attributes:
        buffers: what each kernel left in its buffer, then the values of the variables.
        error: the driver's name of the error that ended the work early.
        printed: lines on standard output, sorted, because threads print in any order.
        complaints: lines on standard error, likewise.
    """

    buffers: tuple[bytes, ...]
    error: str = ""
    printed: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()


class DriverError(RuntimeError):
    """A call of the driver failed; the message is the error's name."""


def _checked(result: tuple[Any, ...]) -> Any:
    error, *values = result
    if int(error):
        raise DriverError(error.name)
    return values[0] if len(values) == 1 else values


def compute_capability() -> int | None:
    """90 for an H200; None without a driver or a GPU."""
    try:
        from cuda.bindings import driver
    except ImportError:
        return None
    try:
        _checked(driver.cuInit(0))
        device = _checked(driver.cuDeviceGet(0))
        attributes = driver.CUdevice_attribute
        major = attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        minor = attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
        return int(_checked(driver.cuDeviceGetAttribute(major, device))) * 10 + int(
            _checked(driver.cuDeviceGetAttribute(minor, device))
        )
    except RuntimeError:
        return None


def first_buffer() -> bytes:
    """What a kernel's buffer holds at first: 11, 48, 85 and so on."""
    return struct.pack(f"<{WORDS}I", *(11 + 37 * i for i in range(WORDS)))


class Gpu:
    """A context on the first GPU, with the modules of one program loaded: a linked CUBIN or all CUBINs of a bundle."""

    def __init__(self, cubins: Sequence[bytes]) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self._modules = [_checked(driver.cuModuleLoadData(cubin)) for cubin in cubins]

    def write(self, variable: str, data: bytes) -> None:
        """Sets a variable."""
        address, size = self._find(self._driver.cuModuleGetGlobal, variable)
        assert int(size) == len(data)
        _checked(self._driver.cuMemcpyHtoD(address, data, len(data)))

    def run(self, launch: Launch) -> bytes:
        """Runs a kernel on a buffer of its own; returns what the buffer holds afterwards."""
        driver = self._driver
        for variable, value in launch.set_before:
            self.write(variable, value)
        data = first_buffer() if launch.buffer is None else launch.buffer
        buffer, texture = _checked(driver.cuMemAlloc(len(data))), None
        try:
            _checked(driver.cuMemcpyHtoD(buffer, data, len(data)))
            arguments = [struct.pack("<Q", int(buffer))]
            if launch.texture:
                texture = self._texture(buffer, len(data))
                arguments.append(struct.pack("<Q", int(texture)))
            storage = [ctypes.create_string_buffer(a, len(a)) for a in (*arguments, *launch.arguments)]
            addresses = (ctypes.c_void_p * len(storage))(*map(ctypes.addressof, storage))
            function = self._find(driver.cuModuleGetFunction, launch.kernel)
            grid, block = (launch.blocks, 1, 1), (launch.threads, 1, 1)
            _checked(
                driver.cuLaunchKernel(function, *grid, *block, launch.shared, 0, ctypes.addressof(addresses), 0),
            )
            _checked(driver.cuCtxSynchronize())
            result = bytearray(len(data))
            _checked(driver.cuMemcpyDtoH(result, buffer, len(data)))
            return bytes(result)
        finally:
            if texture is not None:
                driver.cuTexObjectDestroy(texture)
            driver.cuMemFree(buffer)

    def read(self, variable: str) -> bytes:
        """The bytes of a variable."""
        address, size = self._find(self._driver.cuModuleGetGlobal, variable)
        result = bytearray(int(size))
        _checked(self._driver.cuMemcpyDtoH(result, address, int(size)))
        return bytes(result)

    def _texture(self, buffer: Any, size: int) -> Any:
        """A texture object of the buffer, as words."""
        driver = self._driver
        resource = driver.CUDA_RESOURCE_DESC()
        resource.resType = driver.CUresourcetype.CU_RESOURCE_TYPE_LINEAR
        resource.res.linear.devPtr = buffer
        resource.res.linear.format = driver.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT32
        resource.res.linear.numChannels = 1
        resource.res.linear.sizeInBytes = size
        return _checked(driver.cuTexObjectCreate(resource, driver.CUDA_TEXTURE_DESC(), None))

    def _find(self, get: Any, name: str) -> Any:
        found = [result for m in self._modules if not int((result := get(m, name.encode()))[0])]
        assert len(found) == 1, f"{name} is in {len(found)} modules"
        return _checked(found[0])

    def unload(self) -> None:
        for module in self._modules:
            self._driver.cuModuleUnload(module)


@contextmanager
def loaded(cubins: Sequence[bytes]) -> Iterator[Gpu]:
    """The CUBINs of a program, loaded into the first GPU's primary context."""
    from cuda.bindings import driver

    _checked(driver.cuInit(0))
    device = _checked(driver.cuDeviceGet(0))
    context = _checked(driver.cuDevicePrimaryCtxRetain(device))
    _checked(driver.cuCtxSetCurrent(context))
    gpu = Gpu(cubins)
    try:
        yield gpu
    finally:
        gpu.unload()
        driver.cuDevicePrimaryCtxRelease(device)


def run(work: Work) -> Outcome:
    """Runs the kernels in this process."""
    results: list[bytes] = []
    try:
        with loaded(work.cubins) as gpu:
            results.extend(map(gpu.run, work.launches))  # keeps what was done before an error
            results.extend(map(gpu.read, work.variables))
    except DriverError as error:
        return Outcome(tuple(results), str(error))
    return Outcome(tuple(results))


class GpuProcess:
    """A process that runs one program after the other. One that an error of the driver ends spoils the process's
    context for good, so the next program gets a new process."""

    def __init__(self) -> None:
        self._process = ReplaceableProcess()

    def run(self, work: Work) -> Outcome:
        """Runs the kernels; what ends the process is an error, too."""
        try:
            found = self._process.run(_SECONDS_OF_A_PROGRAM, run, work)
        except TimeoutError:
            found = Outcome((), f"not done after {_SECONDS_OF_A_PROGRAM} s")
        except BrokenExecutor as error:
            found = Outcome((), f"the process ended: {error}")
        if found.error:
            self.close()
        return found

    def close(self) -> None:
        self._process.replace()


def run_apart(work: Work, folder: Path) -> Outcome:
    """Runs the kernels in a process of their own, and catches what they print."""
    result = folder / "outcome"
    command = [sys.executable, "-m", "tests.gpu.launch", str(result)]
    root = Path(__file__).resolve().parents[2]
    process = subprocess.run(
        command, input=pickle.dumps(work), capture_output=True, cwd=root, timeout=_SECONDS_OF_A_PROGRAM
    )
    assert process.returncode == 0, process.stderr.decode(errors="replace")
    outcome = pickle.loads(result.read_bytes())
    assert isinstance(outcome, Outcome)
    printed, complaints = (
        tuple(sorted(text.decode(errors="replace").splitlines())) for text in (process.stdout, process.stderr)
    )
    return replace(outcome, printed=printed, complaints=complaints)


if __name__ == "__main__":
    from tests.gpu import launch  # what is pickled here must not belong to `__main__`

    Path(sys.argv[1]).write_bytes(pickle.dumps(launch.run(pickle.load(sys.stdin.buffer))))
