"""LLVM IR to PTX as users of llvmlite do it: one module, whole."""

from __future__ import annotations

import re
from pathlib import Path

TRIPLE = "nvptx64-nvidia-cuda"
PTX_VERSION = 90
"""PTX 9.0, the newest that LLVM 22 knows."""

_KERNEL = re.compile(r'^define [^@\n]*\bptx_kernel\b[^@\n]*@(?:"([^"\n]+)"|([-\w$.]+))', re.MULTILINE)
_DEBUG_TARGET = re.compile(r"^(\.target \S+), debug$", re.MULTILINE)


def ptx_of(source: Path, folder: Path, arch: str) -> Path:
    """The PTX of an input: the input itself, or what it is lowered to, written to `folder`."""
    if source.suffix == ".ptx":
        return source
    path = folder / f"{source.stem}.ptx"
    path.write_text(lower(source.read_text(), arch))
    return path


def lower(text: str, arch: str) -> str:
    """Parses, verifies, makes every function that is not a kernel internal, optimises at O3 and emits."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, features=f"+ptx{PTX_VERSION}", opt=3)
    module = llvm.parse_assembly(text)
    module.verify()
    module.triple = TRIPLE
    module.data_layout = str(machine.target_data)
    kernels = {quoted or plain for quoted, plain in _KERNEL.findall(text)}
    for function in module.functions:
        if not function.is_declaration and function.name not in kernels:
            function.visibility = "default"  # internal functions may have no other
            function.linkage = "internal"
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    return optimizable(machine.emit_assembly(module))


def optimizable(ptx: str) -> str:
    """LLVM marks a module with line tables as a debug module, which ptxas refuses to optimise."""
    return _DEBUG_TARGET.sub(r"\1", ptx, count=1)
