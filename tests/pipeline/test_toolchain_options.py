"""Options of a compile that concern the toolchain."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcubin.compiler import Compiler
from parcubin.errors import ToolchainError, UnresolvedSymbolError, UsageError
from parcubin.model import CompilationOptions, Emit
from parcubin.toolchain.locate import find
from tests.pipeline.samples import kernel, module
from tests.providers.samples import LAUNCHER

PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry p() { ret; }\n"


@pytest.mark.parametrize("output", ["bundle", "cubin"])
def test_the_log_is_kept_when_asked_for(output: Emit) -> None:
    inputs = [module(kernel("a")), PTX]
    with Compiler("sm_80", jobs=1) as compiler:
        kept = compiler.compile(inputs, output=output, options=CompilationOptions(keep_log=True)).report.log
        assert "Compiling entry function 'a'" in kept
        assert "Compiling entry function 'p'" in kept
        assert compiler.compile(inputs, output=output).report.log == ""


def test_options_that_ptx_does_not_heed_are_named() -> None:
    options = CompilationOptions(flush_to_zero=True, inlining_threshold=5)
    with Compiler("sm_80", jobs=1) as compiler:
        (warning,) = compiler.compile(PTX, options=options).report.warnings
        assert warning.startswith("Flush to zero and the inlining threshold concern LLVM IR")
        assert compiler.compile(module(kernel("a")), options=options).report.warnings == ()
        assert compiler.compile(PTX).report.warnings == ()


def test_barriers_are_in_the_kernel_infos() -> None:
    text = PTX + ".visible .entry q() { bar.sync 0; bar.sync 4; ret; }\n"
    with Compiler("sm_80", jobs=1) as compiler:
        for output in ("bundle", "cubin"):
            kernels = compiler.compile(text, output=output).kernels
            assert {name: info.barriers for name, info in kernels.items()} == {"p": 0, "q": 5}


def test_kernels_that_launch_kernels_are_linked_with_the_device_runtime(tmp_path: Path) -> None:
    with Compiler("sm_80", jobs=1) as compiler:
        with pytest.raises(UnresolvedSymbolError, match="are linked with libcudadevrt: compile to one CUBIN"):
            compiler.compile(LAUNCHER.text)
        if find("libcudadevrt") is None:
            with pytest.raises(ToolchainError, match=r"libcudadevrt\.a, which is not on this machine"):
                compiler.compile(LAUNCHER.text, output="cubin")
            return
        program = compiler.compile([LAUNCHER.text, PTX], output="cubin")
        assert {"parent", "child", "p"} < program.kernels.keys()
        assert "_Z16memset_3d" not in str(compiler.compile(PTX, output="cubin").kernels)
        compiler.compile(LAUNCHER.text, output="relocatable").write(tmp_path / "launcher.cubin")


def test_a_driver_that_no_toolchain_serves() -> None:
    with Compiler("sm_80", jobs=1, driver="10.2") as compiler:
        with pytest.raises(ToolchainError, match=r"for a driver of CUDA 10\.2"):
            compiler.compile(PTX)
        with pytest.raises(UsageError, match="PTX has no driver"):
            compiler.compile(PTX, output="ptx")
    with pytest.raises(UsageError, match="is not a CUDA release"):
        Compiler("sm_80", driver="twelve")
