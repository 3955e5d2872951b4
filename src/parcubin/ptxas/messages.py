"""What ptxas would have printed about a program, from what it printed about the parts.

ptxas 12.4 to 13.5 print first the messages that name a line, then those about functions, kernel by kernel; with `-v`,
then the size of the variables and what each kernel takes, with the functions that it calls. Kernels come in the reverse
order of their definitions, and functions with every kernel that calls them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_PLACE = re.compile(r"ptxas .+?, line (\d+); ")
_MEMORY = re.compile(r"ptxas info\s*: (\d+) bytes gmem(.*)")
_OTHER_MEMORY = re.compile(r", (\d+) bytes (\w+\[\d+\])")
_BLOCK = re.compile(r"ptxas info\s*: (?:Compiling entry function '([^']+)' for |Function properties for '?([^'\s]+))")
_OF_BLOCK = re.compile(r"ptxas info\s*: (?:Used \d|Compile time = )|    \d+ bytes stack frame, ")
_OVERRIDE = re.compile(r"ptxas info\s*: Overriding (?:.* for '([^']+)' )?")
_DUMMY_KERNEL = "__cuda_dummy_entry__"  # of `-ewp` and `-c`
_MESSAGE = re.compile(r"ptxas (?:warning|info)\s*: ")
_FUNCTION = re.compile(r"[Ff]unction '([^']+)'")


class UnknownMessageError(Exception):
    """ptxas printed something that is not known to be joined; the text is the line."""


@dataclass
class _Part:
    """What ptxas printed about a shard.

    Attributes:
        placed: messages that name a line.
        overrides: of `-v`, where options and directives disagree, by kernel.
        messages: by kernel, the other messages, those about functions that it calls included.
        functions: of `ptxas -c`, a block of lines for each function.
        kernels: a block of lines for each kernel, with those of the functions that it calls.
        memory: bytes by name of the memory that is not global.
    """

    placed: list[str] = field(default_factory=list)
    overrides: dict[str, list[str]] = field(default_factory=dict)
    messages: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, list[str]] = field(default_factory=dict)
    kernels: dict[str, list[str]] = field(default_factory=dict)
    memory: Counter[str] = field(default_factory=Counter)


def joined_messages(
    logs: Iterable[str], kernels: Sequence[str], global_bytes: int, *, verbose: bool, extensible: bool = True
) -> str:
    """The messages about a whole program.

    Args:
        logs: what ptxas printed with `-v` about each shard.
        kernels: the program's kernels, in the order of their definitions.
        global_bytes: the size of its global variables.
        verbose: whether `-v` was given.
        extensible: whether the shards were compiled with `-ewp`.

    Raises:
        UnknownMessageError: there is a message of unknown form.
    """
    order = {name: -position for position, name in enumerate(kernels)}
    parts = [_read(log, order, extensible=extensible) for log in logs]
    lines = [*_placed(parts)]
    if verbose:
        lines += _in_order((p.overrides for p in parts), order)
    lines += _in_order((p.messages for p in parts), order)
    if verbose:
        memory: Counter[str] = sum((p.memory for p in parts), Counter())
        lines.append(
            f"ptxas info    : {global_bytes} bytes gmem{''.join(f', {n} bytes {name}' for name, n in memory.items())}"
        )
        functions = {name: block for part in parts for name, block in part.functions.items()}
        lines += [line for block in functions.values() for line in block]
        lines += _in_order((p.kernels for p in parts), order)
    return "".join(f"{line}\n" for line in lines)


def _in_order(by_kernel: Iterable[Mapping[str, list[str]]], order: Mapping[str, int]) -> Iterator[str]:
    blocks = [item for one in by_kernel for item in one.items()]
    for _, block in sorted(blocks, key=lambda item: order.get(item[0], 1)):
        yield from block


def _placed(parts: Sequence[_Part]) -> Iterator[str]:
    """Messages by line. What several shards say is about a function of which each has a copy."""
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    for part in parts:
        counts |= Counter(part.placed)
        for position, message in enumerate(part.placed):
            first.setdefault(message, position)

    def place(message: str) -> tuple[int, int]:
        match = _PLACE.match(message)
        assert match is not None
        return int(match[1]), first[message]

    for message in sorted(counts, key=place):
        yield from [message] * counts[message]


def _read(log: str, order: Mapping[str, int], *, extensible: bool) -> _Part:
    part = _Part()
    block: list[str] | None = None
    loose: list[str] = []
    overrides: list[tuple[str, str]] = []
    about = ""
    for line in log.splitlines():
        if _PLACE.match(line):
            part.placed.append(line)
        elif match := _MEMORY.match(line):
            found = _OTHER_MEMORY.findall(match[2])
            if "".join(f", {size} bytes {name}" for size, name in found) != match[2]:
                raise UnknownMessageError(line)
            part.memory.update({name: int(size) for size, name in found})
        elif match := _BLOCK.match(line):
            if match[1]:
                block = part.kernels.setdefault(match[1], [])
            elif not part.kernels:
                block = part.functions.setdefault(match[2], [])
            assert block is not None
            block.append(line)
        elif block is not None and _OF_BLOCK.match(line):
            block.append(line)
        elif match := _OVERRIDE.match(line):
            if match[1] != _DUMMY_KERNEL:
                overrides.append((match[1] or "", line))
        elif _MESSAGE.match(line):
            function = _FUNCTION.search(line)
            if function and function[1] in order:
                about = function[1]
            (part.messages.setdefault(about, []) if about else loose).append(line)
        elif line:
            raise UnknownMessageError(line)
    if extensible and len(overrides) % 2 == 0 and overrides[: len(overrides) // 2] == overrides[len(overrides) // 2 :]:
        del overrides[len(overrides) // 2 :]  # `-ewp` says everything twice
    about = ""
    for kernel, line in overrides:
        about = kernel or about
        part.overrides.setdefault(about, []).append(line)
    if loose:
        first = next(iter(part.messages), next(iter(part.kernels), ""))
        part.messages[first] = loose + part.messages.get(first, [])
    return part
