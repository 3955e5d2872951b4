"""Reading what ptxas, nvlink, nvJitLink and libnvptxcompiler print.

The forms were taken from real logs of 12.4, 12.9, 13.0 and 13.5; tests/toolchain holds one of each.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, cast

from parcubin.errors import (
    CompileError,
    DuplicateSymbolError,
    InternalCompilerError,
    LinkCheckError,
    OutOfMemoryError,
    ParcubinError,
    PtxSyntaxError,
    PtxVersionError,
    RegisterAllocationError,
    RegisterSpillError,
    TargetMismatchError,
    TargetUnsupportedError,
    UnresolvedSymbolError,
)
from parcubin.model import Target

Severity = Literal["fatal", "error", "warning", "info"]


@dataclass(frozen=True)
class Diagnostic:
    """One message of a compiler.

    Attributes:
        severity: as the compiler says it.
        message: the text after it.
        line: 1-based line of the PTX, when said.
        function: the function that the message is about, when said.
    """

    severity: Severity
    message: str
    line: int | None = None
    function: str | None = None


@dataclass(frozen=True)
class ResourceUsage:
    """What `ptxas -v` says of one function. None is what it does not say.

    Attributes:
        name: the function's symbol.
        is_kernel: whether it is an entry point.
        registers: registers a thread; of kernels only.
        barriers: barriers; from 12.5 on, of kernels only.
        stack_bytes: stack frame of the function itself.
        spill_store_bytes: bytes of spill stores.
        spill_load_bytes: bytes of spill loads.
        shared_bytes: static shared memory; of kernels only.
    """

    name: str
    is_kernel: bool = False
    registers: int | None = None
    barriers: int | None = None
    stack_bytes: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    shared_bytes: int | None = None


# nvJitLink marks some of its messages with @E@, @W@ and @O@.
_DIAGNOSTIC = re.compile(
    r"^(?:@[A-Z]@)?(?:(?:ptxas|nvlink)\s+)?(?:(?P<file>.+?), line (?P<line>\d{1,9}); )?"
    r"(?P<severity>fatal|error|warning|info)\s*: +(?P<message>.*\S)",
    re.MULTILINE,
)
_FUNCTION = re.compile(
    r"\bfunction '(?P<quoted>[^']+)'|\bin function (?P<bare>[\w$.]+)|\bfor '(?P<limit>[^']+)' with\b"
)
_ENTRY = re.compile(r"Compiling entry function '([^']+)' for")
_PROPERTIES = re.compile(r"^ptxas info\s*: Function properties for '?([^'\s]+)'?")
_NUMBER = r"(?<!\d)(\d{1,18})"
_FRAME = re.compile(rf"{_NUMBER} bytes stack frame, {_NUMBER} bytes spill stores, {_NUMBER} bytes spill loads")
_USED = re.compile(rf"^ptxas info\s*: Used {_NUMBER} registers(.*)")
_SHARED = re.compile(rf"{_NUMBER} bytes smem")
_BARRIERS = re.compile(rf"used {_NUMBER} barriers")


def diagnostics(log: str) -> list[Diagnostic]:
    """The messages of a log, in order."""
    found = []
    for match in _DIAGNOSTIC.finditer(log):
        name = _FUNCTION.search(match["message"])
        found.append(
            Diagnostic(
                cast("Severity", match["severity"]),
                match["message"],
                int(match["line"]) if match["line"] else None,
                (name["quoted"] or name["bare"] or name["limit"]).rstrip(".") if name else None,
            )
        )
    return found


def warnings(log: str, ptx: str = "") -> list[Diagnostic]:
    """The warnings of a log.

    Args:
        log: everything the tool said.
        ptx: what was compiled; tells the function where the log only tells a line.
    """
    found = [d for d in diagnostics(log) if d.severity == "warning"]
    functions = _Functions(ptx)
    return [
        replace(d, function=functions.at(d.line)) if d.line is not None and d.function is None else d for d in found
    ]


def resource_usage(log: str) -> dict[str, ResourceUsage]:
    """The resource lines of `-v`, by function; kernels and, where they are reported, device functions."""
    usage: dict[str, ResourceUsage] = {}
    kernel = function = ""
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            kernel = function = match[1]
            usage[kernel] = ResourceUsage(kernel, is_kernel=True, shared_bytes=0)
        elif match := _PROPERTIES.match(line):
            function = match[1]
            usage.setdefault(function, ResourceUsage(function))
        elif (match := _FRAME.search(line)) and function:
            stack, stores, loads = map(int, match.groups())
            usage[function] = replace(
                usage[function], stack_bytes=stack, spill_store_bytes=stores, spill_load_bytes=loads
            )
        elif (match := _USED.match(line)) and kernel:
            shared = _SHARED.search(match[2])
            barriers = _BARRIERS.search(match[2])
            usage[kernel] = replace(
                usage[kernel],
                registers=int(match[1]),
                barriers=int(barriers[1]) if barriers else None,
                shared_bytes=int(shared[1]) if shared else 0,
            )
    return usage


def spilling_functions(log: str) -> list[str]:
    """The functions that spill registers, by the log's resource lines."""
    return [u.name for u in resource_usage(log).values() if u.spill_store_bytes or u.spill_load_bytes]


def check_spills(log: str, input_name: str) -> None:
    """Raises `RegisterSpillError` when the log says that a function spills."""
    if spilling := spilling_functions(log):
        usage = resource_usage(log)
        detail = ", ".join(f"{name} ({usage[name].spill_store_bytes} bytes)" for name in spilling)
        raise RegisterSpillError(
            f"Registers are spilled in {input_name}, and that was to be an error: {detail}. Allow more registers, make "
            "the kernel smaller, or allow spills.",
            kernels=spilling,
            log=log,
        )


def supported_ptx_version(log: str) -> int | None:
    """The newest PTX ISA version, from the message that refuses a newer one: 95 for 9.5."""
    match = re.search(r"current version is '(\d{1,3})\.(\d{1,3})'", log)
    return int(match[1]) * 10 + int(match[2]) if match else None


_CALLS_TOO_LARGE_FUNCTION = re.compile(r"[Ee]ntry function '[^']*' with max regcount of (\d{1,9}) calls function")


def failure(log: str, *, tool: str, target: Target, input_name: str, ptx: str = "") -> ParcubinError:
    """The error that a failed run's log describes.

    Args:
        log: everything the tool said.
        tool: the tool with its version, for the message: "ptxas 13.5.37".
        target: what was compiled for.
        input_name: what was compiled, for the message.
        ptx: the text that was compiled, when it was one; tells the kernel where the log only tells a line.

    Returns:
        An error of the class that fits, with the log and the kernels that it names.
    """
    found = [d for d in diagnostics(log) if d.severity in ("fatal", "error")]
    text = "\n".join(d.message for d in found) or log
    kernels = _kernels(found, log, ptx)
    first = next((d for d in found if "aborted due to errors" not in d.message), None)
    said = (first.message if first else log.strip()[:500] or "nothing").rstrip(".")
    line = next((d.line for d in found if d.line is not None), None)

    unknown = re.search(
        r"Value '(\S+)' is not defined for option '(?:gpu-name|arch)'|architecture \((?:compute_\w+)\)"
        r"|initialize arch state|Unsupported \.target '(\S+)'",
        log,
    )
    if unknown:
        return TargetUnsupportedError(
            f"{tool} does not know the target {unknown[1] or unknown[2] or target}. If the target is newer than the "
            "toolchain, install a newer one (for instance pip install --upgrade 'parcubin[cuda13]'); if it is an old "
            f"one, this toolchain has dropped it. {input_name} was not compiled.",
            log=log,
        )
    if _OTHER_TARGET.search(text):
        written = re.search(r"^\s*\.target\s+(\w+)", ptx, re.MULTILINE)
        return TargetMismatchError(
            f"The PTX of {input_name} is written for {written[1] if written else 'another target'} and cannot be "
            f"compiled for {target}. PTX is good for its own target and newer ones; a target with 'a' for that one "
            "alone, one with 'f' for its family.",
            log=log,
        )
    if (supported := supported_ptx_version(log)) is not None:
        return PtxVersionError(
            f"The PTX of {input_name} is of a newer version than {tool} understands, which is "
            f"{supported // 10}.{supported % 10} at most. Use a newer toolchain, or make older PTX.",
            supported=supported,
            log=log,
        )
    if limits := [int(n) for n in _CALLS_TOO_LARGE_FUNCTION.findall(text)]:
        return RegisterAllocationError(
            f"{_subject(kernels, input_name)} cannot be compiled for {target}: functions use more registers than the "
            f"launch bounds of the kernels that call them allow ({said}). Limit the registers to {min(limits)} "
            "(--maxrregcount), or loosen the bounds.",
            function_limit=min(limits),
            kernels=kernels,
            log=log,
        )
    if re.search(r"Register allocation failed|Insufficient registers", text):
        return RegisterAllocationError(
            f"{_subject(kernels, input_name)} cannot be compiled for {target} within the register limit: {said}. "
            "Raise the limit or make the kernel smaller.",
            kernels=kernels,
            log=log,
        )
    symbols = re.findall(r"Unresolved extern (?:function|variable) '([^']+)'|Undefined reference to '([^']+)'", text)
    if symbols:
        names = list(dict.fromkeys(a or b for a, b in symbols))
        return UnresolvedSymbolError(
            f"Symbols that {input_name} needs are defined nowhere: {', '.join(names)} (said by {tool}).",
            symbols=names,
            input_name=input_name,
            kernels=kernels,
            log=log,
        )
    duplicates = re.findall(r"Multiple definition of '([^']+)' in '([^']+)', first defined in '([^']+)'", text)
    if duplicates:
        what = "; ".join(f"{name}, in {second} and in {original}" for name, second, original in duplicates)
        return DuplicateSymbolError(f"Symbols are defined more than once: {what}.", kernels=kernels, log=log)
    if re.search(r"Size doesn't match|newer than toolkit|arch does not match", text):
        return LinkCheckError(f"{tool} refuses to link {input_name}: {said}.", kernels=kernels, log=log)
    if is_out_of_memory(log):
        return out_of_memory(_subject(kernels, input_name), tool=tool, said=said, kernels=kernels, log=log)
    if re.search(r"internal (compiler )?error|Internal error|died due to signal|Malformed \.debug_line|Assertion", log):
        return InternalCompilerError(
            f"{tool} failed internally on {_subject(kernels, input_name)}: {said}. Another way of splitting or another "
            "toolchain version may work.",
            kernels=kernels,
            log=log,
        )
    if line is not None or re.search(r"Missing \.version directive", log):
        where = f", line {line}" if line is not None else ""
        inside = f" in {', '.join(kernels)}" if kernels else ""
        return PtxSyntaxError(
            f"The PTX of {input_name} is not valid{where}{inside}: {said} (said by {tool}).",
            line=line,
            kernels=kernels,
            log=log,
        )
    return CompileError(
        f"{tool} could not compile {_subject(kernels, input_name)} for {target}: {said}.", kernels=kernels, log=log
    )


def crash(log: str, *, tool: str, status: str, input_name: str, ptx: str = "") -> CompileError:
    """The error for a tool that was killed by a signal; arguments as of `failure`."""
    kernels = _kernels([], log, ptx)
    if status == "SIGKILL" or is_out_of_memory(log):
        return out_of_memory(_subject(kernels, input_name), tool=tool, said=status, kernels=kernels, log=log)
    return InternalCompilerError(
        f"{tool} crashed ({status}) on {_subject(kernels, input_name)}. Another way of splitting or another toolchain "
        "version may work.",
        kernels=kernels,
        log=log,
    )


def is_out_of_memory(log: str) -> bool:
    """Whether a compiler's last words, or the dynamic linker's, are that it got no memory."""
    return _OUT_OF_MEMORY.search(log) is not None


def out_of_memory(
    subject: str, *, tool: str, said: str, kernels: Sequence[str] = (), log: str = ""
) -> OutOfMemoryError:
    """The error for a compiler that got no memory, or that the system ended.

    Args:
        subject: what was compiled.
        tool: what ran out of memory.
        said: its own words, or the signal that ended it.
        kernels: those at fault.
        log: everything the tool said.
    """
    return OutOfMemoryError(
        f"{tool} ran out of memory on {subject} ({said}). Make more memory available, or make the kernel smaller: less "
        "unrolling and inlining.",
        kernels=kernels,
        log=log,
    )


def _subject(kernels: Sequence[str], input_name: str) -> str:
    return f"{', '.join(kernels)} in {input_name}" if kernels else input_name


class _Functions:
    """Where the functions of PTX begin."""

    def __init__(self, ptx: str) -> None:
        self._ptx = ptx

    def at(self, line: int) -> str | None:
        """The last function that begins up to a line."""
        position = bisect_right(self._lines, line)
        return self._names[position - 1] if position else None

    @cached_property
    def _names(self) -> list[str]:
        return [function[1] for function in self._found]

    @cached_property
    def _lines(self) -> list[int]:
        lines, line, counted = [], 1, 0
        for function in self._found:
            line += self._ptx.count("\n", counted, function.end())
            counted = function.end()
            lines.append(line)
        return lines

    @cached_property
    def _found(self) -> list[re.Match[str]]:
        return list(_PTX_FUNCTION.finditer(self._ptx))


_OUT_OF_MEMORY = re.compile(
    r"\bout of memory\b|bad_alloc|\bmemory allocation fail|cannot allocate memory|failed to map segment", re.IGNORECASE
)
_PTX_FUNCTION = re.compile(r"\.(?:entry|func)\s+(?:\([^()]*\)\s*)?([A-Za-z_$%][\w$]*)")
_OTHER_TARGET = re.compile(
    r"SM version specified by \.target is higher than|with \.target '\w+' cannot be compiled (?:for|to)\b"
)
_PTX_ENTRY = re.compile(r"\.entry\s+([A-Za-z_$%][\w$]*)")


def _kernels(errors: Sequence[Diagnostic], log: str, ptx: str) -> list[str]:
    """The functions that the errors are about.

    Those that they name; else those that contain the lines they name; else the one that was being compiled when the
    log ends; else the only kernel there is.
    """
    named = [d.function for d in errors if d.function and "extern" not in d.message]
    if not named and ptx:
        functions = _Functions(ptx)
        named += [name for line in sorted({d.line for d in errors if d.line}) if (name := functions.at(line))]
    if not named:
        mentioned = [d.function for d in diagnostics(log) if d.function and d.severity == "info"]
        finished = {u.name for u in resource_usage(log).values() if u.registers is not None}
        named = [name for name in mentioned[-1:] if name not in finished]
    if not named and not any(d.line for d in errors) and len(entries := set(_PTX_ENTRY.findall(ptx))) == 1:
        named = list(entries)
    return list(dict.fromkeys(named))
