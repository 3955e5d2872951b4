"""Loading CUBINs into a GPU and running their kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import pytest

from parcubin.errors import ToolchainError
from parcubin.model import Target
from parcubin.toolchain.driver import usable_driver


def require_gpu() -> None:
    """Skips the module when there is no GPU; says why."""
    pytest.importorskip("cuda.bindings.driver")
    try:
        usable_driver()
    except ToolchainError as error:
        pytest.skip(error.message, allow_module_level=True)


def _checked(result: tuple[Any, ...]) -> Any:
    code, *values = result
    assert not code, code.name
    return values[0] if len(values) == 1 else values


@lru_cache
def _device() -> Any:
    from cuda.bindings import driver

    _checked(driver.cuInit(0))
    return _checked(driver.cuDeviceGet(0))


@lru_cache
def _context() -> Any:
    from cuda.bindings import driver

    return _checked(driver.cuDevicePrimaryCtxRetain(_device()))


def gpu_target() -> Target:
    """The target of this machine's GPU: `sm_90`."""
    from cuda.bindings import driver

    attribute = driver.CUdevice_attribute
    major, minor = (
        _checked(driver.cuDeviceGetAttribute(which, _device()))
        for which in (
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    return Target(f"sm_{major}{minor}")


@contextmanager
def loaded(cubin: bytes) -> Iterator[Any]:
    """The CUBIN, loaded as a module."""
    from cuda.bindings import driver

    _checked(driver.cuCtxSetCurrent(_context()))
    module = _checked(driver.cuModuleLoadData(cubin))
    try:
        yield module
    finally:
        _checked(driver.cuModuleUnload(module))


def run(module: Any, kernel: str, memory: bytes, *numbers: int, threads: int = 32) -> bytes:
    """Runs a kernel of one block on a copy of some memory, and gives back what became of it.

    Args:
        module: from `loaded`.
        kernel: its first parameter is the memory's address.
        memory: what the memory holds at first.
        numbers: further parameters, 32 bits each.
        threads: threads of the block.
    """
    from cuda.bindings import driver

    function = _checked(driver.cuModuleGetFunction(module, kernel.encode()))
    address = _checked(driver.cuMemAlloc(len(memory)))
    try:
        _checked(driver.cuMemcpyHtoD(address, memory, len(memory)))
        values = (int(address), *numbers)
        types = (ctypes.c_void_p, *[ctypes.c_uint32] * len(numbers))
        _checked(driver.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, 0, (values, types), 0))
        _checked(driver.cuCtxSynchronize())
        result = bytearray(len(memory))
        _checked(driver.cuMemcpyDtoH(result, address, len(memory)))
        return bytes(result)
    finally:
        _checked(driver.cuMemFree(address))
