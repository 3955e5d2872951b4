"""Writes docs/faults.md, the table of faults that the tests provoke: `python -m tests.faults`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "faults.md"
HEAD = """# Faults tried

What the tests provoke, and what has to come of it. `make faults` writes this table from the marks in the tests,
and a test checks that it is current; each test fails when anything else happens.

| fault | outcome | test | cases |
| --- | --- | --- | --: |
"""


class _Collector:
    def __init__(self) -> None:
        self.cases: dict[tuple[str, str, str], int] = defaultdict(int)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if mark := item.get_closest_marker("fault"):
                file = item.path.relative_to(ROOT).as_posix()
                self.cases[mark.args[0], mark.args[1], file] += 1


def table() -> str:
    """The document, from the marks of all tests."""
    collector = _Collector()
    options = ["--collect-only", "-p", "no:cacheprovider", "-p", "no:terminal", "-o", "addopts="]
    pytest.main([*options, str(ROOT / "tests")], plugins=[collector])
    rows = sorted(collector.cases.items())
    return HEAD + "".join(f"| {name} | {outcome} | `{file}` | {n} |\n" for (name, outcome, file), n in rows)


if __name__ == "__main__":
    DOCUMENT.write_text(table())
