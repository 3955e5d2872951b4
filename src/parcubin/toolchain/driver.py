"""The CUDA driver of this machine, asked in a process of its own: loading it into the host is the host's decision."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from parcubin.errors import ToolchainError, UsageError

_TIMEOUT_S = 60
"""`cuInit` takes seconds on machines with many GPUs and no persistence daemon."""

_QUESTION = """
import ctypes, json
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    print(json.dumps({"fault": str(error)}))
else:
    version, count = ctypes.c_int(), ctypes.c_int()
    answer = {"status": cuda.cuDriverGetVersion(ctypes.byref(version)), "version": version.value}
    if with_gpu:
        answer["status"] = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
        answer["gpus"] = count.value
    print(json.dumps(answer))
"""


@dataclass(frozen=True)
class DriverVersion:
    """What the installed driver supports.

    Attributes:
        cuda: the CUDA release that the driver belongs to: (12, 4).
        build: the driver's own version, "550.54.15"; empty when the system does not say.
    """

    cuda: tuple[int, int]
    build: str

    def __str__(self) -> str:
        return f"driver {'.'.join(map(str, self.cuda))}{f' ({self.build})' if self.build else ''}"


def installed_driver() -> DriverVersion:
    """The driver, whether or not there is a GPU.

    Raises:
        ToolchainError: there is none, or it does not work; says why.
    """
    return DriverVersion(_release(_ask(with_gpu=False)["version"]), _build())


def usable_driver() -> DriverVersion:
    """The driver as a compiler, which takes a GPU.

    Raises:
        ToolchainError: as `installed_driver`, or there is no GPU.
    """
    answer = _ask(with_gpu=True)
    if not answer.get("gpus"):
        raise ToolchainError("The CUDA driver sees no GPU, and cannot compile without one.")
    return DriverVersion(_release(answer["version"]), _build())


def can_load(cuda: tuple[int, int], toolchain_major: int) -> bool:
    """Whether a driver of a CUDA release loads what the toolchains of a major release make.

    A driver loads CUBINs of every older toolkit and, by "minor version compatibility" (CUDA Compatibility guide), of
    every toolkit of its own major release. PTX has to be of the driver's release or older.
    """
    return toolchain_major <= cuda[0]


def parse_release(text: str) -> tuple[int, int]:
    """A CUDA release as people write it: `12.4`.

    Raises:
        UsageError: it is none.
    """
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", text)
    if match is None:
        raise UsageError(f"'{text}' is not a CUDA release. A driver's release is written like 12.4.")
    return int(match[1]), int(match[2])


def _release(number: int) -> tuple[int, int]:
    """13000 is 13.0, 12040 is 12.4 (`cuDriverGetVersion`)."""
    return number // 1000, number % 1000 // 10


def _build() -> str:
    """From the kernel module: 550.54.15."""
    try:
        return Path("/sys/module/nvidia/version").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


@lru_cache
def _ask(*, with_gpu: bool) -> dict[str, int]:
    question = f"with_gpu = {with_gpu}\n{_QUESTION}"
    try:
        run = subprocess.run(
            [sys.executable, "-I", "-S", "-c", question],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolchainError(f"The CUDA driver does not answer within {_TIMEOUT_S} seconds.") from None
    try:
        answer: dict[str, int] = json.loads(run.stdout)
    except ValueError:
        log = run.stderr.decode(errors="replace")
        raise ToolchainError("The CUDA driver broke off when it was asked for its version.", log=log) from None
    if "fault" in answer:
        raise ToolchainError(f"There is no CUDA driver ({answer['fault']}).")
    if answer["status"]:
        raise ToolchainError(f"The CUDA driver cannot be used: CUresult {answer['status']}.")
    return answer
