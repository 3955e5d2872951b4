"""Writing output: whole or not at all, the same bytes for the same contents."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from parcubin.errors import ParcubinError, UsageError
from parcubin.output_paths import check_replaceable


def write_file(path: Path, data: bytes) -> None:
    """Writes a file, replacing one that exists. Of a symbolic link, what it points to is replaced.

    Raises:
        UsageError: there is something at `path` that is not a file.
        ParcubinError: it cannot be written.
    """
    path = _regular(path)
    with _staging(path) as staging:
        staged = staging / "new"
        staged.write_bytes(data)
        staged.replace(path)


def write_files(path: Path, files: Mapping[str, bytes], replaceable: Callable[[Path], bool]) -> None:
    """Writes several files as a `.zip`, or, under any other name, as a folder.

    The archive is not compressed and has fixed dates, so it depends on the contents and their order alone.

    Args:
        path: where to; a file that exists is replaced by an archive, an empty folder by a folder.
        files: contents by name; the names are plain file names.
        replaceable: whether a folder that exists and is not empty may be replaced, with all that it holds.

    Raises:
        UsageError: there is a folder at `path` that is not replaceable, or a file where a folder should go.
        ParcubinError: it cannot be written.
    """
    path = Path(os.path.realpath(path)) if path.is_dir() else path
    if path.suffix == ".zip":
        path = _regular(path)
        with _staging(path) as staging:
            _write_archive(staging / "new", files)
            (staging / "new").replace(path)
        return
    check_replaceable(path, replaceable)
    with _staging(path) as staging:
        new, old = staging / "new", staging / "old"
        new.mkdir()
        for name, data in files.items():
            (new / name).write_bytes(data)
        if path.exists():
            path.rename(old)  # goes with the staging folder
        try:
            new.rename(path)
        except OSError:
            if old.exists():
                old.rename(path)
            raise


def _regular(path: Path) -> Path:
    """The path without symbolic links, of a file or of nothing: renaming over a device or a pipe would replace it."""
    try:
        real = Path(os.path.realpath(path))
    except OSError as error:  # the working directory was removed
        raise ParcubinError(f"Cannot write '{path}': {error.strerror}.") from None
    if real.exists() and not real.is_file():
        what = "a folder" if real.is_dir() else "not a regular file"
        raise UsageError(f"'{path}' is {what}; it is not overwritten. Give the output another name.")
    return real


def _write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # Unix, whatever this is
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data)


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    """A private folder beside the output, on the same file system. What is made in it has the usual permissions."""
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".parcubin-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except OSError as error:
        raise ParcubinError(f"Cannot write '{path}': {error.strerror or error}.") from error
