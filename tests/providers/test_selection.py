"""The choice of a provider, over tables of what a machine may have."""

from __future__ import annotations

import itertools
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from parcubin.configuration import FORBIDDABLE, Configuration, Setting, ToolPaths
from parcubin.errors import ToolchainError, UsageError
from parcubin.model import Target
from parcubin.providers import selection
from parcubin.providers.composite import CompositeProvider
from parcubin.providers.selection import PROVIDER_NAMES, select
from parcubin.toolchain.driver import DriverVersion
from parcubin.toolchain.known_issues import known_issues
from parcubin.toolchain.locate import FoundFile, find_all
from parcubin.toolchain.version import Tool, Version, executable_version

Machine = dict[str, list[str]]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """The tools of an imagined machine, by name: their versions. Returns the table that tests fill."""
    tools: Machine = {}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("PROVIDER", "FORBID", "FORCE", "PTXAS", "NVLINK", "NVJITLINK", "NVPTXCOMPILER"):
        monkeypatch.delenv(f"PARCUBIN_{name}", raising=False)

    def find_all(name: str, explicit: str | None = None) -> list[FoundFile]:
        if explicit is not None:
            return [FoundFile(explicit, "given explicitly")]
        return [FoundFile(f"/{name}/{version}", "this Python's environment") for version in tools.get(name, [])]

    def usable_driver() -> DriverVersion:
        if "driver" not in tools:
            raise ToolchainError("There is no CUDA driver.")
        major, minor = tools["driver"][0].split(".")
        return DriverVersion((int(major), int(minor)), "580.65.06")

    monkeypatch.setattr(selection, "usable_driver", usable_driver)

    def tool(name: str, path: str, _: object = None) -> Tool:
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


@pytest.mark.parametrize(
    ("tools", "identity", "mixed"),
    [
        ({"ptxas": [PTXAS_12], "nvJitLink": [PTXAS_13], "nvlink": [PTXAS_12]}, "ptxas 12.9.86, nvlink 12.9.86", False),
        ({"ptxas": [PTXAS_12], "nvJitLink": [PTXAS_13, PTXAS_12]}, "ptxas 12.9.86, nvJitLink 12.9.86", False),
        (
            {"ptxas": [PTXAS_12], "nvJitLink": [PTXAS_13], "nvlink": [PTXAS_13]},
            "ptxas 12.9.86, nvJitLink 13.5.37",
            True,
        ),
        ({"ptxas": [PTXAS_12], "nvlink": [PTXAS_13]}, "ptxas 12.9.86, nvlink 13.5.37", True),
    ],
)
def test_a_linker_of_the_same_release_is_preferred(
    machine: Machine, tools: Machine, identity: str, mixed: bool
) -> None:
    machine.update(tools)
    chosen = select(needs_link=True)
    assert chosen.provider.identity == identity
    assert any("different releases" in warning for warning in chosen.warnings) == mixed
    if isinstance(chosen.provider, CompositeProvider):
        assert chosen.provider.extensible_modules != mixed


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


@pytest.mark.parametrize(
    ("target", "chosen"),
    [("sm_80", PTXAS_13), ("sm_75", PTXAS_13), ("sm_70", PTXAS_12), ("sm_50", PTXAS_12), ("sm_35", "11.8.89")],
)
def test_a_compiler_that_knows_the_target_is_taken(machine: Machine, target: str, chosen: str) -> None:
    machine.update({"ptxas": [PTXAS_13, PTXAS_12, "11.8.89"]})
    assert select(needs_link=False, target=Target(target)).provider.identity == f"ptxas {chosen}"
    machine.update({"ptxas": [PTXAS_13], "nvJitLink": [PTXAS_13]})
    if chosen != PTXAS_13:
        with pytest.raises(
            ToolchainError, match=f"(?s)PTX for {target}.*cuda12.*ptxas 13.5.37 does not know targets"
        ) as e:
            select(needs_link=True, target=Target(target))
        assert "nvJitLink 13.5.37 does not know targets" in str(e.value)


def test_oldest_targets_are_those_of_the_compiler() -> None:
    tools = find_all("ptxas")
    if not tools:
        pytest.skip("there is no ptxas")
    for file in tools:
        listed = subprocess.run([file.path, "--help"], capture_output=True, text=True, check=True).stdout
        known = {Target(name) for name in re.findall(r"'(sm_\d+[af]?)'", listed)}
        version = executable_version(file.path)
        for target in {*known, *map(Target, ("sm_35", "sm_50", "sm_70", "sm_75", "sm_80"))}:
            refused = any(issue.verdict == "refused" for issue in known_issues("ptxas", version, target))
            assert refused == (target not in known), f"{version}: {target}"


def test_unknown_provider() -> None:
    with pytest.raises(UsageError, match="no provider 'gcc'"):
        select("gcc", needs_link=False)


def test_explicit_path_of_a_missing_tool(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="given as the path of ptxas"):
        select(needs_link=False, paths=ToolPaths(ptxas=str(tmp_path / "ptxas")))


def test_loads_no_library_into_this_process() -> None:
    program = (
        "import sys; from parcubin.providers.selection import select; select(needs_link=False, force=True)\n"
        "try: select(needs_link=True, force=True)\n"
        "except Exception: pass\n"
        "assert 'libnvJitLink' not in open('/proc/self/maps').read()\n"
        "assert not {'llvmlite', 'cuda.pathfinder', 'elftools'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# What is chosen on every machine: columns are the components ("*" for any, "-" for none), then what is chosen for a
# bundle, for a link and for a relocatable module.
TABLE = """
ptxas nvlink nvptxcompiler nvJitLink driver | bundle | link | relocatable
13 *  *  13 *    | subprocess    | subprocess+nvjitlink    | subprocess+nvjitlink
13 13 *  12 *    | subprocess    | subprocess              | subprocess
13 13 *  -  *    | subprocess    | subprocess              | subprocess
13 -  *  12 *    | subprocess    | deferred(nvjitlink)     | nothing
13 -  *  -  yes  | subprocess    | deferred(driver)        | nothing
13 -  *  -  -    | subprocess    | nothing                 | nothing
-  *  13 13 *    | nvptxcompiler | nvptxcompiler+nvjitlink | nvptxcompiler+nvjitlink
-  *  13 12 *    | nvptxcompiler | deferred(nvjitlink)     | nothing
-  *  13 -  yes  | nvptxcompiler | deferred(driver)        | nothing
-  *  13 -  -    | nvptxcompiler | nothing                 | nothing
-  *  -  13 *    | nvjitlink     | nvjitlink               | nvjitlink
-  *  -  12 *    | nvjitlink     | deferred(nvjitlink)     | nothing
-  *  -  -  yes  | driver        | deferred(driver)        | nothing
-  *  -  -  -    | nothing       | nothing                 | nothing
"""
COMPONENTS: dict[str, dict[str, list[str]]] = {
    "ptxas": {"13": ["13.5.37"], "-": []},
    "nvlink": {"13": ["13.5.37"], "-": []},
    "nvptxcompiler": {"13": ["13.5.37"], "-": []},
    "nvJitLink": {"13": ["13.5.37"], "12": ["12.9.86"], "-": []},
    "driver": {"yes": ["13.0"], "-": []},
}
NEEDS = {"bundle": (False, False), "link": (True, False), "relocatable": (True, True)}
MACHINES = list(itertools.product(*COMPONENTS.values()))


def equip(machine: Machine, presence: tuple[str, ...]) -> None:
    machine.clear()
    for (name, versions), key in zip(COMPONENTS.items(), presence, strict=True):
        if versions[key]:
            machine[name] = versions[key]


def chosen_for(need: str, requested: str = "auto", configuration: Configuration | None = None) -> str:
    needs_link, needs_relocatable_output = NEEDS[need]
    try:
        selected = select(
            requested,
            needs_link=needs_link,
            needs_relocatable_output=needs_relocatable_output,
            configuration=configuration or Configuration(),
        )
    except ToolchainError:
        return "nothing"
    assert selected.decisions[-1].verdict == "chosen"
    return selected.provider.name


def test_every_machine(machine: Machine) -> None:
    rows = [[cell.split() for cell in line.split("|")] for line in TABLE.strip().splitlines()[1:]]
    for presence in MACHINES:
        matching = [row for row in rows if all(a in ("*", b) for a, b in zip(row[0], presence, strict=True))]
        assert len(matching) == 1, presence
        equip(machine, presence)
        assert [chosen_for(need) for need in NEEDS] == [cell[0] for cell in matching[0][1:]], presence


# What each provider takes, for a bundle, a link and a relocatable module; None where it cannot.
TAKES: dict[str, list[set[str] | None]] = {
    "subprocess": [{"ptxas"}, {"ptxas", "nvlink"}, {"ptxas", "nvlink"}],
    "nvptxcompiler": [{"nvptxcompiler"}, None, None],
    "nvjitlink": [{"nvJitLink"}, {"nvJitLink 13"}, {"nvJitLink 13"}],
    "driver": [{"driver"}, None, None],
    "subprocess+nvjitlink": [{"ptxas", "nvJitLink 13"}] * 3,
    "nvptxcompiler+nvjitlink": [{"nvptxcompiler", "nvJitLink 13"}] * 3,
    "deferred(nvjitlink)": [{"nvJitLink 12"}, {"nvJitLink 12"}, None],
    "deferred(driver)": [{"driver"}, {"driver"}, None],
}


def test_every_request_on_every_machine(machine: Machine) -> None:
    assert set(TAKES) == {*PROVIDER_NAMES} - {"auto"}
    for presence in MACHINES:
        equip(machine, presence)
        here = set(machine) | {f"{name} {version.split('.')[0]}" for name, (version,) in machine.items()}
        for requested, takes in TAKES.items():
            for need, needed in zip(NEEDS, takes, strict=True):
                expected = requested if needed is not None and needed <= here else "nothing"
                assert chosen_for(need, requested) == expected, (presence, requested, need)


@pytest.mark.parametrize("forbidden", FORBIDDABLE)
def test_every_prohibition_on_every_machine(machine: Machine, forbidden: str) -> None:
    """What is forbidden is as if it were not there."""
    configuration = Configuration({"forbid": Setting([forbidden], "PARCUBIN_FORBID")})
    tools = {
        "subprocess": {"ptxas", "nvlink"},
        "nvptxcompiler": {"nvptxcompiler"},
        "nvjitlink": {"nvJitLink"},
        "driver": {"driver"},
        "deferred": set(),
    }[forbidden]
    for presence in MACHINES:
        for need in NEEDS:
            equip(machine, presence)
            with_prohibition = chosen_for(need, configuration=configuration)
            for tool in tools:
                machine.pop(tool, None)
            without_tools = chosen_for(need)
            if forbidden == "deferred" and "deferred" in without_tools:
                without_tools = "nothing"
            assert with_prohibition == without_tools, (presence, need)


def test_the_log_names_who_forbade(machine: Machine) -> None:
    machine.update({"ptxas": [PTXAS_13], "nvJitLink": [PTXAS_13]})
    configuration = Configuration({"forbid": Setting(["subprocess"], "PARCUBIN_FORBID")})
    chosen = select(needs_link=True, configuration=configuration)
    assert chosen.explain().splitlines()[0] == "  subprocess: rejected, forbidden by PARCUBIN_FORBID"
    assert chosen.provider.name == "nvjitlink"


def test_the_log_reads_like_an_explanation(machine: Machine) -> None:
    machine.update({"ptxas": [PTXAS_13], "nvJitLink": [PTXAS_12]})
    assert (
        select(needs_link=True).explain()
        == """\
  ptxas 13.5.37: usable, /ptxas/13.5.37 (this Python's environment)
  nvJitLink 12.9.86: usable, /nvJitLink/12.9.86 (this Python's environment)
  nvlink: rejected, not found
  nvJitLink 12.9.86 with ptxas 13.5.37: rejected, a linker must not be older than its assembler
  nvptxcompiler: rejected, not found
  nvjitlink (nvJitLink 12.9.86): rejected, it makes relocatable modules from 13.2 on only
  deferred(nvjitlink): chosen, nvJitLink 12.9.86"""
    )


def test_the_environment_chooses_the_provider(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.update({"ptxas": [PTXAS_13], "nvJitLink": [PTXAS_13]})
    monkeypatch.setenv("PARCUBIN_PROVIDER", "nvjitlink")
    chosen = select(needs_link=True)
    assert chosen.provider.name == "nvjitlink"
    assert "provider nvjitlink: usable, asked for by PARCUBIN_PROVIDER" in chosen.explain()
    assert select("subprocess+nvjitlink", needs_link=True).provider.name == "subprocess+nvjitlink"
    monkeypatch.setenv("PARCUBIN_PROVIDER", "gcc")
    with pytest.raises(UsageError, match=r"'gcc' \(PARCUBIN_PROVIDER asks for it\)"):
        select(needs_link=True)


@pytest.mark.usefixtures("machine")
def test_the_environment_gives_paths_and_forces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARCUBIN_PTXAS", "/mine/12.3.103")
    with pytest.raises(ToolchainError, match="known to miscompile"):
        select(needs_link=False)
    monkeypatch.setenv("PARCUBIN_FORCE", "1")
    chosen = select(needs_link=False)
    assert "ptxas 12.3.103: usable, /mine/12.3.103 (PARCUBIN_PTXAS)" in chosen.explain()
    assert select(needs_link=False, paths=ToolPaths(ptxas="/other/13.0.88")).provider.identity == "ptxas 13.0.88"


@pytest.mark.parametrize(
    ("driver", "identity"),
    [((13, 0), "ptxas 13.5.37, nvJitLink 13.5.37"), ((12, 4), "ptxas 12.9.86, nvJitLink 12.9.86"), ((11, 8), None)],
)
def test_held_to_a_driver(machine: Machine, driver: tuple[int, int], identity: str | None) -> None:
    machine.update({"ptxas": [PTXAS_13, PTXAS_12], "nvJitLink": [PTXAS_13, PTXAS_12], "driver": ["13.0"]})
    if identity:
        assert select(needs_link=True, driver=driver).provider.identity == identity
    else:
        with pytest.raises(ToolchainError, match=r"for a driver of CUDA 11\.8") as raised:
            select(needs_link=True, driver=driver)
        assert "makes what only drivers of CUDA 12.0 and later load" in raised.value.message
        assert "parcubin[cuda12]" in raised.value.message


def test_an_assembler_without_a_linker_says_what_it_can(machine: Machine) -> None:
    machine.update({"ptxas": [PTXAS_13]})
    with pytest.raises(ToolchainError, match=r"ptxas 13\.5\.37 compiles without a linker: write a bundle"):
        select(needs_link=True)


def test_a_library_that_cannot_be_built_is_passed_over(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def shared_nvptxcompiler(static: Tool) -> Tool:
        raise ToolchainError(f"There is no C++ compiler for {static.path}.")

    monkeypatch.setattr(selection, "shared_nvptxcompiler", shared_nvptxcompiler)
    machine.update({"nvJitLink": [PTXAS_13]})
    path = ToolPaths(nvptxcompiler="/static/13.5.37/libnvptxcompiler_static.a")
    with monkeypatch.context() as context:
        context.setattr(Tool, "library", lambda name, path, _: Tool(name, path, Version(13, 5, 37)))
        chosen = select(needs_link=True, paths=path)
    assert chosen.provider.name == "nvjitlink"
    assert "nvptxcompiler 13.5.37: rejected, There is no C++ compiler" in chosen.explain()
