"""nvJitLink 13.5 and nothing else: PTX is compiled in parallel without ptxas."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parcubin.inspect.cubin import CubinKind, read_cubin


def test_nothing_else_is_here(info: dict[str, Any]) -> None:
    assert [found["component"] for found in info["toolchain"]] == ["nvJitLink"]
    assert (info["link"]["provider"], info["bundle"]["provider"]) == ("nvjitlink", "nvjitlink")


def test_compiles_ptx_in_parallel(
    parcubin: Callable[..., subprocess.CompletedProcess[str]], corpus: Path, tmp_path: Path
) -> None:
    result = parcubin("compile", corpus / "cub.ptx.xz", "--arch", "sm_80", "-o", "cub.cubin", "-j", "2", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["provider"], report["jobs"], report["kernels"]) == ("nvjitlink", 2, 75)
    assert report["shards"] > 1
    # The workers compiled, and the link only linked.
    assert report["stages"]["assemble"] > 10 * report["stages"]["link"]
    info = read_cubin((tmp_path / "cub.cubin").read_bytes())
    assert info.kind is CubinKind.ASSEMBLY
    assert len(info.kernels) == 75
