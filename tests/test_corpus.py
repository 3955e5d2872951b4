"""The corpus holds what its README says; the other tests and the benchmark rely on these numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("name", "kernel", "count"),
    [
        ("inductor.ll", r"^define .*\bptx_kernel\b", 402),
        ("cub.ll", r"^define .*\bptx_kernel\b", 75),
        ("cub.ptx", r"^(\.visible |\.weak )?\.entry ", 75),
    ],
)
def test_kernel_counts(corpus_text: Callable[[str], str], name: str, kernel: str, count: int) -> None:
    assert len(re.findall(kernel, corpus_text(name), re.MULTILINE)) == count


def test_xla_modules_hold_one_kernel_each(xla_modules: Path) -> None:
    kernels = {path.name: path.read_text().count("define ptx_kernel ") for path in xla_modules.glob("*.ll")}
    assert len(kernels) == 75
    assert set(kernels.values()) == {1}


def test_files_are_small_enough_to_keep(corpus: Path) -> None:
    assert [path.name for path in corpus.iterdir() if path.stat().st_size > 1 << 20] == []
