"""Where settings come from, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcubin.configuration import Configuration, ToolPaths, read_configuration
from parcubin.errors import UsageError


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory below a project's folder, and a home, both without configuration."""
    (tmp_path / "project" / "src").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project" / "src")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("PROVIDER", "LLVM", "FORBID", "FORCE", "CACHE", "PTXAS", "NVLINK", "NVJITLINK", "NVPTXCOMPILER"):
        monkeypatch.delenv(f"PARCUBIN_{name}", raising=False)
    return tmp_path / "project"


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    path = tmp_path / "config" / "parcubin" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def test_nothing_is_configured() -> None:
    configuration = read_configuration()
    assert configuration == Configuration()
    assert (configuration.provider, configuration.forbid, configuration.force) == ("auto", frozenset(), False)
    assert configuration.paths == ToolPaths()
    assert configuration.origin("provider") == ""


def test_the_environment_comes_first_then_the_project_then_the_user(
    project: Path, user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text('provider = "driver"\nforbid = ["driver"]\nptxas = "~/ptxas"\n')
    assert read_configuration().provider == "driver"
    (project / "pyproject.toml").write_text('[tool.parcubin]\nprovider = "subprocess"\nforbid = []\n')
    assert read_configuration().provider == "subprocess"
    assert read_configuration().origin("provider") == str(project / "pyproject.toml")
    monkeypatch.setenv("PARCUBIN_PROVIDER", "nvjitlink")
    configuration = read_configuration()
    assert (configuration.provider, configuration.origin("provider")) == ("nvjitlink", "PARCUBIN_PROVIDER")
    assert configuration.forbid == frozenset()
    assert configuration.paths.ptxas == str(Path.home() / "ptxas")
    assert configuration.origin("ptxas") == str(user_file)


def test_the_nearest_project_that_says_something_counts(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.parcubin]\nprovider = "subprocess"\n')
    (project / "src" / "pyproject.toml").write_text("[tool.other]\n")
    assert read_configuration().provider == "subprocess"
    (project / "src" / "pyproject.toml").write_text("[tool.parcubin]\n")
    assert read_configuration().provider == "auto"


def test_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARCUBIN_FORBID", " nvjitlink, driver,")
    monkeypatch.setenv("PARCUBIN_FORCE", "True")
    monkeypatch.setenv("PARCUBIN_PTXAS", "")
    monkeypatch.setenv("PARCUBIN_NVPTXCOMPILER", "/x/libnvptxcompiler_static.a")
    configuration = read_configuration()
    assert configuration.forbid == {"nvjitlink", "driver"}
    assert configuration.force
    assert configuration.paths == ToolPaths(nvptxcompiler="/x/libnvptxcompiler_static.a")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[tool.parcubin]\nprovidr = 'x'", "there is no setting 'providr'"),
        ("[tool.parcubin]\nprovider = 1", "'provider' must be text"),
        ("[tool.parcubin]\nforce = 'yes'", "'force' must be true or false"),
        ("[tool.parcubin]\nforbid = 'driver'", "'forbid' must be a list of names"),
        ("[tool.parcubin]\nforbid = ['gcc', 1]", "'gcc', 1 cannot be forbidden"),
        ("[tool.parcubin]\nptxas = '/tmp/ptxas'", "'ptxas' is a path, which a project must not set"),
        ("[tool.parcubin]\nllvm = '/tmp/llvm'", "'llvm' is a path, which a project must not set"),
        ("[tool.parcubin]\nllvm = 22", "'llvm' must be text"),
        ("[tool]\nparcubin = 1", "'parcubin' must be a table"),
        ("[tool.parcubin", "cannot be read"),
    ],
)
def test_wrong_settings_of_a_project(project: Path, text: str, reason: str) -> None:
    (project / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=reason) as raised:
        read_configuration()
    assert raised.value.message.startswith(str(project / "pyproject.toml"))


def test_a_project_can_ask_for_llvmlite_and_the_user_for_a_folder(project: Path, user_file: Path) -> None:
    user_file.write_text('llvm = "~/llvm"\n')
    assert read_configuration().llvm == str(Path.home() / "llvm")
    (project / "pyproject.toml").write_text('[tool.parcubin]\nllvm = "llvmlite"\n')
    assert read_configuration().llvm == "llvmlite"


def test_a_broken_file_of_someone_else_is_passed_over(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.other")
    assert read_configuration() == Configuration()


@pytest.mark.parametrize(("name", "value"), [("FORCE", "perhaps"), ("FORBID", "gcc")])
def test_wrong_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"PARCUBIN_{name}", value)
    with pytest.raises(UsageError, match=f"PARCUBIN_{name}.*{value}"):
        read_configuration()


def test_a_working_directory_that_is_gone(project: Path) -> None:
    (project / "src").rmdir()
    assert read_configuration() == Configuration()
