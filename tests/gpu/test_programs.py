"""Every way of compiling a program gives a program that computes the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

import parcubin
from tests.gpu.launch import compute_capability, loaded
from tests.gpu.programs import PROGRAMS

CAPABILITY = compute_capability()
pytestmark = pytest.mark.skipif(CAPABILITY is None, reason="there is no GPU")

THREADS = 32


@pytest.fixture(scope="module")
def compiler() -> Iterator[parcubin.Compiler]:
    with parcubin.Compiler(f"sm_{CAPABILITY}", jobs=4) as compiler:
        yield compiler


def outcome(cubins: Sequence[bytes], kernels: Sequence[str], variables: Sequence[str]) -> list[bytes]:
    """What the kernels leave in their buffers, run in order, and what is in the variables at the end."""
    threads = 4 if "first" in kernels else THREADS  # the tables have four elements
    with loaded(cubins) as gpu:
        buffers = [gpu.run(kernel, bytes(4 * THREADS), threads=threads, shared=4 * THREADS) for kernel in kernels]
        return buffers + [gpu.read(variable) for variable in variables]


WAYS: dict[str, Callable[[parcubin.Compiler, str], Sequence[bytes]]] = {
    "bundle": lambda c, text: [a.cubin for a in c.compile(text).assemblies],
    "linked": lambda c, text: [c.compile(text, output="cubin").cubin],
    "linked late": lambda c, text: [c.compile(text).link().cubin],
    "linked from PTX": lambda c, text: [c.compile([p.text for p in c.compile(text, output="ptx").ptx]).link().cubin],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_results(name: str, way: str, compiler: parcubin.Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    text, kernels, variables = PROGRAMS[name]
    whole = compiler.compile(text, split=False)
    expected = outcome([a.cubin for a in whole.assemblies], kernels, variables)
    assert len(whole.assemblies) == 1
    assert any(any(buffer) for buffer in expected)

    # A shard a kernel, wherever kernels need not stay together.
    monkeypatch.setattr("parcubin.split.grouping.MEAN_SHARD_COST", 1)
    monkeypatch.setattr("parcubin.split.grouping.ALONE_COST", 1)
    assert outcome(WAYS[way](compiler, text), kernels, variables) == expected
