"""nvJitLink 12.9 and nothing else: PTX is deferred to the link."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parcubin.inspect.cubin import CubinKind, read_cubin


def test_nothing_else_is_here(info: dict[str, Any]) -> None:
    assert [found["component"] for found in info["toolchain"]] == ["nvJitLink"]
    assert (info["link"]["provider"], info["bundle"]["provider"]) == ("deferred(nvjitlink)", "nvjitlink")


def test_compiles_llvm_ir_through_deferral_and_says_so(
    parcubin: Callable[..., subprocess.CompletedProcess[str]], corpus: Path, tmp_path: Path
) -> None:
    result = parcubin("compile", corpus / "cub.ll.xz", "--arch", "sm_80", "-o", "cub.cubin", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["provider"] == "deferred(nvjitlink)"
    assert report["shards"] > 1
    said = "deferred(nvjitlink) cannot make relocatable modules, so the PTX was compiled at the link."
    assert said in report["warnings"]
    assert f"parcubin: warning: {said}" in result.stderr
    info = read_cubin((tmp_path / "cub.cubin").read_bytes())
    assert info.kind is CubinKind.ASSEMBLY
    assert len(info.kernels) == report["kernels"] == 75
