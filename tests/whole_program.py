"""LLVM IR lowered as a whole by LLVM, which knows nothing of parcubin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as llvm

from parcubin.toolchain.locate import find_libdevice

_TRIPLE = "nvptx64-nvidia-cuda"
_KERNEL = re.compile(r'^define [^@\n]*\bptx_kernel\b[^@\n]*@(?:"([^"\n]+)"|([-\w$.]+))', re.M)
_ALIAS = re.compile(r'^(@(?:"[^"\n]*"|[-\w$.]+) = )(?:[a-z_]+ )*alias ', re.M)


def printed(text: str) -> str:
    """The module as LLVM prints it."""
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    return str(module)


def whole_program_ptx(modules: Sequence[str], arch: str, opt_level: int = 3, *, pass_level: int | None = None) -> str:
    """The modules, linked by LLVM and lowered as one; functions that are not kernels become internal, and
    so do aliases. The passes over the IR have a level of their own when one is given."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(_TRIPLE).create_target_machine(cpu=arch, features="+ptx90", opt=opt_level)
    context = llvm.create_context()
    parsed = [llvm.parse_assembly(text, context) for text in modules]
    if any(f.is_declaration and f.name.startswith("__nv_") for module in parsed for f in module.functions):
        libdevice = find_libdevice()
        assert libdevice, "libdevice is not installed"
        parsed.append(llvm.parse_bitcode(Path(libdevice.path).read_bytes(), context))
    for module in parsed:
        module.triple, module.data_layout = _TRIPLE, str(machine.target_data)
    module, *others = parsed
    for other in others:
        module.link_in(other)
    kernels = {quoted or plain for quoted, plain in _KERNEL.findall(str(module))}
    for function in module.functions:
        if not function.is_declaration and function.name not in kernels:
            function.visibility = "default"
            function.linkage = "internal"
    text = str(module)
    if _ALIAS.search(text):  # llvmlite does not know aliases
        module.close()
        module = llvm.parse_assembly(_ALIAS.sub(r"\1internal alias ", text), context)
    pass_level = opt_level if pass_level is None else pass_level
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=pass_level))
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    ptx: str = machine.emit_assembly(module)
    passes.close()
    builder.close()
    return re.sub(r"^(\.target \S+), debug$", r"\1", ptx, count=1, flags=re.M)
