"""What programs take of libdevice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import parcubin
from parcubin.errors import UnresolvedSymbolError
from parcubin.split import grouping
from parcubin.workers.jobs import ReadLibdevice
from parcubin.workers.pool import JobFuture, JobGroup
from parcubin.workers.process import Job
from tests.pipeline.samples import kernel, module
from tests.pipeline.test_inputs import as_bitcode


def calls(name: str, function: str) -> str:
    return module(
        f"declare float @__nv_{function}(float)\n",
        kernel(name, f"  %x = call float @__nv_{function}(float 1.0)\n  store volatile float %x, ptr %p\n"),
    )


OWN_SINF = (
    "define float @__nv_sinf(float %x) {\n  %y = fadd float %x, 4.0\n  ret float %y\n}\n"
    "define ptx_kernel void @own(ptr %p) {\n  %x = call float @__nv_sinf(float 1.0)\n"
    "  store volatile float %x, ptr %p\n  ret void\n}\n"
)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[str]]:
    """The functions for which libdevice is read."""
    reads: list[frozenset[str]] = []
    submit = JobGroup.submit

    def counted(self: JobGroup, job: Job[Any], *arguments: Any, **options: Any) -> JobFuture[Any]:
        if isinstance(job, ReadLibdevice):
            reads.append(job.names)
        return submit(self, job, *arguments, **options)

    monkeypatch.setattr(JobGroup, "submit", counted)
    return reads


@pytest.mark.parametrize("form", [str.encode, as_bitcode])
def test_it_is_read_once_and_each_shard_has_its_own(
    form: Callable[[str], bytes], reads: list[frozenset[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "ALONE_COST", -1)
    inputs = [form(calls("a", "sinf")), form(calls("b", "expf")), form(module(kernel("c")))]
    with parcubin.Compiler("sm_80", jobs=2) as compiler:
        shards = compiler.split(inputs)
    assert reads == [{"__nv_sinf", "__nv_expf"}]
    held = [set(re.findall(r"^define .*@__nv_(\w+)", shard.text, re.M)) for shard in shards]
    assert sorted(held, key=sorted) == [set(), {"expf"}, {"sinf"}]


def test_it_is_not_read_when_nothing_calls_it(reads: list[frozenset[str]]) -> None:
    with parcubin.Compiler("sm_80", jobs=1) as compiler:
        compiler.compile(module(kernel("k")))
    assert not reads


def test_what_the_input_defines_is_not_taken_from_it(tmp_path: Path) -> None:
    with parcubin.Compiler("sm_80", jobs=1) as compiler:
        compiler.compile(module(OWN_SINF), keep=tmp_path / "kept")
    (ptx,) = (tmp_path / "kept").glob("*.ptx")
    assert str(0x40A00000) in ptx.read_text()  # 5.0


def test_kernels_that_call_what_it_lacks_are_left_out() -> None:
    program = parcubin.compile(
        [calls("good", "sinf"), calls("bad", "unheard_of"), module(kernel("other"))], "sm_80", keep_going=True
    )
    assert program.kernels.keys() == {"good", "other"}
    (failure,) = program.report.failures
    assert isinstance(failure, UnresolvedSymbolError)
    assert failure.symbols == ("__nv_unheard_of",)
