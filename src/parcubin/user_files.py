"""Where the user's own files are, by the XDG Base Directory Specification."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from parcubin.errors import ToolchainError


def configuration_file() -> Path:
    """`~/.config/parcubin/config.toml`, or below XDG_CONFIG_HOME."""
    return _base("XDG_CONFIG_HOME", ".config") / "parcubin" / "config.toml"


def cache_folder() -> Path:
    """`~/.cache/parcubin`, or below XDG_CACHE_HOME."""
    return _base("XDG_CACHE_HOME", ".cache") / "parcubin"


def private_cache_folder(name: str) -> Path:
    """`~/.cache/parcubin/NAME`, or below XDG_CACHE_HOME; made when it is not there.

    Raises:
        ToolchainError: it cannot be made, or others can write to it.
    """
    folder = cache_folder() / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        private = is_private(folder)
    except OSError as error:
        raise ToolchainError(f"{folder} cannot be used: {error.strerror}.") from error
    if not private:
        raise ToolchainError(f"{folder} is not private: another user could put files there.")
    return folder


def is_private(folder: Path) -> bool:
    """Whether a folder belongs to this process's user, and nobody else can write to it.

    Raises:
        OSError: it is not there.
    """
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _base(variable: str, default: str) -> Path:
    value = Path(os.environ.get(variable, ""))
    return value if value.is_absolute() else Path.home() / default
