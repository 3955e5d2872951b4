"""Writing output: whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parcubin.errors import ParcubinError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A private name beside `path` to write to; renamed to `path` when the block succeeds, removed when it fails.

    Raises:
        ParcubinError: the file cannot be written.
    """
    temporary = path.with_name(f".parcubin-{secrets.token_hex(8)}")
    try:
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise ParcubinError(f"Cannot write {path}: {error.strerror or error}.") from None


def write_file(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all.

    Raises:
        ParcubinError: it cannot be written.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(data)
