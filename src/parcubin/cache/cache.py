"""Entries from the nearest place that has them, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from parcubin.cache.entry import DamagedEntryError, Entry
from parcubin.cache.key import Key
from parcubin.cache.store import Store
from parcubin.errors import ParcubinError

ResultT = TypeVar("ResultT")


class Cache:
    """Stores, the nearest first. What a farther one has is copied to the nearer ones."""

    def __init__(self, stores: Sequence[Store], *, remote: Store | None = None, warnings: Sequence[str] = ()) -> None:
        """Takes stores.

        Args:
            stores: those at hand.
            remote: one that takes a while to answer, behind the others.
            warnings: what the user should know of how they were opened.
        """
        self._near = tuple(stores)
        self._stores = self._near if remote is None else (*self._near, remote)
        self._own_warnings = tuple(warnings)

    def get(self, key: Key, read: Callable[[Entry], ResultT]) -> ResultT | None:
        """A result; None when no store has it. What is damaged is dropped.

        Args:
            key: of the result.
            read: what makes it of an entry. Raises `ValueError`, `KeyError`, `TypeError`, `IndexError` or a
                `ParcubinError` where the entry is not what it should be.
        """
        return self._get(self._stores, key, read)

    def _get(self, stores: Sequence[Store], key: Key, read: Callable[[Entry], ResultT]) -> ResultT | None:
        for number, store in enumerate(stores):
            data = store.get(key)
            if data is None:
                continue
            try:
                result = read(Entry.decoded(key, data))
            except (DamagedEntryError, ValueError, KeyError, TypeError, IndexError, ParcubinError):
                store.drop(key)
                continue
            for nearer in stores[:number]:
                nearer.put(key, data)
            return result
        return None

    def put(self, key: Key, entry: Entry) -> None:
        """Keeps a result."""
        self._put(self._stores, key, entry)

    def _put(self, stores: Sequence[Store], key: Key, entry: Entry) -> None:
        data = entry.encoded(key)
        for store in stores:
            store.put(key, data)

    def remembered(self, key: Key, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """An answer that is plain JSON, asked once on this machine. What `ask` raises is not kept."""
        known = self._get(self._near, key, lambda entry: dict(entry.facts))
        if known is None:
            known = ask()
            self._put(self._near, key, Entry(known))
        return known

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know, each thing once."""
        return tuple(dict.fromkeys([*self._own_warnings, *(w for store in self._stores for w in store.warnings)]))

    def close(self) -> None:
        """Ends what goes on in the background."""
        for store in self._stores:
            store.close()
