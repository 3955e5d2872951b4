"""Entries in a folder that processes, and machines that mount it, share.

    FOLDER/v1/ab/abcdef...   an entry by its key
    FOLDER/v1/usage          bytes of all entries, and when they were last gone through; processes lock it

A file appears whole or not at all (temporary file, then rename), so that readers need no lock. What is read last has
the newest time of modification, and the oldest files go first. A file that is removed while it is read stays readable.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from parcubin.cache.store import MAX_ENTRY_BYTES
from parcubin.errors import ToolchainError
from parcubin.user_files import is_private

MAX_AGE_S = 30 * 86400.0
"""Seconds after which an entry goes that nobody used."""

_ENTRIES = "v1"
_TEMPORARY = "new-"
_ABANDONED_S = 3600.0
_CLEAN_EVERY_S = 86400.0
_ROOM = 0.8
_LOCK_WAIT_S = 0.1
_WITHOUT_LOCK = 32
_USAGE = struct.Struct("<Qd")


@dataclass(frozen=True)
class StoredFile:
    """A file of the folder.

    Attributes:
        path: where it is.
        size: bytes.
        used: when it was read or written last, as `time.time` tells it.
    """

    path: str
    size: int
    used: float

    @property
    def key(self) -> str:
        """The key of its entry."""
        return os.path.basename(self.path)  # noqa: PTH119 - of many thousand files

    @property
    def is_temporary(self) -> bool:
        """Whether it is being written, or was when its writer ended."""
        return self.key.startswith(_TEMPORARY)


class DiskStore:
    """Entries in a folder. Implements `Store`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int,
        max_age: float = MAX_AGE_S,
        shared: bool = False,
    ) -> None:
        """Opens a folder, which is made when it is not there.

        Args:
            folder: the folder.
            max_bytes: what it keeps at most.
            max_age: seconds after which an entry goes that nobody used.
            shared: take a folder that belongs to others, or that others can write to. Whoever can write to it decides
                what is compiled here.

        Raises:
            ToolchainError: it cannot be made or read, or others can write to it.
        """
        self.folder = Path(folder)
        self._max_bytes = max_bytes
        self._max_age = max_age
        self._shared = shared
        self._mode = 0o666 if shared else 0o600
        self._entries = os.path.join(folder, _ENTRIES)  # noqa: PTH118 - what is called often
        self._warnings: dict[str, None] = {}
        self._writes = True
        self._check()

    def _check(self) -> None:
        try:
            self.folder.mkdir(mode=0o777 if self._shared else 0o700, parents=True, exist_ok=True)
            places = [folder for folder in (self.folder, Path(self._entries)) if folder.exists()]
            trusted = self._shared or all(map(is_private, places))
        except OSError as error:
            raise ToolchainError(f"The cache {self.folder} cannot be used: {error.strerror or error}.") from None
        if not trusted:
            raise ToolchainError(
                f"The cache {self.folder} is not private: another user could put files there. Make it yours alone "
                "(chmod go-w), name another folder, or set PARCUBIN_CACHE_SHARED=1 if all who can write to it are "
                "trusted."
            )

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings)

    def close(self) -> None:
        """Nothing goes on in the background."""

    def get(self, key: str, *, use: bool = True) -> bytes | None:
        """As `Store.get`; without `use`, an entry does not stay for longer because of it."""
        try:
            descriptor = os.open(self._path(key), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._warn("read", error)
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_ENTRY_BYTES:
                return b""  # damaged
            data = _read(descriptor, status.st_size)
            if use:
                with contextlib.suppress(OSError):
                    os.utime(descriptor)
            return data
        except OSError as error:
            self._warn("read", error)
            return None
        finally:
            os.close(descriptor)

    def put(self, key: str, data: bytes) -> None:
        if not self._writes or len(data) > min(MAX_ENTRY_BYTES, self._max_bytes):
            return
        path = self._path(key)
        try:
            try:
                self._write(path, data)
            except FileNotFoundError:
                self._make_folders(path)
                self._write(path, data)
            self._count(len(data))
        except OSError as error:
            # Another process may have made room since, or removed the folder under the file.
            if error.errno not in (errno.ENOENT, errno.EEXIST):
                self._writes = False
                self._warn("written", error)

    def drop(self, key: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path(key))  # noqa: PTH108

    def files(self) -> Iterator[StoredFile]:
        """What is in the folder, in no order. What vanishes meanwhile is left out."""
        for folder in _listed(self._entries):
            if not folder.is_dir(follow_symlinks=False):
                continue
            for file in _listed(folder.path):
                with contextlib.suppress(OSError):
                    status = file.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        yield StoredFile(file.path, status.st_size, status.st_mtime)

    def clear(self) -> None:
        """Removes all entries."""
        for file in self.files():
            with contextlib.suppress(OSError):
                os.unlink(file.path)  # noqa: PTH108
        with contextlib.suppress(OSError):
            os.unlink(self._usage_path)  # noqa: PTH108

    @property
    def _usage_path(self) -> str:
        return os.path.join(self._entries, "usage")  # noqa: PTH118

    def _path(self, key: str) -> str:
        return f"{self._entries}/{key[:2]}/{key}"

    def _make_folders(self, path: str) -> None:
        mode = 0o777 if self._shared else 0o700
        self.folder.mkdir(mode=mode, parents=True, exist_ok=True)
        Path(self._entries).mkdir(mode=mode, exist_ok=True)
        Path(path).parent.mkdir(mode=mode, exist_ok=True)

    def _write(self, path: str, data: bytes) -> None:
        temporary = f"{os.path.dirname(path)}/{_TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"  # noqa: PTH120
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, self._mode)
        try:
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
            finally:
                os.close(descriptor)
            os.rename(temporary, path)  # noqa: PTH104
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            raise

    def _count(self, added: int) -> None:
        """Adds to what all entries take, and makes room when that is too much."""
        descriptor = os.open(self._usage_path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, self._mode)
        try:
            if not _locked(descriptor):
                # Whoever holds the lock may be stopped. Room is made without it, now and then.
                if os.urandom(1)[0] % _WITHOUT_LOCK == 0:
                    self._make_room()
                return
            usage = os.pread(descriptor, _USAGE.size, 0)
            used, cleaned = _USAGE.unpack(usage) if len(usage) == _USAGE.size else (self._max_bytes, 0.0)
            used += added
            now = time.time()
            if used > self._max_bytes or not now - _CLEAN_EVERY_S < cleaned <= now:
                used, cleaned = self._make_room(), now
            os.pwrite(descriptor, _USAGE.pack(used, cleaned), 0)
        finally:
            os.close(descriptor)

    def _make_room(self) -> int:
        """Removes what is too old, and the least recently used until there is room again. Returns what is left."""
        now = time.time()
        left: list[StoredFile] = []
        for file in self.files():
            if now - file.used > (_ABANDONED_S if file.is_temporary else self._max_age):
                _remove(file)
            else:
                left.append(file)
        total = sum(file.size for file in left)
        if total > self._max_bytes:
            for file in sorted(left, key=lambda f: f.used):
                if total <= self._max_bytes * _ROOM:
                    break
                if not file.is_temporary:
                    _remove(file)
                    total -= file.size
        return total

    def _warn(self, what: str, error: OSError) -> None:
        self._warnings[
            f"The cache {self.folder} cannot be {what}: {error.strerror or error}. What it would have saved is "
            "compiled again."
        ] = None


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _read(descriptor: int, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := os.read(descriptor, size)):
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _remove(file: StoredFile) -> None:
    with contextlib.suppress(OSError):
        os.unlink(file.path)  # noqa: PTH108


def _locked(descriptor: int) -> bool:
    """Locks a file; not for ever."""
    ends = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends:
                return False
            time.sleep(0.002)
        except OSError:  # a file system without locks
            return True
        else:
            return True
