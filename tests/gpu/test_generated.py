"""Generated programs compute the same, split and whole. `PARCUBIN_GENERATED` is their number, 20 of each format by
default; for many, `python -m tests.generated.gpu_run` says more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.generated.gpu_run import Case, run
from tests.gpu.launch import compute_capability

CAPABILITY = compute_capability()
pytestmark = pytest.mark.skipif(CAPABILITY is None, reason="there is no GPU")


def test_generated_programs(tmp_path: Path) -> None:
    count = int(os.environ.get("PARCUBIN_GENERATED", "20"))
    cases = [Case(format_, seed) for seed in range(count) for format_ in ("ll", "ptx")]
    jobs = os.cpu_count() or 1
    summary = run(cases, f"sm_{CAPABILITY}", jobs=jobs, time_limit=540, failures=tmp_path, gpu=True)
    assert summary.modules == len(cases)
    assert summary.split > count
    texts = [path.read_text() for path in sorted(tmp_path.iterdir())]
    assert not texts, texts[0]
