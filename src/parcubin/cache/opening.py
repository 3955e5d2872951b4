"""Which cache a `Compiler` uses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from parcubin.configuration import Configuration, read_configuration
from parcubin.errors import ToolchainError, UsageError
from parcubin.user_files import cache_folder

if TYPE_CHECKING:
    from parcubin.cache.cache import Cache
    from parcubin.cache.disk import DiskStore
    from parcubin.cache.store import Store

OFF = "off"


def open_cache(
    requested: str | os.PathLike[str] = "auto",
    *,
    max_bytes: int | None = None,
    configuration: Configuration | None = None,
) -> Cache | None:
    """Opens a cache. One that cannot be used is none, with a warning.

    Args:
        requested: a folder, "off", or "auto": what the user configured, and by default a folder of the user's.
        max_bytes: what the folder keeps at most; by default what the user configured.
        configuration: what the user configured; read from its places by default.

    Raises:
        UsageError: the configuration is wrong.
    """
    configuration = configuration or read_configuration()
    folder = cache_folder_of(requested, configuration)
    if folder is None:
        return None
    from parcubin.cache.cache import Cache
    from parcubin.cache.memory import MemoryStore

    stores: list[Store] = [MemoryStore()]
    warnings = []
    try:
        stores.append(open_folder(folder, max_bytes=max_bytes, configuration=configuration))
    except ToolchainError as error:
        warnings.append(f"{error.message} Nothing is kept.")
    remote = None
    if url := configuration.cache_remote:
        from parcubin.cache.remote import RemoteStore

        remote = RemoteStore(url)
    return Cache(stores, remote=remote, warnings=warnings)


def open_folder(folder: Path, *, max_bytes: int | None = None, configuration: Configuration) -> DiskStore:
    """Opens a cache's folder.

    Raises:
        ToolchainError: it cannot be used, or is not private.
    """
    from parcubin.cache.disk import DiskStore

    return DiskStore(folder, max_bytes=max_bytes or configuration.cache_size, shared=configuration.cache_shared)


def cache_folder_of(requested: str | os.PathLike[str], configuration: Configuration) -> Path | None:
    """The folder of a cache; None when there is to be none.

    Raises:
        UsageError: the request is empty.
    """
    text = os.fspath(requested)
    if text == "auto":
        text = configuration.cache
    if not text:
        raise UsageError("The cache to use is 'auto', 'off' or a folder.")
    if text == OFF:
        return None
    return cache_folder() if text == "auto" else Path(text).expanduser().absolute()
