from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import parcubin
from tests.conftest import ROOT
from tests.inspect.cuda_tools import Tools
from tests.split.comparison import Comparer


@pytest.fixture(scope="module")
def compiler() -> Iterator[parcubin.Compiler]:
    with parcubin.Compiler("sm_90", jobs=2) as compiler:
        yield compiler


@pytest.fixture
def compare(compiler: parcubin.Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Comparer:
    """Compares split with whole programs, one kernel a shard."""
    return Comparer(compiler, Tools(tmp_path), monkeypatch)


@pytest.fixture(scope="session")
def debug_info() -> str:
    """A module with full debug info, variables and inlined code among it."""
    return (ROOT / "tests" / "data" / "debug_info.ll").read_text()
