"""Names and numbers as a person reads them."""

from __future__ import annotations


def shorten(name: str, width: int) -> str:
    """The name in at most `width` characters. The middle is what gives way: mangled names begin alike and end apart."""
    if len(name) <= width:
        return name
    head = max((width - 1) // 3, 0)
    tail = max(width - 1 - head, 0)
    return name[:head] + "…" + name[len(name) - tail :] if width else ""


def count(number: int, what: str) -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def seconds(value: float) -> str:
    """`0.04`, `1.3`, `75`: two figures are enough to compare by."""
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"
