"""The same PTX through every provider computes the same on a GPU."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from parcubin.inspect.cubin import read_cubin
from parcubin.model import Assembly, CompilationOptions, LinkInput, Ptx, RelocatableKind
from parcubin.providers.interface import CompilationProvider
from tests.gpu.gpu import gpu_target, loaded, require_gpu, run
from tests.providers.samples import (
    CALLER,
    EWP,
    HELPERS,
    LOOP,
    PLAIN,
    SHARED,
    SM_80,
    many_live_values,
    store_kernel,
)

require_gpu()

DEFAULT = CompilationOptions()
THREADS = 32
KERNELS = {"caller", "store", "looped", "shares", "hungry"}


def numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def assert_computes(assembly: Assembly) -> None:
    assert read_cubin(assembly.cubin).kernels.keys() == KERNELS
    with loaded(assembly.cubin) as module:
        empty = bytes(4 * THREADS)
        assert run(module, "store", empty[:4], threads=1) == numbers(0)
        # every thread writes to the same place: the last one is any of them
        assert struct.unpack("<I", run(module, "store", empty[:4]))[0] < THREADS
        assert run(module, "caller", empty[:4], threads=1) == numbers(10)
        assert run(module, "shares", empty[:4], threads=1)
        first = [float(i) for i in range(8)]
        memory = struct.pack("<8f", *first) + bytes(1024 - 32) + struct.pack("<8f", *[2.0] * 8)
        looped = run(module, "looped", memory, 8, threads=1)
        assert struct.unpack_from("<f", looped)[0] == 2 * sum(first)
        values = [float(i) for i in range(200)]
        hungry = run(module, "hungry", struct.pack("<200f", *values), threads=1)
        assert struct.unpack("<200f", hungry) == tuple(values[i * 7 % 200] for i in range(200))


@pytest.mark.parametrize("options", [DEFAULT, CompilationOptions(opt_level=0), CompilationOptions(max_registers=32)])
def test_linked_ptx(linker: CompilationProvider, options: CompilationOptions) -> None:
    inputs = [CALLER, HELPERS, LOOP, SHARED, store_kernel("store"), many_live_values()]
    assert_computes(linker.compile_and_link(gpu_target(), inputs, options))


@pytest.mark.parametrize("kind", [PLAIN, EWP])
def test_linked_modules(module_linker: CompilationProvider, kind: RelocatableKind) -> None:
    def module(ptx: Ptx, kind: RelocatableKind) -> LinkInput:
        return module_linker.compile_to_relocatable_module(gpu_target(), ptx, DEFAULT, kind)

    inputs = [module(ptx, kind) for ptx in (LOOP, SHARED, store_kernel("store"), many_live_values())]
    inputs += [module(CALLER, PLAIN), module(HELPERS, PLAIN)]
    assert_computes(module_linker.compile_and_link(gpu_target(), inputs, DEFAULT))


def test_architecture_specific_target(provider: CompilationProvider) -> None:
    target = type(SM_80)(f"{gpu_target()}a")
    if target.number < 90:
        pytest.skip(f"there is no {target}")
    text = store_kernel("store").text.replace(".version 7.8\n.target sm_80", f".version 8.7\n.target {target}")
    with loaded(provider.compile(target, Ptx(text), DEFAULT).cubin) as module:
        assert run(module, "store", bytes(4), threads=1) == numbers(0)


def test_other_targets_than_this_gpu(provider: CompilationProvider, cuobjdump: Callable[..., str]) -> None:
    cubin = provider.compile(SM_80, store_kernel("store"), DEFAULT).cubin
    assert "code for sm_80" in cuobjdump(cubin, "--dump-sass")
