"""`parcubin-ptxas` where it compiles in parts."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from parcubin.cli.main import unwind_on_signals
from parcubin.compiler import Compiler
from parcubin.configuration import ToolPaths
from parcubin.errors import NotInPartsError, ParcubinError, ToolchainError
from parcubin.files import write_file
from parcubin.inspect.cubin import section_places
from parcubin.model import CompilationOptions
from parcubin.ptxas.command_line import CommandLine
from parcubin.ptxas.messages import UnknownMessageError, joined_messages
from parcubin.toolchain.locate import find_all
from parcubin.toolchain.version import Version, executable_version, library_version
from parcubin.workers.jobserver import JobserverUnavailableError, jobserver
from parcubin.workers.machine import available_cores

_ENTRY = re.compile(rb"\.entry\s+([\w$%]+)")
_GLOBAL_SECTIONS = re.compile(r"\.nv\.global(?:\.init)?")
_FIRST_RIGHT_JOIN = (13, 2)
"""The first release that joins plain modules without harm to static shared memory (providers/relocatable_link.py)."""


@dataclass(frozen=True)
class Refusal:
    """Why ptxas compiles the program.

    Attributes:
        reason: for the log.
        is_sound: nothing is wrong with the program, as far as is known.
    """

    reason: str
    is_sound: bool


def compile_in_parts(command: CommandLine, real: str, *, allow_slower_code: bool) -> Refusal | None:
    """Compiles the program with the real ptxas, in parts, writes the output and prints the messages.

    Args:
        command: what is asked for.
        real: the real ptxas.
        allow_slower_code: compile in parts, too, what gets slower by it.

    Returns: why nothing was done; None when all is done.
    """
    unwind_on_signals()
    try:
        _compile(command, real, allow_slower_code=allow_slower_code)
    except (NotInPartsError, ToolchainError) as error:
        return Refusal(error.message.partition("\n")[0], is_sound=True)
    except ParcubinError as error:
        return Refusal(f"{type(error).__name__}: {error.message.partition(chr(10))[0]}", is_sound=False)
    except UnknownMessageError as error:
        return Refusal(f"a message cannot be joined: {error}", is_sound=True)
    except Exception as error:  # a fault of parcubin is no reason for a build to fail
        return Refusal(f"internal error: {type(error).__name__}: {error}", is_sound=True)
    return None


def _compile(command: CommandLine, real: str, *, allow_slower_code: bool) -> None:
    (path,) = command.inputs
    is_relocatable = "compile-only" in command.flags
    version = executable_version(real)
    if is_relocatable and version.release < _FIRST_RIGHT_JOIN:
        raise NotInPartsError(f"The linkers of CUDA {version.major}.{version.minor} cannot join modules.")
    options = _options(command)
    provider, paths = _toolchain(real, version)
    jobs = min(int(command.values.get("split-compile", "0")), available_cores()) or _jobs()
    target = command.values.get("gpu-name", "sm_75")
    with Compiler(target, jobs=jobs, provider=provider, paths=paths, llvm="none") as compiler:
        program = compiler.compile(
            path,
            options=options,
            output="relocatable" if is_relocatable else "cubin",
            in_parts_only=not allow_slower_code,
        )
    *logs, _ = program.report.logs
    kernels = [name.decode() for name in _ENTRY.findall(Path(path).read_bytes())]
    sections = section_places(program.cubin)
    messages = joined_messages(
        logs,
        list(dict.fromkeys(kernels)),
        sum(place.stop - place.start for name, place in sections.items() if _GLOBAL_SECTIONS.fullmatch(name)),
        verbose="verbose" in command.flags,
        extensible=not is_relocatable,
    )
    write_file(Path(command.output), program.cubin)
    sys.stderr.write(messages)


def _toolchain(real: str, version: Version) -> tuple[str, ToolPaths]:
    """The provider that has the real ptxas and a linker of its release, and their paths."""
    for file in find_all("nvJitLink"):
        if library_version(file.path).release == version.release:
            return "subprocess+nvjitlink", ToolPaths(ptxas=real, nvjitlink=file.path)
    nvlink = Path(os.path.realpath(real)).with_name("nvlink")
    if nvlink.is_file() and executable_version(str(nvlink)).release == version.release:
        return "subprocess", ToolPaths(ptxas=real, nvlink=str(nvlink))
    raise NotInPartsError(f"There is no linker of CUDA {version.major}.{version.minor}.")


def _jobs() -> int:
    try:
        jobserver()
    except JobserverUnavailableError:
        jobs = 1
    else:
        jobs = available_cores()
    if jobs < 2:
        raise NotInPartsError("One job runs at a time.")
    return jobs


def _options(command: CommandLine) -> CompilationOptions:
    """The options, where they are among those that are known; others are ptxas's to judge."""
    values = command.values
    level, registers = values.get("opt-level", "3"), values.get("maxrregcount")
    is_known = (
        level in ("0", "1", "2", "3")
        and (registers is None or registers.isdecimal())
        and values.get("Ofast-compile", "0") == "0"  # with `-ewp`, ptxas 13.5 fails, or leaves warnings out
        and values.get("split-compile", "0").isdecimal()
        and values.get("machine", "64") == "64"
    )
    if not is_known:
        raise NotInPartsError("The value of an option is not understood.")
    return CompilationOptions(
        opt_level=int(level),
        line_info="generate-line-info" in command.flags,
        max_registers=int(registers) if registers else None,
        keep_log=True,
        ptxas_options=tuple(command.shard_options),
    )
