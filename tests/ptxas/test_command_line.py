"""ptxas's command line; the forms that ptxas takes and refuses were tried with 13.5."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcubin.ptxas.command_line import CommandLine, NotUnderstoodError
from tests.ptxas.conftest import run
from tests.ptxas.samples import TALKATIVE


@pytest.mark.parametrize(
    "arguments",
    ["-arch=sm_90 a.ptx", "-arch sm_90 a.ptx", "--gpu-name=sm_90 a.ptx", "a.ptx --gpu-name sm_90 -arch=sm_90"],
)
def test_values(arguments: str) -> None:
    command = CommandLine(arguments.split())
    assert (command.inputs, command.values, command.output) == (["a.ptx"], {"gpu-name": "sm_90"}, "elf.o")


def test_what_every_shard_gets() -> None:
    arguments = "-v -O3 -m64 --fmad false -dlcm=cg -w -lineinfo a.ptx -o b --warn-on-spills"
    command = CommandLine(arguments.split())
    assert command.shard_options == ["--fmad", "false", "-dlcm=cg", "-w", "--warn-on-spills"]
    assert command.flags == {"verbose", "disable-warnings", "generate-line-info", "warn-on-spills"}
    assert (command.values["opt-level"], command.values["machine"], command.output) == ("3", "64", "b")


@pytest.mark.parametrize(
    "arguments",
    [
        "-archsm_90",
        "--gpu-na sm_90",
        "-ob.cubin",
        "--verbose=true",
        "-fmad=true -fmad=false",
        "-o",
        "-g",
        "--sanitize=memcheck",
    ],
)
def test_not_understood(arguments: str) -> None:
    with pytest.raises(NotUnderstoodError):
        CommandLine([*arguments.split(), *(["a.ptx"] if arguments != "-o" else [])])


@pytest.mark.parametrize("text", ["-v 'quoted'", "-v # comment", "--options-file other"])
def test_options_files_with_more_than_options(text: str, tmp_path: Path) -> None:
    (tmp_path / "options").write_text(text)
    with pytest.raises(NotUnderstoodError):
        CommandLine(["-optf", str(tmp_path / "options"), "a.ptx"])


@pytest.mark.parametrize("option", ["-archsm_90", "--gpu-na sm_90", "--verbose=true", "-oout.cubin"])
def test_ptxas_refuses_what_is_not_understood(option: str, ptxas: str, tmp_path: Path) -> None:
    source = tmp_path / "input.ptx"
    source.write_text(TALKATIVE)
    assert run(ptxas, *option.split(), source, "-o", tmp_path / "out").status == 255


def test_every_option_is_one_of_ptxas(ptxas: str) -> None:
    from parcubin.ptxas import command_line

    described = "\n".join(run(ptxas, "--help").messages)
    if "--g-tensor-memory-access-check" not in described:
        pytest.skip("this ptxas is older than the list of options")
    for name, short in {**command_line._FLAGS, **command_line._VALUES}.items():
        assert f"--{name} " in described
        assert f"(-{short})" in described
