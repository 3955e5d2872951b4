"""`parcubin cache`: where results are kept, how many, and whether they are sound."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal

from parcubin.cli.arguments import Argument, Option
from parcubin.cli.errors import exit_on_error, print_json
from parcubin.errors import UsageError

if TYPE_CHECKING:
    from parcubin.cache.disk import DiskStore, StoredFile


def cache_command(
    action: Annotated[
        Literal["path", "stats", "verify", "clear"],
        Argument(
            metavar="ACTION",
            help="path: print the folder; stats: what is in it; verify: check all entries and remove damaged ones; "
            "clear: remove all entries.",
        ),
    ],
    cache: Annotated[str, Option(metavar="DIR", help="The folder; by default the one that compiles use.")] = "auto",
    as_json: Annotated[bool, Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Show, check or clear the cache.

    Exit status: 0 done, 1 verify found damaged entries, 2 wrong usage, or the cache is off, 3 it cannot be used.
    """
    with exit_on_error(as_json):
        from parcubin.cache.opening import cache_folder_of, open_folder
        from parcubin.configuration import read_configuration

        configuration = read_configuration()
        folder = cache_folder_of(cache, configuration)
        if folder is None:
            raise UsageError("The cache is off. Name its folder with --cache.")
        if action == "path":
            print_json({"path": str(folder)}) if as_json else print(folder)
            return
        store = open_folder(folder, configuration=configuration)
        files = [file for file in store.files() if not file.is_temporary]
        if action == "clear":
            store.clear()
            if as_json:
                print_json({"path": str(store.folder), "removed": len(files)})
            return
        if action == "stats":
            _show_stats(store, files, configuration.cache_size, as_json)
            return
        damaged = [file.key for file in files if not _is_sound(store, file)]
        if as_json:
            print_json({"entries": len(files), "damaged": damaged})
        else:
            print(f"{len(files)} entries, {len(damaged)} damaged and removed")
    if damaged:
        raise SystemExit(1)


def _show_stats(store: DiskStore, files: list[StoredFile], limit: int, as_json: bool) -> None:
    size = sum(file.size for file in files)
    oldest = min((file.used for file in files), default=None)
    age = None if oldest is None else max(0.0, time.time() - oldest)
    if as_json:
        print_json(
            {"path": str(store.folder), "entries": len(files), "bytes": size, "limit": limit, "oldest_use_s": age}
        )
        return
    print(store.folder)
    print(f"{len(files)} entries, {size / 1024**2:.1f} MiB of {limit / 1024**2:.0f} MiB")
    if age is not None:
        print(f"the entry that was not used for longest was used {age / 86400:.1f} days ago")


def _is_sound(store: DiskStore, file: StoredFile) -> bool:
    from parcubin.cache.entry import DamagedEntryError, Entry

    data = store.get(file.key, use=False)
    if data is None:  # it was removed meanwhile
        return True
    try:
        Entry.decoded(file.key, data)
    except DamagedEntryError:
        store.drop(file.key)
        return False
    return True
