"""What `parcubin-ptxas` compiles in parts, beside what ptxas makes of the whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parcubin.inspect.cubin import CubinKind, read_cubin
from tests.ptxas.conftest import Front, run
from tests.ptxas.samples import BROKEN, CONSTANTS, KERNELS, STACK, TALKATIVE

OPTIONS = [
    "-arch=sm_90 -m64 -v",
    "-m64 -O3 -v --gpu-name sm_90",
    "-lineinfo -v --gpu-name=sm_90",
    "-arch sm_90 -v -warn-spills -warn-lmem-usage -warn-double-usage",
    "-arch=sm_90 --warn-on-spills",
    "-arch=sm_90 -v -O0",
    "-arch=sm_90 -v -maxrregcount=24 --fmad=false -dlcm=cg",
    "-arch=sm_90 -v -maxntid 64 -minnctapersm 4 --suppress-stack-size-warning",
    "-arch=sm_90 -v --register-usage-level=10 -w -split-compile=2",
]


@pytest.mark.parametrize("options", OPTIONS)
def test_messages_and_registers_are_those_of_ptxas(
    options: str, eager: Front, ptxas: str, tmp_path: Path, cuobjdump: Callable[..., str]
) -> None:
    whole, parts = both(CONSTANTS if "-v" in options else TALKATIVE, options.split(), eager, ptxas, tmp_path)
    assert eager.how == "compiled in parts"
    registers = [
        sorted(line for line in cuobjdump(cubin, "-res-usage").splitlines() if "REG" in line)
        for cubin in (whole, parts)
    ]
    assert registers[0] == registers[1]
    assert read_cubin(whole).kernels.keys() == read_cubin(parts).kernels.keys()
    assert len(read_cubin(parts).kernels) == KERNELS
    assert read_cubin(whole).variables.keys() == read_cubin(parts).variables.keys()


def test_what_is_kept_says_the_same(eager: Front, ptxas: str, tmp_path: Path) -> None:
    eager.environment["PARCUBIN_CACHE"] = str(tmp_path / "cache")
    outputs = [
        both(text, ["-arch=sm_90", "-v", "-warn-double-usage"], eager, ptxas, tmp_path)[1]
        for text in (TALKATIVE, TALKATIVE, f"// other lines\n\n{TALKATIVE}")
    ]
    assert eager.how == "compiled in parts"
    assert len(set(outputs)) == 1
    assert list((tmp_path / "cache" / "v1").iterdir())


def test_stack_of_kernels(eager: Front, ptxas: str, tmp_path: Path) -> None:
    both(STACK, ["-arch=sm_90", "-v"], eager, ptxas, tmp_path)
    assert eager.how == "compiled in parts"


def test_relocatable_output(eager: Front, ptxas: str, tmp_path: Path) -> None:
    whole, parts = both(TALKATIVE, ["-arch=sm_90", "-v", "--compile-only"], eager, ptxas, tmp_path)
    if "linkers of CUDA" not in eager.how:
        assert eager.how == "compiled in parts"
    assert read_cubin(whole).kind is read_cubin(parts).kind is CubinKind.PLAIN


def test_relocatable_output_whose_local_variables_would_clash(eager: Front, ptxas: str, tmp_path: Path) -> None:
    local = TALKATIVE.replace(".visible .global", ".global")
    both(local, ["-arch=sm_90", "-c"], eager, ptxas, tmp_path)
    assert "become visible" in eager.how or "linkers of CUDA" in eager.how


def test_errors_are_those_of_ptxas(eager: Front, ptxas: str, tmp_path: Path) -> None:
    source = tmp_path / "broken.ptx"
    source.write_text(BROKEN)
    whole = run(ptxas, "-arch=sm_90", source, "-o", tmp_path / "out.cubin")
    assert whole.status == 255
    assert eager.run("-arch=sm_90", source, "-o", tmp_path / "out.cubin") == whole
    assert eager.how.startswith("ptxas: PtxSyntaxError")
    assert not (tmp_path / "out.cubin").exists()


def test_device_runtime_is_not_brought_in(eager: Front, ptxas: str, tmp_path: Path) -> None:
    declaration = ".extern .func (.param .b32 r) cudaDeviceSynchronize\n();\n"
    call = "{ .param .b32 out; call.uni (out), cudaDeviceSynchronize, (); }\n  ld.param.u64"
    source = tmp_path / "runtime.ptx"
    source.write_text(TALKATIVE.replace(".func", declaration + ".func", 1).replace("ld.param.u64", call, 1))
    arguments = ["-arch=sm_90", source, "-o", tmp_path / "out.cubin"]
    whole = run(ptxas, *arguments)
    assert whole.status == 255
    assert "cudaDeviceSynchronize" in "".join(whole.messages)
    assert sorted(eager.run(*arguments).messages) == sorted(whole.messages)
    assert eager.how.startswith("ptxas: ")


def test_warnings_as_errors_are_those_of_ptxas(eager: Front, ptxas: str, tmp_path: Path) -> None:
    source = tmp_path / "talkative.ptx"
    source.write_text(TALKATIVE)
    arguments = ["-arch=sm_90", "-Werror", source, "-o", tmp_path / "out.cubin"]
    whole = run(ptxas, *arguments)
    assert whole.status == 255
    assert eager.run(*arguments) == whole


@pytest.mark.parametrize("arguments", [["-arch=sm_80"], ["-arch=sm_90", "--Ofast-compile=max"], ["-arch=sm_90", "-g"]])
def test_what_would_be_slower_or_different_is_left_to_ptxas(
    arguments: list[str], eager: Front, ptxas: str, tmp_path: Path
) -> None:
    both(TALKATIVE, arguments, eager, ptxas, tmp_path)
    assert eager.how.startswith("ptxas: ")


def test_slower_code_on_request(eager: Front, ptxas: str, tmp_path: Path) -> None:
    both(TALKATIVE, ["-arch=sm_80"], eager, ptxas, tmp_path, extra="--allow-slower-code")
    assert eager.how == "compiled in parts"


def test_function_pointers_in_every_kernel_are_left_to_ptxas(eager: Front, ptxas: str, tmp_path: Path) -> None:
    pointers = TALKATIVE.replace(
        "call.uni (out), rec, (in);", "{ .reg .b64 %a; mov.u64 %a, rec; } call.uni (out), rec, (in);"
    )
    both(pointers, ["-arch=sm_90"], eager, ptxas, tmp_path)
    assert "it is one shard" in eager.how


def test_output_has_the_default_name(eager: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "input.ptx").write_text(TALKATIVE)
    monkeypatch.chdir(tmp_path)
    assert eager.run("-arch=sm_90", "input.ptx").status == 0
    assert eager.how == "compiled in parts"
    assert len(read_cubin((tmp_path / "elf.o").read_bytes()).kernels) == KERNELS


def both(
    ptx: str, options: list[str], front: Front, ptxas: str, folder: Path, extra: str | None = None
) -> tuple[bytes, bytes]:
    """Compiles with ptxas and with the front, checks that they say the same, and returns what they wrote."""
    source = folder / "input.ptx"
    source.write_text(ptx)
    outputs = folder / "whole.cubin", folder / "parts.cubin"
    whole = run(ptxas, *options, source, "-o", outputs[0])
    parts = front.run(*options, *([extra] if extra else []), source, "-o", outputs[1])
    assert whole.status == 0, whole.messages
    if "--split-compile" in front.how:  # ptxas's own option changes the order
        whole.messages.sort()
        parts.messages.sort()
    assert parts == whole
    return outputs[0].read_bytes(), outputs[1].read_bytes()
