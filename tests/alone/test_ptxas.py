"""ptxas 12.9 and nothing that links: bundles are made, and a linked CUBIN is refused with what it takes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parcubin.bundle import read_bundle
from parcubin.inspect.cubin import CubinKind, read_cubin


def test_nothing_links_here(info: dict[str, Any]) -> None:
    assert "ptxas" in [found["component"] for found in info["toolchain"]]
    assert not {"nvlink", "nvJitLink"} & {found["component"] for found in info["toolchain"]}
    assert info["bundle"]["provider"] == "subprocess"
    assert "ptxas 12.9.86 compiles without a linker" in info["link"]["error"]


def test_writes_a_bundle(
    parcubin: Callable[..., subprocess.CompletedProcess[str]], corpus: Path, tmp_path: Path
) -> None:
    result = parcubin("compile", corpus / "cub.ll.xz", "--arch", "sm_80", "-o", "cub.zip")
    assert result.returncode == 0, result.stderr
    assert len(read_bundle(tmp_path / "cub.zip").kernels) == 75


def test_one_shard_needs_no_linker(
    parcubin: Callable[..., subprocess.CompletedProcess[str]], xla_modules: Path, tmp_path: Path
) -> None:
    text = max(xla_modules.glob("*.ptx"), key=lambda path: path.stat().st_size).read_text()
    (tmp_path / "one.ptx").write_text(text.replace(".version 9.0", ".version 8.8"))
    result = parcubin("compile", "one.ptx", "--arch", "sm_90a", "-o", "one.cubin")
    assert result.returncode == 0, result.stderr
    info = read_cubin((tmp_path / "one.cubin").read_bytes())
    assert info.kind is CubinKind.ASSEMBLY
    assert len(info.kernels) == 1


def test_says_what_is_missing_for_a_linked_cubin(
    parcubin: Callable[..., subprocess.CompletedProcess[str]], corpus: Path, tmp_path: Path
) -> None:
    result = parcubin("compile", corpus / "cub.ll.xz", "--arch", "sm_80", "-o", "cub.cubin")
    assert result.returncode == 3
    assert (
        "ptxas 12.9.86 compiles without a linker: write a bundle (a folder, a .zip, or --emit bundle)" in result.stderr
    )
    assert "add nvJitLink or nvlink of its release or a newer one" in result.stderr
    assert "nvJitLink: rejected, not found" in result.stderr
    assert list(tmp_path.iterdir()) == []
