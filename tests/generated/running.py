"""What generated programs compute on a GPU."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.generated.description import DEPTH, THREADS, Program

_STACK_BYTES = 16 << 10
"""Of a thread: recursion goes deeper than the 1 KiB that is usual allows."""


@dataclass(frozen=True)
class Plan:
    """What to do with a program on a GPU; plain data.

    Attributes:
        kernels: to run, in this order.
        host: variables to set before that.
        variables: to read after that.
        seed: of the numbers in the buffers.
    """

    kernels: tuple[str, ...]
    host: Mapping[str, bytes]
    variables: tuple[str, ...]
    seed: int


def plan_of(program: Program) -> Plan:
    """Runs every kernel twice, because what it finds in variables is different then."""
    names = [kernel.name for kernel in program.kernels]
    variables = program.host_variables.values()
    return Plan(
        kernels=(*names, *reversed(names)),
        host={v.name: struct.pack(f"<{v.count}I", *v.written_by_host) for v in variables if v.written_by_host},
        variables=tuple(v.name for v in variables if not v.holds_addresses),
        seed=program.seed,
    )


def outcome(cubins: Sequence[bytes], plan: Plan) -> dict[str, bytes]:
    """What the kernels leave in their buffers, and what is in the variables at the end."""
    from tests.gpu.launch import Launch, loaded

    found: dict[str, bytes] = {}
    with loaded(cubins) as gpu:
        for name, data in plan.host.items():
            gpu.write(name, data)
        for number, kernel in enumerate(plan.kernels):
            words = [((t + 1) * 2654435761 + 977 * (plan.seed + number)) & 0xFFFFFFFF for t in range(THREADS)]
            buffer = struct.pack(f"<{THREADS + 1}I", *words, DEPTH)
            found[f"{number}: {kernel}"] = gpu.run(Launch(kernel, threads=THREADS, shared=4 * THREADS, buffer=buffer))
        for name in plan.variables:
            found[f"variable {name}"] = gpu.read(name)
    return found


def prepare_gpu() -> Any:
    """Makes a context that lives as long as the process, with enough stack."""
    from cuda.bindings import driver

    def checked(result: tuple[Any, ...]) -> Any:
        if int(result[0]):
            raise RuntimeError(repr(result[0]))
        return result[1] if len(result) > 1 else None

    checked(driver.cuInit(0))
    device = checked(driver.cuDeviceGet(0))
    context = checked(driver.cuDevicePrimaryCtxRetain(device))
    checked(driver.cuCtxSetCurrent(context))
    checked(driver.cuCtxSetLimit(driver.CUlimit.CU_LIMIT_STACK_SIZE, _STACK_BYTES))
    return context


def differences(images: Mapping[str, Sequence[bytes]], plan: Plan) -> list[str]:
    """How the outcomes of all ways differ from that of the first.

    Args:
        images: the CUBINs that make the program, by the way in which they were made.
        plan: what to do.
    """
    expected: dict[str, bytes] | None = None
    found: list[str] = []
    for way, cubins in images.items():
        try:
            actual = outcome(cubins, plan)
        except (AssertionError, RuntimeError) as error:
            return [*found, f"{way}: {error}"]  # the context is of no use any more
        if expected is None:
            expected = actual
        found += [
            f"{way}: {what} is {_words(actual[what])}, not {_words(value)}"
            for what, value in expected.items()
            if actual[what] != value
        ]
    return found


def _words(data: bytes) -> str:
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return ", ".join(f"{word:#x}" for word in words[:8])
