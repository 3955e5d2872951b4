from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import llvmlite.binding as llvm
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
    """Compilers whose LLVMs are of llvmlite's version, with whose code theirs is compared."""
    folder = "llvmlite"
    if request.param == "external":
        tools = request.getfixturevalue("external_llvm").tools
        if tools.major != llvm.llvm_version_info[0]:
            pytest.skip(f"the code of {tools} is not that of llvmlite")
        folder = tools.folder
    with parcubin.Compiler("sm_90", jobs=2, llvm=folder) as compiler:
        yield compiler


@pytest.fixture
def compare(compiler: parcubin.Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Comparer:
    """Compares split with whole programs, one kernel a shard."""
    return Comparer(compiler, Tools(tmp_path), monkeypatch)
