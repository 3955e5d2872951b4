"""ptxas's command line, as ptxas 13.5 reads it, and what each option means for a program that is compiled in parts.

Tried with 13.5: names are never abbreviated; a value follows after a space or `=`, or, of `-O` and `-m` alone, at
once; a flag takes none; of an option that is given two values the last counts, with a warning; each operand is a
file.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes 10 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ALLOW_SLOWER_CODE = "--allow-slower-code"
"""The one option that ptxas does not have."""

DEFAULT_OUTPUT = "elf.o"

_OWN_FLAGS = {"verbose": "v", "compile-only": "c", "generate-line-info": "lineinfo", "jobserver": "jobserver"}
_OWN_VALUES = {
    "output-file": "o",
    "gpu-name": "arch",
    "opt-level": "O",
    "Ofast-compile": "Ofc",
    "maxrregcount": "maxrregcount",
    "split-compile": "split-compile",
    "machine": "m",
}
"""What this program gives a meaning to."""

_SHARD_FLAGS = {
    "disable-optimizer-constants": "disable-optimizer-consts",
    "disable-warnings": "w",
    "dont-merge-basicblocks": "no-bb-merge",
    "gno-fabric-access-check": "gno-fabric-access-check",
    "gno-tensor-memory-access-check": "gno-tmem-access-check",
    "make-errors-visible-at-exit": "make-errors-visible-at-exit",
    "optimize-float-atomics": "opt-fp-atomics",
    "override-directive-values": "override-directive-values",
    "return-at-end": "ret-end",
    "suppress-async-bulk-multicast-advisory-warning": "suppress-async-bulk-multicast-advisory-warning",
    "suppress-debug-info": "suppress-debug-info",
    "suppress-double-demote-warning": "suppress-double-demote-warning",
    "suppress-sparse-mma-advisory-info": "suppress-sparse-mma-advisory-info",
    "suppress-stack-size-warning": "suppress-stack-size-warning",
    "warn-on-double-precision-use": "warn-double-usage",
    "warn-on-local-memory-usage": "warn-lmem-usage",
    "warn-on-spills": "warn-spills",
    "warning-as-error": "Werror",
}
_SHARD_VALUES = {
    "allow-expensive-optimizations": "allow-expensive-optimizations",
    "def-load-cache": "dlcm",
    "def-store-cache": "dscm",
    "fmad": "fmad",
    "force-load-cache": "flcm",
    "force-store-cache": "fscm",
    "maxntid": "maxntid",
    "minnctapersm": "minnctapersm",
    "register-usage-level": "regUsageLevel",
}
"""What concerns each function by itself, so that every shard gets it."""

_FLAGS = {**_OWN_FLAGS, **_SHARD_FLAGS}
_VALUES = {**_OWN_VALUES, **_SHARD_VALUES}
_LONG_NAMES = {short: name for name, short in {**_FLAGS, **_VALUES}.items()}
_SHARD_OPTIONS = _SHARD_FLAGS.keys() | _SHARD_VALUES.keys()


class NotUnderstoodError(Exception):
    """The command line has something that only ptxas itself knows to treat; the text says what."""


class CommandLine:
    """What a command line says.

    Attributes:
        inputs: the operands.
        values: by long name, the values of options that take one.
        flags: long names of the flags.
        shard_options: those options, as they are written, that every shard gets.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        """Reads a command line.

        Args:
            arguments: without the program's name and without `--allow-slower-code`.

        Raises:
            NotUnderstoodError: the reason.
        """
        self.inputs: list[str] = []
        self.values: dict[str, str] = {}
        self.flags: set[str] = set()
        self.shard_options: list[str] = []
        remaining = iter(_with_options_files(arguments))
        for argument in remaining:
            if argument == "-" or not argument.startswith("-"):
                self.inputs.append(argument)
            else:
                self._read_option(argument, remaining)

    @property
    def output(self) -> str:
        """The file to write."""
        return self.values.get("output-file", DEFAULT_OUTPUT)

    def _read_option(self, argument: str, remaining: Iterator[str]) -> None:
        name, equals, value = argument.partition("=")
        if argument.startswith(("-O", "-m")) and argument[2:].isdecimal():
            name, equals, value = argument[:2], "=", argument[2:]
        long_name = name[2:] if name.startswith("--") else _LONG_NAMES.get(name[1:], "")
        if long_name in _FLAGS and not equals:
            self.flags.add(long_name)
            written = [argument]
        elif long_name in _VALUES:
            written = [argument]
            if not equals:
                value = next(remaining, "")
                written.append(value)
            if not value or self.values.get(long_name, value) != value:
                raise NotUnderstoodError(argument)
            self.values[long_name] = value
        else:
            raise NotUnderstoodError(argument)
        if long_name in _SHARD_OPTIONS:
            self.shard_options += written


def _with_options_files(arguments: Sequence[str]) -> Iterator[str]:
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, value = argument.partition("=")
        if name in ("--options-file", "-optf"):
            yield from _options_of(value if equals else next(remaining, ""))
        else:
            yield argument


def _options_of(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes longer to import than ptxas to start
            text = file.read()
    except (OSError, UnicodeDecodeError):
        raise NotUnderstoodError(f"the options file {path}") from None
    options = text.split()
    if any(mark in text for mark in "\"'\\#,") or any(o.startswith(("--options-file", "-optf")) for o in options):
        raise NotUnderstoodError(f"quotes, comments or other files in the options file {path}")
    return options
