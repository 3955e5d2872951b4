"""The documentation holds together: links lead somewhere, examples are written for the interface that there is."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

import parcubin
from parcubin.cli.arguments import parser_of
from parcubin.cli.main import command_of

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "corpus" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(language: str) -> list[tuple[str, str]]:
    return [
        (str(document.relative_to(ROOT)), text)
        for document in DOCUMENTS
        for name, text in FENCE.findall(document.read_text())
        if name == language
    ]


def commands(program: str) -> list[list[str]]:
    lines = [line for _, text in examples("console") for line in text.splitlines()]
    return [shlex.split(line[2:])[1:] for line in lines if line.startswith(f"$ {program} ")]


def anchors(document: Path) -> set[str]:
    """The anchors that a heading gets where Markdown is shown: lower case, words joined by dashes."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for link in LINK.findall(FENCE.sub("", document.read_text())):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if path.parent.name == "docs"], ids=lambda path: path.name
)
def test_index_lists_every_document(document: Path) -> None:
    index = ROOT / "docs" / "README.md"
    assert document == index or f"({document.name})" in index.read_text()


@pytest.mark.parametrize(("document", "text"), examples("python"))
def test_python_examples_use_what_there_is(document: str, text: str) -> None:
    tree = ast.parse(text, document)
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "parcubin"
    }
    assert used
    assert [name for name in used if not hasattr(parcubin, name)] == []


@pytest.mark.parametrize("arguments", commands("parcubin"), ids=" ".join)
def test_command_lines_are_accepted(arguments: list[str]) -> None:
    name, *rest = arguments
    assert parser_of(command_of(name), name).parse_intermixed_args(rest)


def test_make_targets_exist() -> None:
    text = "".join(document.read_text() for document in DOCUMENTS)
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make (\w+)`", text)) <= targets
