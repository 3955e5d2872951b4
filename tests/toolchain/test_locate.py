"""Finding tools, in directories laid out as NVIDIA's wheels and toolkits are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from parcubin.errors import ToolchainError
from parcubin.toolchain import locate
from parcubin.toolchain.locate import FoundFile, find, find_all, find_libdevice


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any NVIDIA file; returns a directory to build one in."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    for variable in ("CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(locate, "_system_roots", lambda: [tmp_path / "system"])
    monkeypatch.setattr(locate, "_ask_pathfinder", lambda _: None)
    return tmp_path


def put(path: Path, *, executable: bool = False) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    path.chmod(0o755 if executable else 0o644)
    return str(path)


def test_nothing_found(bare_machine: Path) -> None:
    assert bare_machine.is_dir()
    assert find("ptxas") is None
    assert find_libdevice() is None
    assert find_all("nvJitLink") == []


def test_order_of_places(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = put(bare_machine / "site/nvidia/cu13/bin/ptxas", executable=True)
    toolkit = put(bare_machine / "toolkit/bin/ptxas", executable=True)
    other = put(bare_machine / "other/bin/ptxas", executable=True)
    on_path = put(bare_machine / "path/ptxas", executable=True)
    system = put(bare_machine / "system/bin/ptxas", executable=True)
    monkeypatch.setenv("CUDA_PATH", str(bare_machine / "toolkit"))
    monkeypatch.setenv("CUDA_HOME", str(bare_machine / "other"))
    assert find_all("ptxas") == [
        FoundFile(wheel, "this Python's environment"),
        FoundFile(toolkit, "CUDA_PATH"),
        FoundFile(other, "CUDA_HOME"),
        FoundFile(on_path, "PATH"),
        FoundFile(system, str(bare_machine / "system")),
    ]
    assert find_all("ptxas", explicit=system) == [FoundFile(system, "given explicitly")]


def test_parcubin_ptxas_is_not_ptxas(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    front = Path(put(bare_machine / "front/ptxas", executable=True))
    front.write_text("#!/usr/bin/python3\nfrom parcubin.ptxas.main import main\n\nmain()\n")
    real = put(bare_machine / "path/ptxas", executable=True)
    monkeypatch.setenv("PATH", f"{front.parent}:{bare_machine / 'path'}")
    monkeypatch.setenv("CUDA_HOME", str(bare_machine))
    (bare_machine / "bin").mkdir()
    (bare_machine / "bin/ptxas").symlink_to(front)
    assert find_all("ptxas") == [FoundFile(real, "PATH")]
    with pytest.raises(ToolchainError, match="parcubin-ptxas itself"):
        find("ptxas", str(front))


def test_newest_wheel_first(bare_machine: Path) -> None:
    twelve = put(bare_machine / "site/nvidia/nvjitlink/lib/libnvJitLink.so.12")
    thirteen = put(bare_machine / "site/nvidia/cu13/lib/libnvJitLink.so.13")
    hundred = put(bare_machine / "site/nvidia/cu100/lib/libnvJitLink.so.100")
    assert [f.path for f in find_all("nvJitLink")] == [hundred, thirteen, twelve]


@pytest.mark.parametrize(
    ("component", "wheel_file", "toolkit_file"),
    [
        ("nvlink", "nvidia/cu13/bin/nvlink", "bin/nvlink"),
        ("nvJitLink", "nvidia/cu13/lib/libnvJitLink.so.13", "lib64/libnvJitLink.so.13"),
        ("nvptxcompiler_static", "nvidia/cu13/lib/libnvptxcompiler_static.a", "lib64/libnvptxcompiler_static.a"),
        ("libcudadevrt", "nvidia/cuda_runtime/lib/libcudadevrt.a", "lib64/libcudadevrt.a"),
        (
            "libdevice",
            "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
            "nvvm/libdevice/libdevice.10.bc",
        ),
    ],
)
def test_every_component(
    bare_machine: Path,
    monkeypatch: pytest.MonkeyPatch,
    component: locate.Component,
    wheel_file: str,
    toolkit_file: str,
) -> None:
    executable = component == "nvlink"
    in_toolkit = put(bare_machine / "toolkit" / toolkit_file, executable=executable)
    monkeypatch.setenv("CUDA_HOME", str(bare_machine / "toolkit"))
    assert [f.path for f in find_all(component)] == [in_toolkit]
    in_wheel = put(bare_machine / "site" / wheel_file, executable=executable)
    assert [f.path for f in find_all(component)] == [in_wheel, in_toolkit]


def test_the_toolkit_around_a_tool_on_path(bare_machine: Path) -> None:
    real = Path(put(bare_machine / "toolkit/bin/ptxas", executable=True))
    library = put(bare_machine / "toolkit/lib64/libnvJitLink.so.13")
    (bare_machine / "path").mkdir()
    (bare_machine / "path/ptxas").symlink_to(real)
    assert find("nvJitLink") == FoundFile(library, "PATH")
    assert len(find_all("ptxas")) == 1


def test_a_file_that_is_not_executable_is_no_tool(bare_machine: Path) -> None:
    file = put(bare_machine / "site/nvidia/cu13/bin/ptxas")
    assert find("ptxas") is None
    with pytest.raises(ToolchainError, match="is not an executable file"):
        find("ptxas", explicit=file)
    with pytest.raises(ToolchainError, match="is not a file"):
        find("nvJitLink", explicit=str(bare_machine / "missing.so"))


def test_this_environment_has_libdevice() -> None:
    found = find_libdevice()
    assert found
    assert Path(found.path).read_bytes()[:4] == b"BC\xc0\xde"
