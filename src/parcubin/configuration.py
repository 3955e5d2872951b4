"""What the user configured: which toolchain to use, and which not.

Taken from, in this order, each setting from the first place that has it:

1. the environment: PARCUBIN_PROVIDER, PARCUBIN_LLVM, PARCUBIN_FORBID, PARCUBIN_FORCE, PARCUBIN_MAX_INPUT,
   PARCUBIN_CACHE, PARCUBIN_CACHE_SIZE, PARCUBIN_CACHE_SHARED, PARCUBIN_CACHE_REMOTE, PARCUBIN_PTXAS,
   PARCUBIN_NVLINK, PARCUBIN_NVJITLINK, PARCUBIN_NVPTXCOMPILER;
2. the table `[tool.parcubin]` of the nearest `pyproject.toml` that has one, from the working directory upwards; but no
   paths and nothing that widens trust, so that entering a folder and compiling runs nothing that it brings along;
3. the user's file `~/.config/parcubin/config.toml`.

Arguments come before all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parcubin.errors import UsageError
from parcubin.user_files import configuration_file

FORBIDDABLE = ("subprocess", "nvptxcompiler", "nvjitlink", "driver", "deferred")
"""Providers that can be forbidden; a forbidden one takes no part in a combination either."""


@dataclass(frozen=True)
class ToolPaths:
    """Paths given by the user; each replaces the search for that component."""

    ptxas: str | None = None
    nvlink: str | None = None
    nvjitlink: str | None = None
    nvptxcompiler: str | None = None


_PATHS = ("ptxas", "nvlink", "nvjitlink", "nvptxcompiler")
_TYPES: dict[str, type] = {
    "provider": str,
    "llvm": str,
    "forbid": list,
    "force": bool,
    "max_input": int,
    "cache": str,
    "cache_size": str,
    "cache_shared": bool,
    "cache_remote": str,
    **dict.fromkeys(_PATHS, str),
}
_PLAIN = {"llvm": ("auto", "llvmlite"), "cache": ("auto", "off")}
"""What may be a path, and what it is when it is none."""
_TRUST = ("cache_shared", "cache_remote")

DEFAULT_CACHE_BYTES = 5 << 30
_ENVIRONMENT = {name: f"PARCUBIN_{name.upper()}" for name in _TYPES}
_TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}


@dataclass(frozen=True)
class Setting:
    """A configured value.

    Attributes:
        value: `provider`: its name; `llvm`: "auto", "llvmlite" or a folder; `forbid`: a list of names; `force`: a truth
            value; `max_input`: bytes; `cache`: "auto", "off" or a folder; `cache_size`: such as "5G"; `cache_shared`: a
            truth value; `cache_remote`: a URL; a tool: its path.
        origin: an environment variable, or the path of a file.
    """

    value: Any
    origin: str


@dataclass(frozen=True)
class Configuration:
    """What was configured.

    Attributes:
        settings: by name; what is not configured is not in it.
    """

    settings: Mapping[str, Setting] = field(default_factory=dict)

    @property
    def provider(self) -> str:
        """The provider to use, or `auto`."""
        value: str = self._value("provider", "auto")
        return value

    @property
    def llvm(self) -> str:
        """The LLVM to use: `auto`, `llvmlite` or a folder."""
        value: str = self._value("llvm", "auto")
        return value

    @property
    def forbid(self) -> frozenset[str]:
        """Providers not to use."""
        return frozenset(self._value("forbid", ()))

    @property
    def force(self) -> bool:
        """Whether to use versions with known faults."""
        value: bool = self._value("force", False)
        return value

    @property
    def max_input(self) -> int | None:
        """Bytes that an input may have at most; None for what is built in."""
        value: int | None = self._value("max_input", None)
        return value

    @property
    def cache(self) -> str:
        """Where results are kept: `auto`, `off` or a folder."""
        value: str = self._value("cache", "auto")
        return value

    @property
    def cache_size(self) -> int:
        """Bytes that the cache's folder keeps at most."""
        value = self._value("cache_size", None)
        return DEFAULT_CACHE_BYTES if value is None else bytes_of(value)

    @property
    def cache_shared(self) -> bool:
        """Whether others may write to the cache's folder."""
        value: bool = self._value("cache_shared", False)
        return value

    @property
    def cache_remote(self) -> str:
        """Where results are kept for others, as a URL of fsspec's; empty for nowhere."""
        value: str = self._value("cache_remote", "")
        return value

    @property
    def paths(self) -> ToolPaths:
        """The configured paths."""
        return ToolPaths(**{name: self._value(name, None) for name in _PATHS})

    def origin(self, name: str) -> str:
        """Where a setting comes from; empty when it is not configured."""
        return self.settings[name].origin if name in self.settings else ""

    def _value(self, name: str, default: Any) -> Any:
        return self.settings[name].value if name in self.settings else default


def bytes_of(text: str) -> int:
    """Bytes: `512M` is 512 times 1024 times 1024.

    Raises:
        UsageError: it is no size.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text, re.IGNORECASE | re.ASCII)
    if match is None:
        raise UsageError(f"'{text}' is no number of bytes. Write 512M or 4G.")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def read_configuration() -> Configuration:
    """The configuration of this process.

    Raises:
        UsageError: a setting is unknown or has the wrong type, or a file cannot be read.
    """
    settings: dict[str, Setting] = {}
    for name, setting in (*_of_environment(), *_of_project(), *_of_user()):
        settings.setdefault(name, setting)
    return Configuration(settings)


def _of_environment() -> Iterator[tuple[str, Setting]]:
    for name, variable in _ENVIRONMENT.items():
        text = os.environ.get(variable)
        if text is None:
            continue
        value: object = text
        if _TYPES[name] is bool:
            if text.lower() not in _TRUTH:
                raise UsageError(f"{variable} is '{text}'; it can be 1 or 0.")
            value = _TRUTH[text.lower()]
        elif name == "max_input":
            if not text.isdecimal():
                raise UsageError(f"{variable} is '{text}'; it is a number of bytes.")
            value = int(text)
        elif name == "forbid":
            value = [part.strip() for part in text.split(",") if part.strip()]
        elif not text:
            continue
        yield name, _checked(name, value, variable)


def _of_project() -> Iterator[tuple[str, Setting]]:
    try:
        here = Path.cwd()
    except OSError:  # the working directory was removed
        return
    for folder in (here, *here.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            table = _project_table(file)
            if table is not None:
                yield from _of_table(table, file, allow_paths=False)
                return


def _project_table(file: Path) -> object:
    """`[tool.parcubin]`. A file that does not speak of parcubin is none of its business, however broken."""
    try:
        if b"parcubin" not in file.read_bytes():
            return None
    except OSError:
        return None
    tools = _read(file).get("tool")
    return tools.get("parcubin") if isinstance(tools, dict) else None


def _of_user() -> Iterator[tuple[str, Setting]]:
    file = configuration_file()
    if file.is_file():
        yield from _of_table(_read(file), file, allow_paths=True)


def _of_table(table: object, file: Path, *, allow_paths: bool) -> Iterator[tuple[str, Setting]]:
    if not isinstance(table, dict):
        raise UsageError(f"{file}: 'parcubin' must be a table.")
    for name, value in table.items():
        if name not in _TYPES:
            raise UsageError(f"{file}: there is no setting '{name}'. The settings are {', '.join(_TYPES)}.")
        if (_is_path(name, value) or name in _TRUST) and not allow_paths:
            what = "decides whose results are trusted" if name in _TRUST else "is a path"
            raise UsageError(
                f"{file}: '{name}' {what}, which a project must not set. Set {_ENVIRONMENT[name]}, or set it in "
                f"{configuration_file()}."
            )
        yield name, _checked(name, value, str(file))


def _checked(name: str, value: object, origin: str) -> Setting:
    if type(value) is not _TYPES[name]:
        kind = {str: "text", bool: "true or false", list: "a list of names", int: "a number"}[_TYPES[name]]
        raise UsageError(f"{origin}: '{name}' must be {kind}.")
    if isinstance(value, list):
        unknown = [repr(item) for item in value if item not in FORBIDDABLE]
        if unknown:
            raise UsageError(
                f"{origin}: {', '.join(unknown)} cannot be forbidden. What can be is {', '.join(FORBIDDABLE)}."
            )
    if name == "cache_size":
        try:
            bytes_of(str(value))
        except UsageError as error:
            raise UsageError(f"{origin}: {error.message}") from None
    if _is_path(name, value):
        value = str(Path(str(value)).expanduser())
    return Setting(value, origin)


def _is_path(name: str, value: object) -> bool:
    return name in _PATHS or (name in _PLAIN and isinstance(value, str) and value not in _PLAIN[name])


def _read(file: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}.") from None
