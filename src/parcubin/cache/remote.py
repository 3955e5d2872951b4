"""Entries in a bucket, or any other place that fsspec reaches.

It is asked when neither memory nor the folder has an entry, and gets what is put there in the background. It may be
slow, fail or lie: it costs a build no more than a bounded time, and then is left alone. An entry of it is checked as
every other is.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from parcubin.cache.store import MAX_ENTRY_BYTES

ResultT = TypeVar("ResultT")

TIMEOUT_S = 2.0
"""What one look-up may take."""

PATIENCE_S = 5.0
"""What all look-ups may take that found nothing sound."""

LINGER_S = 3.0
"""What the end of a `Compiler` waits for what is still on its way there."""

MAX_WAITING_BYTES = 256 << 20
"""What waits for its way there at most; more is not sent."""


class RemoteStore:
    """Entries at a URL of fsspec's. Implements `Store`."""

    def __init__(
        self,
        url: str,
        *,
        timeout: float = TIMEOUT_S,
        patience: float = PATIENCE_S,
        linger: float = LINGER_S,
        filesystem: Any = None,
    ) -> None:
        """Prepares a store; nothing is asked yet.

        Args:
            url: `s3://bucket/folder`.
            timeout: seconds that one look-up may take.
            patience: seconds that all look-ups may take that found nothing sound. Then no more are made.
            linger: seconds that `close` waits for what is still on its way.
            filesystem: an object with fsspec's interface; by default the one that the URL names.
        """
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._patience = patience
        self._linger = linger
        self._filesystem = filesystem
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._spent: dict[str, float] = {}
        self._wasted = 0.0
        self._warnings: dict[str, None] = {}
        self._reads = self._writes = True
        self._waiting: queue.SimpleQueue[tuple[str, bytes] | None] = queue.SimpleQueue()
        self._waiting_bytes = 0
        self._sender: threading.Thread | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings)

    def get(self, key: str) -> bytes | None:
        if not self._reads:
            return None
        start = time.monotonic()
        data, error = _within(self._timeout, lambda: self._read(key))
        spent = time.monotonic() - start
        if isinstance(data, bytes):
            with self._lock:
                self._spent[key] = spent
            return data
        if error is not None and not isinstance(error, FileNotFoundError):
            self._waste(self._timeout, f"it fails: {error!r}" if str(error) else f"it fails: {type(error).__name__}")
        else:
            self._waste(spent, "it is slow")
        return None

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            if not self._writes or len(data) > MAX_ENTRY_BYTES:
                return
            if self._waiting_bytes + len(data) > MAX_WAITING_BYTES:
                return
            self._waiting_bytes += len(data)
            if self._sender is None:
                self._sender = threading.Thread(target=self._send, name="parcubin-cache", daemon=True)
                self._sender.start()
        self._waiting.put((key, data))

    def drop(self, key: str) -> None:
        """What is damaged stays, since it is others', too, and is replaced by what is compiled."""
        with self._lock:
            spent = self._spent.pop(key, 0.0)
        self._waste(max(spent, self._timeout), "its entries are damaged")

    def close(self) -> None:
        """Waits, not for ever, for what is still on its way."""
        with self._lock:
            sender, self._sender = self._sender, None
            self._writes = False
        if sender is not None:
            self._waiting.put(None)
            sender.join(self._linger)

    def _waste(self, seconds: float, why: str) -> None:
        with self._lock:
            self._wasted += seconds
            if self._wasted > self._patience and self._reads:
                self._reads = False
                self._warnings[f"The remote cache {self._url} is not asked any more: {why}."] = None

    def _read(self, key: str) -> bytes | None:
        with self._opened().open(self._path(key), "rb") as file:
            data: bytes = file.read(MAX_ENTRY_BYTES + 1)
        return data

    def _send(self) -> None:
        while (item := self._waiting.get()) is not None:
            key, data = item
            try:
                if self._writes or self._sender is None:
                    self._opened().pipe_file(self._path(key), data)
            except Exception as error:  # a file system of fsspec's raises what it likes
                self._writes = False
                if not isinstance(error, NotImplementedError):  # a web folder is read only
                    self._warnings[f"The remote cache {self._url} cannot be written: {error!r}."] = None
                return
            finally:
                with self._lock:
                    self._waiting_bytes -= len(data)

    def _opened(self) -> Any:
        with self._opening:
            if self._filesystem is None:
                import fsspec

                self._filesystem, _ = fsspec.core.url_to_fs(self._url, use_listings_cache=False)
            return self._filesystem

    def _path(self, key: str) -> str:
        return f"{self._url}/{key[:2]}/{key}"


def _within(seconds: float, call: Callable[[], ResultT]) -> tuple[ResultT | None, Exception | None]:
    """What a call returns or raises; two times None when it takes longer, in a thread that nobody waits for then."""
    outcome: list[tuple[ResultT | None, Exception | None]] = []

    def run() -> None:
        try:
            outcome.append((call(), None))
        except Exception as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, name="parcubin-cache-get", daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0] if outcome else (None, None)
