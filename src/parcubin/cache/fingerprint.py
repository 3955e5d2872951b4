"""What tells one file of a toolchain, and one parcubin, from another, by content alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

_WHOLE = 1 << 20
_PIECES, _PIECE = 16, 1 << 16


def file_fingerprint(path: str | os.PathLike[str]) -> str:
    """What a file holds, as a hexadecimal number: of a file of up to 1 MiB all of it, of a larger one its size and 16
    pieces of 64 KiB, the first and the last among them. Two builds of a compiler, which has 50 MB and more, differ
    nearly everywhere. It does not depend on where the file lies, nor on when it was put there.

    Raises:
        OSError: the file cannot be read.
    """
    status = Path(path).stat()
    return _fingerprint(os.fspath(path), (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache
def _fingerprint(path: str, _unchanged: tuple[int, ...]) -> str:
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - what is called often
        size = os.fstat(file.fileno()).st_size
        digest.update(str(size).encode())
        if size <= _WHOLE:
            digest.update(file.readall())
        else:
            for number in range(_PIECES):
                place = (size - _PIECE) * number // (_PIECES - 1)
                digest.update(os.pread(file.fileno(), _PIECE, place))
    return digest.hexdigest()


def is_script(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a script, which may start any other file: its own content does not tell what it does."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - what is called often
            return file.read(2) == b"#!"
    except OSError:
        return False


def fingerprints(files: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The fingerprint of each file; of one that cannot be read, that it cannot."""
    found = []
    for path in files:
        try:
            found.append(file_fingerprint(path))
        except OSError as error:
            found.append(f"error {error.errno}")
    return found


@cache
def own_fingerprint() -> str:
    """What tells this parcubin from others: its source. An edited one finds nothing that it did not make itself."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
