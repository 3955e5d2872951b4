"""The choice of a provider, over tables of what a machine may have."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from parcubin.errors import ToolchainError, UsageError
from parcubin.model import Target
from parcubin.providers import selection
from parcubin.providers.selection import ToolPaths, select
from parcubin.toolchain.locate import FoundFile
from parcubin.toolchain.version import Tool, Version

Machine = dict[str, list[str]]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The tools of an imagined machine, by name: their versions. Returns the table that tests fill."""
    tools: Machine = {}

    def find_all(name: str, explicit: str | None = None) -> list[FoundFile]:
        assert explicit is None
        return [FoundFile(f"/{name}/{version}", "this Python's environment") for version in tools.get(name, [])]

    def tool(name: str, path: str) -> Tool:
        if path.endswith("broken"):
            raise ToolchainError(f"{path} cannot be run: Exec format error.")
        return Tool(name, path, Version(*map(int, path.split("/")[-1].split("."))))

    monkeypatch.setattr(selection, "find_all", find_all)
    monkeypatch.setattr(Tool, "executable", staticmethod(tool))
    monkeypatch.setattr(Tool, "library", staticmethod(tool))
    return tools


PTXAS_13, PTXAS_12 = "13.5.37", "12.9.86"


@pytest.mark.parametrize(
    ("tools", "needs_link", "expected"),
    [
        ({"ptxas": [PTXAS_13], "nvlink": [PTXAS_13], "nvJitLink": [PTXAS_13]}, True, "subprocess+nvjitlink"),
        ({"ptxas": [PTXAS_13], "nvlink": [PTXAS_13], "nvJitLink": [PTXAS_13]}, False, "subprocess"),
        ({"ptxas": [PTXAS_13], "nvlink": [PTXAS_13]}, True, "subprocess"),
        ({"ptxas": [PTXAS_13]}, False, "subprocess"),
        ({"nvJitLink": [PTXAS_13]}, True, "nvjitlink"),
        ({"nvJitLink": [PTXAS_13]}, False, "nvjitlink"),
        ({"nvJitLink": [PTXAS_12]}, True, "deferred(nvjitlink)"),
        ({"nvJitLink": [PTXAS_12]}, False, "nvjitlink"),
        # a linker older than the assembler is no linker for it
        ({"ptxas": [PTXAS_13], "nvlink": [PTXAS_13], "nvJitLink": [PTXAS_12]}, True, "subprocess"),
        ({"ptxas": [PTXAS_13], "nvJitLink": [PTXAS_12]}, True, "deferred(nvjitlink)"),
        ({"ptxas": [PTXAS_12], "nvJitLink": [PTXAS_13]}, True, "subprocess+nvjitlink"),
        # versions with known faults
        ({"ptxas": ["11.7.99"], "nvJitLink": [PTXAS_13]}, True, "nvjitlink"),
        ({"ptxas": ["12.3.103", "12.3.107"]}, False, "subprocess"),
        ({"ptxas": ["12.4.131"], "nvlink": ["12.4.131"], "nvJitLink": ["12.4.127"]}, True, "subprocess"),
        # what cannot be run does not stop the search
        ({"ptxas": ["broken", PTXAS_13]}, False, "subprocess"),
    ],
)
def test_automatic_choice(machine: Machine, tools: Machine, needs_link: bool, expected: str) -> None:
    machine.update(tools)
    chosen = select(needs_link=needs_link)
    assert chosen.provider.name == expected
    assert chosen.decisions[-1].verdict == "chosen"
    assert chosen.provider.supports_compile_and_link or not needs_link
    assert pickle.loads(pickle.dumps(chosen)) == chosen


def test_the_preferred_assembler_is_kept(machine: Machine) -> None:
    machine.update({"ptxas": [PTXAS_13, PTXAS_12], "nvJitLink": [PTXAS_12], "nvlink": [PTXAS_13]})
    assert select(needs_link=True).provider.identity == "ptxas 13.5.37, nvlink 13.5.37"


def test_another_assembler_is_taken_when_nothing_links_for_the_first(machine: Machine) -> None:
    machine.update({"ptxas": [PTXAS_13, PTXAS_12], "nvJitLink": [PTXAS_12]})
    assert select(needs_link=True).provider.identity == "ptxas 12.9.86, nvJitLink 12.9.86"


def test_looks_at_no_more_than_it_needs(machine: Machine) -> None:
    machine.update({"ptxas": [PTXAS_13, PTXAS_12], "nvlink": [PTXAS_13], "nvJitLink": [PTXAS_13]})
    assert [d.candidate for d in select(needs_link=False).decisions] == ["ptxas 13.5.37", "subprocess"]
    assert "nvlink" not in select(needs_link=True).explain()


@pytest.mark.parametrize(
    ("tools", "needs_link", "reasons"),
    [
        ({}, True, ["ptxas: rejected, not found", "nvJitLink: rejected, not found"]),
        ({}, False, ["ptxas: rejected, not found", "nvJitLink: rejected, not found"]),
        (
            {"ptxas": [PTXAS_13]},
            True,
            [
                "ptxas 13.5.37: usable, /ptxas/13.5.37 (this Python's environment)",
                "nvlink: rejected, not found",
                "nvJitLink: rejected, not found",
            ],
        ),
        ({"ptxas": [PTXAS_13], "nvlink": [PTXAS_12]}, True, ["nvlink 12.9.86 with ptxas 13.5.37: rejected, a linker"]),
        ({"ptxas": ["11.7.99"]}, False, ["ptxas 11.7.99 is older than 11.8"]),
        ({"ptxas": ["12.3.103"]}, False, ["ptxas 12.3.103 is known to miscompile; it can be forced"]),
        ({"ptxas": ["broken"]}, False, ["cannot be run: Exec format error"]),
    ],
)
def test_nothing_fits(machine: Machine, tools: Machine, needs_link: bool, reasons: list[str]) -> None:
    machine.update(tools)
    with pytest.raises(ToolchainError) as raised:
        select(needs_link=needs_link)
    assert raised.value.exit_status == 3
    assert "pip install 'parcubin[cuda13]'" in raised.value.message
    for reason in reasons:
        assert reason in raised.value.message


@pytest.mark.parametrize(
    ("requested", "tools", "identity"),
    [
        ("subprocess", {"ptxas": [PTXAS_13], "nvlink": [PTXAS_13]}, "ptxas 13.5.37, nvlink 13.5.37"),
        ("nvjitlink", {"ptxas": [PTXAS_13], "nvJitLink": [PTXAS_13]}, "nvJitLink 13.5.37"),
        ("deferred(nvjitlink)", {"ptxas": [PTXAS_12], "nvJitLink": [PTXAS_12]}, "nvJitLink 12.9.86"),
        ("subprocess+nvjitlink", {"ptxas": [PTXAS_12], "nvJitLink": [PTXAS_13]}, "ptxas 12.9.86, nvJitLink 13.5.37"),
    ],
)
def test_a_request_is_kept_to(machine: Machine, requested: str, tools: Machine, identity: str) -> None:
    machine.update(tools)
    chosen = select(requested, needs_link=True).provider
    assert (chosen.name, chosen.identity) == (requested, identity)


@pytest.mark.parametrize(
    ("requested", "tools"),
    [
        ("subprocess", {"ptxas": [PTXAS_13], "nvJitLink": [PTXAS_13]}),
        ("nvjitlink", {"ptxas": [PTXAS_13], "nvlink": [PTXAS_13], "nvJitLink": [PTXAS_12]}),
        ("deferred(nvjitlink)", {"nvJitLink": [PTXAS_13]}),
    ],
)
def test_a_request_that_cannot_be_met(machine: Machine, requested: str, tools: Machine) -> None:
    machine.update(tools)
    with pytest.raises(ToolchainError, match=r"is not usable"):
        select(requested, needs_link=True)


def test_joining_modules_takes_a_linker_that_can(machine: Machine) -> None:
    machine.update({"ptxas": [PTXAS_12], "nvJitLink": [PTXAS_12], "nvlink": [PTXAS_12]})
    chosen = select(needs_link=True, needs_relocatable_output=True)
    assert chosen.provider.name == "subprocess"
    assert "it cannot join modules" in chosen.explain()


def test_force_takes_a_faulty_version_and_warns(machine: Machine) -> None:
    machine.update({"ptxas": ["12.4.131"], "nvJitLink": ["12.4.127"]})
    chosen = select(needs_link=True, force=True)
    assert chosen.provider.name == "subprocess+nvjitlink"
    assert any("nvJitLink 12.4.127 leaks memory" in warning for warning in chosen.warnings)
    machine.update({"ptxas": ["11.7.99"], "nvJitLink": []})
    with pytest.raises(ToolchainError):
        select(needs_link=False, force=True)


@pytest.mark.parametrize(("target", "warned"), [("sm_80", False), ("sm_90", True), ("sm_100f", True)])
def test_warns_of_miscompilation_for_the_targets_concerned(machine: Machine, target: str, warned: bool) -> None:
    machine.update({"ptxas": ["12.6.77"]})
    chosen = select(needs_link=False, target=Target(target))
    assert any("clamping" in warning for warning in chosen.warnings) == warned
    machine.update({"ptxas": ["12.6.85"]})
    assert not select(needs_link=False, target=Target(target)).warnings


def test_unknown_provider() -> None:
    with pytest.raises(UsageError, match="no provider 'gcc'"):
        select("gcc", needs_link=False)


def test_explicit_path_of_a_missing_tool(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="given as the path of ptxas"):
        select(needs_link=False, paths=ToolPaths(ptxas=str(tmp_path / "ptxas")))


def test_loads_no_library_into_this_process() -> None:
    program = (
        "import sys; from parcubin.providers.selection import select; select(needs_link=True);"
        "assert 'libnvJitLink' not in open('/proc/self/maps').read();"
        "assert not {'llvmlite', 'cuda.pathfinder', 'elftools'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
