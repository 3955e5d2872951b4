"""Results as entries: what is read is what was written, and what is something else is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parcubin.cache.cache import Cache
from parcubin.cache.entry import Entry
from parcubin.cache.memory import MemoryStore
from parcubin.cache.programs import KeptProgram
from parcubin.cache.results import entry_of_link, read_link
from parcubin.inspect.cubin import read_cubin
from parcubin.model import Assembly, KernelInfo, Ptx
from parcubin.workers.jobs import LinkResult

CUBIN = (Path(__file__).parent.parent / "fuzz" / "seeds" / "third.ewp.cubin").read_bytes()
KEY = "ab" * 32

PROGRAM = KeptProgram(
    kernels=(KernelInfo("k", 8, 0, 0, 0, 0, 0),),
    variables=(),
    assemblies=(Assembly(b"first", "said"), Assembly(b"second")),
    ptx=(Ptx("text", "k"),),
    image=b"image",
    count=1,
    shards=2,
    llvm="LLVM",
    helper_calls={"k": ("helper",)},
    warnings=("a warning",),
    logs=("log", "k\udcff"),
)


def kept(entry: Entry, read: Any) -> Any:
    """What comes back through a cache."""
    cache = Cache([MemoryStore()])
    cache.put(KEY, entry)
    return cache.get(KEY, read)


@pytest.mark.parametrize("warning", [None, "it lacks something"])
def test_a_link_comes_back_with_its_warning(warning: str | None) -> None:
    result = LinkResult(CUBIN, "log", read_cubin(CUBIN, "the linked output"), {}, warning)
    assert kept(entry_of_link(result), read_link) == result


def test_a_program_comes_back() -> None:
    for program in (PROGRAM, replace(PROGRAM, image=None), replace(PROGRAM, logs=(), assemblies=(), ptx=())):
        assert kept(program.entry(), KeptProgram.read) == program


@pytest.mark.parametrize(
    "forged",
    [{"logs": 9}, {"assemblies": 9}, {"ptx": ["k"] * 9}, {"image": False}, {"helper_calls": ["k"]}, {"kernels": [[]]}],
    ids=str,
)
def test_what_is_no_program_is_none(forged: dict[str, Any]) -> None:
    entry = PROGRAM.entry()
    assert kept(Entry({**entry.facts, **forged}, entry.blobs), KeptProgram.read) is None
