"""The serial whole-program baseline: one process, llvmlite, then one ptxas run, as its users run them.

It parses, verifies, links libdevice when the module calls it, makes every function that is not a kernel internal,
optimises, emits PTX and assembles it. Prints one JSON object. Uses nothing of parcubin.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import llvmlite.binding as llvm
from cuda.pathfinder import find_bitcode_lib, find_nvidia_binary_utility

TRIPLE = "nvptx64-nvidia-cuda"
KERNEL = re.compile(r'^define [^@\n]*\bptx_kernel\b[^@\n]*@(?:"([^"\n]+)"|([-\w$.]+))', re.MULTILINE)
USED_REGISTERS = re.compile(r"Used (\d+) registers")

stages: dict[str, float] = {}


@contextmanager
def stage(name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    stages[name] = time.perf_counter() - start


def lower(text: str, arch: str, opt_level: int) -> str:
    """LLVM IR to PTX 9.0, the newest PTX ISA version that LLVM 22 knows."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, features="+ptx90", opt=opt_level)

    with stage("parse"):
        module = llvm.parse_assembly(text)
        module.verify()
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
    if any(function.is_declaration and function.name.startswith("__nv_") for function in module.functions):
        with stage("libdevice"):
            libdevice = llvm.parse_bitcode(Path(find_bitcode_lib("device")).read_bytes())
            libdevice.triple = module.triple
            libdevice.data_layout = module.data_layout
            module.link_in(libdevice)
    with stage("internalize"):
        kernels = {quoted or plain for quoted, plain in KERNEL.findall(text)}
        for function in module.functions:
            if not function.is_declaration and function.name not in kernels:
                function.visibility = "default"  # internal functions may have no other
                function.linkage = "internal"
    with stage("optimize"):
        options = llvm.create_pipeline_tuning_options(speed_level=opt_level)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    with stage("emit"):
        ptx: str = machine.emit_assembly(module)
    # LLVM marks a module with line tables as a debug module, which ptxas refuses to optimise.
    return re.sub(r"^(\.target \S+), debug$", r"\1", ptx, count=1, flags=re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path, help="LLVM IR as text")
    parser.add_argument("--arch", required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the CUBIN")
    parser.add_argument("-O", dest="opt_level", type=int, default=3)
    parser.add_argument("--lineinfo", action="store_true")
    parser.add_argument("--split-compile", type=int, metavar="N", help="let ptxas use N threads")
    arguments = parser.parse_args()

    start = time.perf_counter()
    ptx = lower(arguments.input.read_text(), arguments.arch, arguments.opt_level)
    command = [find_nvidia_binary_utility("ptxas"), "-v", f"-arch={arguments.arch}", f"-O{arguments.opt_level}"]
    command += ["-lineinfo"] if arguments.lineinfo else []
    command += [f"--split-compile={arguments.split_compile}"] if arguments.split_compile else []
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file, stage("assemble"):
        file.write(ptx)
        file.flush()
        ptxas = subprocess.run([*command, "-o", arguments.output, file.name], capture_output=True, text=True)
    if ptxas.returncode:
        sys.exit(ptxas.stderr)

    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    registers = [int(count) for count in USED_REGISTERS.findall(ptxas.stderr)]
    result = {
        "wall_s": time.perf_counter() - start,
        "cpu_s": sum(usage.ru_utime + usage.ru_stime for usage in (own, children)),
        "stages": stages,
        "kernels": len(registers),
        "registers": sum(registers),
        "peak_bytes": max(own.ru_maxrss, children.ru_maxrss) * 1024,
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
