"""The front: what it hands over, to whom, and what that costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parcubin.toolchain.locate import find_all
from tests.ptxas.conftest import EAGER, Front, executable, run
from tests.ptxas.samples import TALKATIVE

ONE_KERNEL = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"


def given_to(stand_in: Path) -> list[str]:
    return (stand_in.parent / "arguments").read_text().splitlines()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "an input.ptx"
    path.write_text(TALKATIVE)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["-arch=sm_90", "--no-such-option", "x"],
        ["-arch=sm_90", "-g", "{source}"],
        ["-arch=sm_90", "{source}", "{source}", "-o", "two.o"],
        ["-arch=sm_90", "-", "-o", "stdin.o"],
        ["-arch=sm_90", "-dlcm=cg", "-dlcm=ca", "{source}"],
        ["-arch=sm_90", "--input-as-string", "text"],
        ["-arch=sm_90", "--entry", "k1", "{source}"],
        ["-arch=sm_90", "-split-compile=1", "{source}"],
        ["-arch=sm_90", "missing.ptx"],
        ["-optf", "missing", "{source}"],
        ["-arch=sm_90", "-maxrregcount=archmax", "--split-compile=2", "{source}"],
    ],
)
def test_handed_over_as_it_is(arguments: list[str], eager: Front, stand_in: Path, source: Path) -> None:
    given = [argument.format(source=source) for argument in arguments]
    eager.environment["PARCUBIN_PTXAS"] = str(stand_in)
    if given == ["--help"]:  # the stand-in answers it otherwise
        given = ["-h"]
    assert eager.run(*given).status == 7
    assert given_to(stand_in) == given
    assert eager.how.startswith("ptxas: ")


def test_small_input_and_single_kernel_are_handed_over(
    front: Front, eager: Front, stand_in: Path, source: Path
) -> None:
    front.environment["PARCUBIN_PTXAS"] = eager.environment["PARCUBIN_PTXAS"] = str(stand_in)
    assert front.run("-arch=sm_90", source).status == 7
    assert front.how == "ptxas: there is little to do"
    source.write_text(ONE_KERNEL)
    assert eager.run("-arch=sm_90", source).status == 7
    assert eager.how == "ptxas: there is one kernel"


def test_many_kernels_are_handed_over_with_threads(
    eager: Front, stand_in: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    eager.environment["PARCUBIN_PTXAS"] = str(stand_in)
    eager.run("-arch=sm_80", source)
    option, *rest = given_to(stand_in)
    assert option.startswith("--split-compile=")
    assert rest == ["-arch=sm_80", str(source)]
    eager.environment["MAKEFLAGS"] = "-j8 --jobserver-auth=3,4"
    eager.run("-arch=sm_80", source)
    assert given_to(stand_in) == ["-arch=sm_80", str(source)]


def test_what_is_to_be_debugged_is_handed_over(eager: Front, stand_in: Path, source: Path) -> None:
    eager.environment["PARCUBIN_PTXAS"] = str(stand_in)
    source.write_text(TALKATIVE.replace(".target sm_60", ".target sm_60, debug"))
    eager.run("-arch=sm_90", source)
    assert eager.how == "ptxas: the PTX is to be debugged"


def test_options_file(eager: Front, source: Path, tmp_path: Path) -> None:
    (tmp_path / "options").write_text("-arch sm_90\n-m64\n")
    assert eager.run("--options-file", tmp_path / "options", source, "-o", tmp_path / "out").status == 0
    assert eager.how == "compiled in parts"


def test_fault_of_parcubin_does_not_stop_a_build(front: Front, source: Path, tmp_path: Path) -> None:
    fault = "import parcubin.compiler\nparcubin.compiler.Compiler.compile = None\n"
    faulty = Front(executable(tmp_path / "faulty-ptxas", EAGER + fault), front.log, front.environment)
    assert faulty.run("-arch=sm_90", source, "-o", tmp_path / "out").status == 0
    assert faulty.how.startswith("ptxas: internal error: TypeError")


@pytest.mark.parametrize("target", ["sm_bogus", "compute_90", "sm_9"])
def test_targets_that_are_none(target: str, eager: Front, ptxas: str, source: Path, tmp_path: Path) -> None:
    arguments = ["-arch", target, source, "-o", tmp_path / "out"]
    assert eager.run(*arguments) == run(ptxas, *arguments)


def test_our_own_option_does_not_reach_ptxas(front: Front, stand_in: Path, source: Path) -> None:
    front.environment["PARCUBIN_PTXAS"] = str(stand_in)
    front.run("--allow-slower-code", "-arch=sm_80", source)
    assert given_to(stand_in) == ["-arch=sm_80", str(source)]


def test_ptxas_of_the_toolkit_whose_tools_are_beside_the_link(
    front: Front, stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stand_in.parent / "nvlink").write_text("")
    links = tmp_path / "links"
    links.mkdir()
    (links / "ptxas").symlink_to(front.path)
    (links / "nvlink").symlink_to(stand_in.parent / "nvlink")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    del front.environment["PARCUBIN_PTXAS"]
    assert front.run("--version", path=links / "ptxas").status == 7


def test_next_ptxas_on_the_path(front: Front, ptxas: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ptxas").symlink_to(front.path)
    monkeypatch.setenv("PATH", f"{folder}:{Path(ptxas).parent}")
    assert folder / "ptxas" not in [Path(found.path) for found in find_all("ptxas")]
    del front.environment["PARCUBIN_PTXAS"]
    assert front.run("--version", path="ptxas").messages == run(ptxas, "--version").messages


def test_ptxas_that_is_this_program_ends(front: Front, tmp_path: Path) -> None:
    front.environment["PARCUBIN_PTXAS"] = str(front.path)
    refused = front.run("--version")
    assert refused.status == 255
    assert "parcubin-ptxas itself" in "".join(refused.messages)
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nexec {front.path} "$@"\n')
    wrapper.chmod(0o755)
    front.environment["PARCUBIN_PTXAS"] = str(wrapper)
    refused = front.run("--version")
    assert refused.status == 255
    assert "starts parcubin-ptxas" in "".join(refused.messages)


def test_hardly_anything_is_imported(ptxas: str, tmp_path: Path) -> None:
    """Everything but the standard library, and little of that."""
    source = tmp_path / "input.ptx"
    source.write_text(ONE_KERNEL)
    report = "import os, sys\ndef execv(*_):\n    print(*sys.modules)\n    raise SystemExit\nos.execv = execv\n"
    path = executable(tmp_path / "reporting", report)
    front = Front(path, tmp_path / "log", {"PARCUBIN_PTXAS": ptxas})
    imported = set("".join(front.run("-arch=sm_80", source).messages).split())
    bare = set(subprocess.check_output([sys.executable, "-c", "import sys; print(*sys.modules)"], text=True).split())
    added = {name.partition(".")[0] for name in imported - bare}
    assert "parcubin" in added
    assert added - {"parcubin"} <= sys.stdlib_module_names
    assert not added & {"dataclasses", "typing", "pathlib", "subprocess", "argparse", "inspect"}
