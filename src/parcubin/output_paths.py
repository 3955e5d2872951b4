"""Where output may go, checked before any work is done: nothing of the user's is overwritten."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from parcubin.errors import ParcubinError, UsageError


def check_output(path: Path, inputs: Sequence[Path]) -> None:
    """Refuses a file or folder that cannot be written, or that is one of the inputs or holds one.

    Raises:
        UsageError: the reason.
    """
    if not path.parent.is_dir():
        raise UsageError(f"Cannot write '{path}': there is no folder '{path.parent}'.")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise UsageError(f"'{path}' is not a regular file; it is not overwritten. Give the output another name.")
    if path.is_file() and any(source.exists() and source.samefile(path) for source in inputs):
        raise UsageError(f"'{path}' is an input; it is not overwritten.")
    check_holds_none(path, inputs)


def check_file(path: Path, inputs: Sequence[Path]) -> None:
    """The same for what can be a file only.

    Raises:
        UsageError: the reason.
    """
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder; it is not overwritten. Give the output another name.")
    check_output(path, inputs)


def check_apart(name: str, path: Path, other_name: str, other: Path) -> None:
    """Refuses two outputs one of which would overwrite the other.

    Raises:
        UsageError: they are the same, or one is in the other.
    """
    if is_within(path, other) or is_within(other, path):
        raise UsageError(f"{name} '{path}' and {other_name} '{other}' overlap. Keep them apart.")


def check_folder(path: Path, inputs: Iterable[Path], replaceable: Callable[[Path], bool]) -> None:
    """Refuses a folder to write to, before there is anything to write.

    Args:
        path: the folder; it need not exist.
        inputs: files that it must not hold.
        replaceable: whether a folder that exists and is not empty may be written to.

    Raises:
        UsageError: it holds an input or is not replaceable, or is no folder.
        ParcubinError: it cannot be read.
    """
    check_holds_none(path, inputs)
    try:
        check_replaceable(path, replaceable)
    except OSError as error:
        raise ParcubinError(f"Cannot read '{path}': {error.strerror or error}.") from None


def check_holds_none(path: Path, inputs: Iterable[Path]) -> None:
    """Refuses a folder to write to that holds an input.

    Raises:
        UsageError: it does.
    """
    for source in inputs:
        if is_within(source, path):
            raise UsageError(f"'{path}' holds the input '{source}'. Give the output another name.")


def is_within(path: Path, folder: Path) -> bool:
    """Whether a path, without symbolic links, is a folder or in it. Neither has to exist."""
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except (OSError, ValueError):  # the working directory was removed; a zero byte in the path
        return False


def check_replaceable(path: Path, replaceable: Callable[[Path], bool]) -> None:
    """Refuses a folder that is there, is not empty and is not replaceable, and what is no folder.

    Raises:
        UsageError: it is so.
        OSError: it cannot be read.
    """
    if path.exists() and not (path.is_dir() and (not any(path.iterdir()) or replaceable(path))):
        raise UsageError(f"'{path}' exists and was not written by parcubin. Give another name, or remove it.")
