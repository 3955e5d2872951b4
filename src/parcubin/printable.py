"""Text from an input on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with escapes for characters that a terminal may obey: names in it can be an input's."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)
