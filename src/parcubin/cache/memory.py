"""Entries in this process's memory."""

from __future__ import annotations

import threading
from collections import OrderedDict

CAPACITY_BYTES = 256 << 20
"""What one store in memory keeps at most."""


class MemoryStore:
    """Entries in memory; the least recently used ones give way. Implements `Store`."""

    def __init__(self, capacity: int = CAPACITY_BYTES) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> bytes | None:
        with self._lock:
            data = self._entries.get(key)
            if data is not None:
                self._entries.move_to_end(key)
            return data

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            self._remove(key)
            if len(data) > self._capacity:
                return
            self._entries[key] = data
            self._bytes += len(data)
            while self._bytes > self._capacity:
                self._remove(next(iter(self._entries)))

    def drop(self, key: str) -> None:
        with self._lock:
            self._remove(key)

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """Nothing goes on in the background."""

    def _remove(self, key: str) -> None:
        self._bytes -= len(self._entries.pop(key, b""))
