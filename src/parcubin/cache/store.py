"""Where entries lie, as the cache sees it."""

from __future__ import annotations

from typing import Protocol

MAX_ENTRY_BYTES = 1 << 30
"""Larger entries are neither written nor read."""


class Store(Protocol):
    """Bytes by key. Whatever goes wrong, no operation raises: then nothing is found, or nothing is kept, and a warning
    says so. Safe to use from several threads and processes."""

    def get(self, key: str) -> bytes | None:
        """What was put there, or what has become of it; None when there is nothing."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Keeps bytes until there is no more room for them."""
        ...

    def drop(self, key: str) -> None:
        """Forgets what is damaged."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know."""
        ...

    def close(self) -> None:
        """Ends what goes on in the background."""
        ...
