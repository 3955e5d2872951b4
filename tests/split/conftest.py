from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import parcubin
from tests.inspect.cuda_tools import Tools
from tests.split.comparison import Comparer


@pytest.fixture(scope="module")
def compiler() -> Iterator[parcubin.Compiler]:
    with parcubin.Compiler("sm_90", jobs=2, llvm="llvmlite") as compiler:
        yield compiler


@pytest.fixture(scope="module", params=["llvmlite", "external"])
def compiler_of_each_llvm(request: pytest.FixtureRequest) -> Iterator[parcubin.Compiler]:
    folder = "llvmlite" if request.param == "llvmlite" else request.getfixturevalue("external_llvm").tools.folder
    with parcubin.Compiler("sm_90", jobs=2, llvm=folder) as compiler:
        yield compiler


@pytest.fixture
def compare(compiler: parcubin.Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Comparer:
    """Compares split with whole programs, one kernel a shard."""
    return Comparer(compiler, Tools(tmp_path), monkeypatch)
