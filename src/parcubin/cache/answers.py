"""What tools say of themselves, asked once: what does not change while their files do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from parcubin.cache.cache import Cache
from parcubin.cache.fingerprint import file_fingerprint, is_script
from parcubin.cache.key import key_of


@dataclass(frozen=True)
class Answers:
    """Answers of tools, kept in a cache."""

    cache: Cache

    def of(
        self, question: str, files: Iterable[str | PathLike[str]], ask: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """An answer. A script is asked every time.

        Args:
            question: what is asked.
            files: what the answer depends on, by their content.
            ask: asks. What it raises is not kept.

        Returns:
            Plain JSON.
        """
        files = tuple(files)
        if any(map(is_script, files)):
            return ask()
        try:
            facts = {"question": question, "files": [file_fingerprint(path) for path in files]}
        except OSError:
            return ask()
        return self.cache.remembered(key_of("answer", facts), ask)
