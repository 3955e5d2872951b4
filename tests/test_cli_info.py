"""`parcubin info` with the tools that are here; the driver is a stand-in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parcubin.errors import ToolchainError
from parcubin.toolchain import driver
from parcubin.toolchain.driver import DriverVersion
from tests.command_line import parcubin


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without configuration, and a working directory likewise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("PROVIDER", "LLVM", "FORBID", "FORCE", "CACHE", "PTXAS", "NVLINK", "NVJITLINK", "NVPTXCOMPILER"):
        monkeypatch.delenv(f"PARCUBIN_{name}", raising=False)
    return tmp_path


def install_driver(monkeypatch: pytest.MonkeyPatch, cuda: tuple[int, int] | None) -> None:
    def installed_driver() -> DriverVersion:
        if cuda is None:
            raise ToolchainError("There is no CUDA driver (none at all).")
        return DriverVersion(cuda, "550.54.15")

    monkeypatch.setattr(driver, "installed_driver", installed_driver)


def info(*arguments: str) -> dict[str, Any]:
    result = parcubin("info", "--json", *arguments)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def text(*arguments: str) -> str:
    result = parcubin("info", *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_says_what_was_chosen_and_why() -> None:
    found = info()
    for purpose in ("link", "bundle"):
        assert found[purpose]["provider"] in found[purpose]["decisions"][-1]["candidate"]
        assert found[purpose]["decisions"][-1]["verdict"] == "chosen"
        assert found[purpose]["ptx_isa"] >= 80
    assert found["configuration"] == []
    assert found["bundle"]["provider"] in text()


def test_warns_of_a_toolchain_that_the_driver_cannot_load(monkeypatch: pytest.MonkeyPatch) -> None:
    install_driver(monkeypatch, (11, 8))
    found = info()
    assert found["driver"] == {"cuda": [11, 8], "build": "550.54.15"}
    for purpose in ("link", "bundle"):
        assert any("supports CUDA 11.8 and cannot load" in warning for warning in found[purpose]["warnings"])
    assert "warning: The installed driver supports CUDA 11.8" in text()
    assert "supports CUDA 11.8 (550.54.15)" in text()


@pytest.mark.parametrize("cuda", [(99, 0), None])
def test_does_not_warn_otherwise(monkeypatch: pytest.MonkeyPatch, cuda: tuple[int, int] | None) -> None:
    install_driver(monkeypatch, cuda)
    assert not any("driver" in warning for warning in info()["link"]["warnings"])
    assert ("There is no CUDA driver (none at all)." in text()) == (cuda is None)


def test_shows_where_each_setting_is_from(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "pyproject.toml").write_text('[tool.parcubin]\nforbid = ["driver"]\nprovider = "nvjitlink"\n')
    user = home / "config" / "parcubin" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text('provider = "driver"\nforce = true\n')
    monkeypatch.setenv("PARCUBIN_PROVIDER", "auto")
    settings = {s["setting"]: (s["value"], s["origin"]) for s in info()["configuration"]}
    assert settings == {
        "provider": ("auto", "PARCUBIN_PROVIDER"),
        "forbid": (["driver"], str(home / "pyproject.toml")),
        "force": (True, str(user)),
    }
    assert f"(set by {home / 'pyproject.toml'})" in text()


def test_nothing_to_link_is_said_and_no_failure() -> None:
    found = info("--provider", "nvptxcompiler") if "nvptxcompiler_static" in str(info()["toolchain"]) else None
    if found is None:
        pytest.skip("no libnvptxcompiler_static.a in this environment")
    assert "cannot link" in found["link"]["error"]
    assert found["bundle"]["provider"] == "nvptxcompiler"


def test_no_toolchain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARCUBIN_FORBID", "subprocess,nvptxcompiler,nvjitlink,driver")
    result = parcubin("info")
    assert result.exit_code == 3
    assert "forbidden by PARCUBIN_FORBID" in result.stderr
