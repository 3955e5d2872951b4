"""PTX of the corpus through the pipeline, compared with whole-program ptxas. `benchmarks/compare_code.py` does the same
for all of cub.ptx and more targets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import parcubin
from tests.inspect.cuda_tools import Tools


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


@pytest.fixture(scope="module")
def cub(corpus_text: Callable[[str], str]) -> str:
    """The smaller half of the kernels of cub.ptx: a tenth of it."""
    head, *kernels = corpus_text("cub.ptx").split(".visible .entry ")
    smallest = sorted(range(len(kernels)), key=lambda i: len(kernels[i]))[:24]
    return ".visible .entry ".join([head, *(kernels[i] for i in sorted(smallest))])


def whole_program(tools: Tools, text: str, arch: str) -> dict[str, str]:
    (tools.folder / "whole.ptx").write_text(text)
    tools.run("ptxas", "-arch", arch, "whole.ptx", "-o", "whole.cubin")
    return tools.sass((tools.folder / "whole.cubin").read_bytes())


def code(tools: Tools, program: parcubin.Program) -> dict[str, str]:
    images = [a.cubin for a in program.assemblies] or [program.cubin]
    return {name: text for image in images for name, text in tools.sass(image).items()}


def test_nvcc_module_split_and_linked(cub: str, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parcubin.split.grouping.MEAN_SHARD_COST", 40_000)
    whole = {arch: whole_program(tools, cub, arch) for arch in ("sm_80", "sm_90")}
    assert len(whole["sm_80"]) == 24
    with parcubin.Compiler("sm_80") as compiler:
        bundle, linked = compiler.compile(cub), compiler.compile(cub, output="cubin")
    assert bundle.report.shards > 4
    assert bundle.report.warnings == ()
    assert code(tools, bundle) == whole["sm_80"]
    # Before sm_90, linked kernels call helper routines of ptxas, and the report says which do.
    found = code(tools, linked)
    callers = linked.report.helper_calls
    assert callers.keys() == {name for name, text in whole["sm_80"].items() if found[name] != text}
    assert 0 < len(callers) < 24
    assert all(r.startswith("__cuda_sm70_") for routines in callers.values() for r in routines)
    (warning,) = linked.report.warnings
    assert warning.startswith(f"{len(callers)} kernels call helper routines of ptxas")
    on_90 = parcubin.compile(cub, "sm_90", output="cubin")
    assert code(tools, on_90) == whole["sm_90"]
    assert (on_90.report.helper_calls, on_90.report.warnings) == ({}, ())


def test_xla_modules_are_one_program(xla_modules: Path, tools: Tools) -> None:
    paths = sorted(xla_modules.glob("*.ptx"))
    assert len(paths) == 75
    whole = {n: t for p in paths[::10] for n, t in whole_program(tools, p.read_text(), "sm_90a").items()}
    assert len(whole) == 8
    with parcubin.Compiler("sm_90a") as compiler:
        programs = [compiler.compile(paths), compiler.compile(paths, output="cubin")]
    for program in programs:
        assert len(program.kernels) == 75
        assert program.report.shards < 10
        assert program.report.warnings == ()
        found = code(tools, program)
        assert {name: found[name] for name in whole} == whole
