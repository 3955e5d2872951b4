"""Running CUBINs on the GPU, through the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def _checked(result: tuple[Any, ...]) -> Any:
    error, *values = result
    if int(error):
        raise RuntimeError(f"{error!r}")
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


class Gpu:
    """A context on the first GPU, with the modules of one program loaded: a linked CUBIN or all CUBINs of a bundle."""

    def __init__(self, cubins: Sequence[bytes]) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self._modules = [_checked(driver.cuModuleLoadData(cubin)) for cubin in cubins]

    def run(self, kernel: str, data: bytes, *, threads: int = 32, blocks: int = 1, shared: int = 0) -> bytes:
        """Runs `kernel(ptr)` on a buffer that holds `data`; returns what it holds afterwards."""
        driver = self._driver
        buffer = _checked(driver.cuMemAlloc(len(data)))
        try:
            _checked(driver.cuMemcpyHtoD(buffer, data, len(data)))
            function = self._find(driver.cuModuleGetFunction, kernel)
            arguments = ((int(buffer),), (ctypes.c_void_p,))
            _checked(
                driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, 0, arguments, 0),
            )
            _checked(driver.cuCtxSynchronize())
            result = bytearray(len(data))
            _checked(driver.cuMemcpyDtoH(result, buffer, len(data)))
            return bytes(result)
        finally:
            driver.cuMemFree(buffer)

    def read(self, variable: str) -> bytes:
        """The bytes of a variable."""
        address, size = self._find(self._driver.cuModuleGetGlobal, variable)
        result = bytearray(int(size))
        _checked(self._driver.cuMemcpyDtoH(result, address, int(size)))
        return bytes(result)

    def write(self, variable: str, data: bytes) -> None:
        """Sets a variable."""
        address, _ = self._find(self._driver.cuModuleGetGlobal, variable)
        _checked(self._driver.cuMemcpyHtoD(address, data, len(data)))

    def _find(self, get: Any, name: str) -> Any:
        found = [result for m in self._modules if not int((result := get(m, name.encode()))[0])]
        assert len(found) == 1, f"{name} is in {len(found)} modules"
        return _checked(found[0])

    def unload(self) -> None:
        for module in self._modules:
            self._driver.cuModuleUnload(module)


@contextmanager
def loaded(cubins: Sequence[bytes]) -> Iterator[Gpu]:
    """The CUBINs of a program, loaded into a context of their own."""
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
