"""Versions, asked from the real tools and from files that are none."""

from __future__ import annotations

from importlib.metadata import version as installed_version
from pathlib import Path

import pytest

from parcubin.errors import ToolchainError
from parcubin.toolchain.locate import Component, find
from parcubin.toolchain.version import Tool, Version, executable_version, library_version


def test_versions_order_and_print() -> None:
    assert Version(12, 10) > Version(12, 9, 86)
    assert str(Version(13, 5, 37)) == "13.5.37"
    assert Version(13, 5, 37).release == (13, 5)


@pytest.mark.parametrize(
    ("component", "distributions"),
    [
        ("ptxas", ("nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc-cu11")),
        ("nvJitLink", ("nvidia-nvjitlink", "nvidia-nvjitlink-cu12")),
        ("nvptxcompiler_static", ("nvidia-nvptxcompiler",)),
    ],
)
def test_version_is_that_of_the_wheel(component: Component, distributions: tuple[str, ...]) -> None:
    file = find(component)
    if not file or file.origin != "this Python's environment":
        pytest.skip(f"no wheel of {component} here")
    expected = None
    for name in distributions:
        try:
            expected = installed_version(name)
        except ModuleNotFoundError:
            continue
    ask = executable_version if component == "ptxas" else library_version
    assert str(ask(file.path)) == expected


def test_a_tool_prints_as_name_and_version() -> None:
    file = find("ptxas")
    assert file
    tool = Tool.executable("ptxas", file.path)
    assert str(tool) == f"ptxas {tool.version}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"#!/bin/sh\necho hello\n", "does not say its version"),
        (b"#!/bin/sh\nexit 3\n", "does not say its version"),
        (b"not a program", "cannot be run"),
        (b"#!/no/such/interpreter\n", "cannot be run"),
    ],
)
def test_what_is_no_compiler(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "ptxas"
    path.write_bytes(content)
    path.chmod(0o755)
    with pytest.raises(ToolchainError, match=reason):
        executable_version(str(path))


@pytest.mark.parametrize("content", [b"", b"hello", b"\x7fELF\x02\x01" + bytes(200)])
def test_what_is_no_library(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "libnvJitLink.so.13"
    path.write_bytes(content)
    with pytest.raises(ToolchainError):
        library_version(str(path))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="No such file"):
        executable_version(str(tmp_path / "ptxas"))
    with pytest.raises(ToolchainError, match="No such file"):
        library_version(str(tmp_path / "libnvJitLink.so.13"))


def test_a_replaced_tool_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "ptxas"
    for patch in ("37", "4000"):
        path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release 13.5, V13.5.{patch}'\n")
        path.chmod(0o755)
        assert executable_version(str(path)).patch == int(patch)
