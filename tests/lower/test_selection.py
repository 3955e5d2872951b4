"""Which LLVM is taken, on imagined machines."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from parcubin.configuration import Configuration, Setting
from parcubin.errors import ToolchainError, UsageError
from parcubin.lower.external import ExternalLlvm
from parcubin.lower.llvmlite import LlvmliteLlvm
from parcubin.lower.selection import LlvmSelection, select_llvm
from parcubin.model import Target
from parcubin.toolchain import llvm_tools
from tests.lower.llvm_stand_ins import HELP, install, write_script


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without LLVM, of which tests fill `path` and `lib`."""
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/bin")
    monkeypatch.setattr(llvm_tools, "_SYSTEM", tmp_path / "lib")
    if (Path("/bin") / "opt").exists():  # the stand-ins need a shell and cat, and no LLVM of this machine
        for name in ("sh", "cat", "sleep"):
            (tmp_path / "path" / name).symlink_to(Path("/bin") / name)
        monkeypatch.setenv("PATH", str(tmp_path / "path"))
    return tmp_path


def auto(target: str = "sm_90a") -> LlvmSelection:
    return select_llvm(target=Target(target), configuration=Configuration())


def reasons(selection: LlvmSelection) -> str:
    return "\n".join(map(str, selection.decisions))


def folder_of(selection: LlvmSelection) -> str:
    assert isinstance(selection.llvm, ExternalLlvm)
    return selection.llvm.tools.folder


def test_without_another_llvm_it_is_llvmlite() -> None:
    selection = auto()
    assert selection.llvm == LlvmliteLlvm()
    assert selection.is_llvmlite
    assert reasons(selection) == "llvmlite: chosen, there is no other LLVM"


def test_path_comes_first_then_the_newest_of_the_system(machine: Path) -> None:
    install(machine / "lib" / "llvm-9" / "bin", "9.0.1")
    install(machine / "lib" / "llvm-22" / "bin", "22.1.8")
    newest = install(machine / "lib" / "llvm-100" / "bin", "100.1.0")
    assert folder_of(auto()) == str(newest)
    install(machine / "path", "22.1.0")
    selection = auto()
    assert folder_of(selection) == str(machine / "path")
    assert selection.llvm.identity == f"LLVM 22.1.0 ({machine / 'path'})"
    assert not selection.is_llvmlite


@pytest.mark.parametrize(
    ("faults", "target", "reason"),
    [
        ({"version": "21.1.8"}, "sm_90a", "is too old: it takes LLVM 22 or newer"),
        ({"version": "9.0.1"}, "sm_90a", "is too old"),
        ({"help_text": "error: invalid target 'nvptx64'.\n"}, "sm_90a", "was built without the NVPTX target"),
        ({"llc_version": "22.1.0"}, "sm_90a", "opt is of LLVM 23.1.0 and"),
        ({"version": ""}, "sm_90a", "does not say its version"),
        ({"can_link": False}, "sm_90a", "it has no llvm-link"),
        ({}, "sm_100", "it does not know the target sm_100"),
    ],
)
def test_what_is_not_taken(machine: Path, faults: dict[str, Any], target: str, reason: str) -> None:
    install(machine / "lib" / "llvm-99" / "bin", **faults)
    selection = auto(target)
    assert selection.is_llvmlite
    assert reason in reasons(selection)
    good = install(machine / "lib" / "llvm-22" / "bin", help_text=HELP.replace("90a", "100"), version="22.1.0")
    assert folder_of(auto("sm_100")) == str(good)


def test_a_target_is_needed_only_when_one_is_asked_for(machine: Path) -> None:
    install(machine / "path")
    assert not select_llvm(configuration=Configuration()).is_llvmlite


@pytest.mark.parametrize("below", ["", "bin"])
def test_a_folder_can_be_asked_for(machine: Path, below: str) -> None:
    folder = install(machine / "mine" / below, can_link=False)
    selection = select_llvm(machine / "mine", target=Target("sm_100"))
    assert folder_of(selection) == str(folder)
    assert reasons(selection) == f"LLVM 23.1.0 ({folder}): chosen, asked for"


def test_a_relative_folder_is_of_the_working_directory(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(machine / "mine" / "bin")
    monkeypatch.chdir(machine)
    assert folder_of(select_llvm("mine")) == str(machine / "mine" / "bin")


def test_configuration_is_heeded_and_arguments_come_before_it(machine: Path) -> None:
    install(machine / "path")
    mine = install(machine / "mine")
    for value in ("llvmlite", str(mine)):
        configuration = Configuration({"llvm": Setting(value, "PARCUBIN_LLVM")})
        selection = select_llvm(configuration=configuration)
        assert selection.is_llvmlite == (value == "llvmlite")
        assert "chosen, asked for by PARCUBIN_LLVM" in reasons(selection)
        assert folder_of(select_llvm(mine, configuration=configuration)) == str(mine)


def test_a_folder_that_does_not_work_is_an_error(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(machine / "path")  # nobody asked for it
    monkeypatch.setattr(llvm_tools, "_TIMEOUT_S", 0.2)
    install(machine / "old", "14.0.6")
    install(machine / "no-nvptx", help_text="")
    install(machine / "hangs")
    write_script(machine / "hangs" / "llc", "exec sleep 100")
    install(machine / "no-llc")
    (machine / "no-llc" / "llc").unlink()
    install(machine / "not-executable")
    (machine / "not-executable" / "opt").chmod(0o644)
    install(machine / "no-program")
    (machine / "no-program" / "opt").write_bytes(b"\x7fELF junk")
    for name, reason in {
        "nowhere": "There are no executables opt and llc",
        "no-llc": "There are no executables opt and llc",
        "not-executable": "There are no executables opt and llc",
        "old": "is too old",
        "no-nvptx": "was built without the NVPTX target",
        "hangs": "does not answer within",
        "no-program": "cannot be run",
    }.items():
        with pytest.raises(ToolchainError, match=reason) as caught:
            select_llvm(machine / name)
        assert caught.value.exit_status == 3
        assert str(machine / name) in str(caught.value)
        assert "or use 'llvmlite'" in str(caught.value)
    with pytest.raises(UsageError, match="'auto', 'llvmlite' or a folder"):
        select_llvm("")


def test_ptx_versions_are_those_of_the_llvm(machine: Path) -> None:
    llvm = select_llvm(install(machine / "mine")).llvm
    assert [llvm.newest_ptx_version(limit) for limit in (1000, 93, 92, 78, 77)] == [93, 93, 78, 78, 32]


def test_what_the_llvm_of_this_machine_says_is_understood(external_llvm: ExternalLlvm) -> None:
    tools = external_llvm.tools
    listed = subprocess.run(
        [tools.path("llc"), "-mtriple=nvptx64-nvidia-cuda", "-mattr=help"], capture_output=True, text=True, check=True
    )
    said = listed.stdout + listed.stderr
    assert len(tools.targets) == said.count("Select the sm_")
    assert len(tools.ptx_versions) == said.count("Use PTX version")
    assert (
        f"LLVM version {tools.version}"
        in subprocess.run([tools.path("opt"), "--version"], capture_output=True, text=True, check=True).stdout
    )
