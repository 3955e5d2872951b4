"""Compiles the CUDA sources of this folder to PTX with nvcc 13.0 and to LLVM IR with clang 22, which is on the path.

`python generate.py [FOLDER OF THE CUDA TOOLKIT]`
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SEPARATE = ("caller", "callee", "parent", "child")
LAUNCH_KERNELS = ("parent", "child")  # which clang cannot compile
CLANG = (
    *("clang++", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90", "-nocudalib", "-O1", "-S", "-emit-llvm"),
    "-Wno-unknown-cuda-version",
)


def main() -> None:
    cuda = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/local/cuda").resolve()
    with tempfile.TemporaryDirectory() as headers:
        Path(headers, "curand_mtgp32_kernel.h").touch()  # clang includes it, and not every toolkit has it
        for source in sorted(FOLDER.glob("*.cu")):
            name = source.stem
            separate = name in SEPARATE
            command = [f"{cuda}/bin/nvcc", "-ptx", "-arch=sm_90", *(["-rdc=true"] if separate else []), source.name]
            subprocess.run([*command, "-o", f"{name}.ptx"], cwd=FOLDER, check=True)
            if name not in LAUNCH_KERNELS:
                command = [*CLANG, f"--cuda-path={cuda}", f"-I{headers}", *(["-fgpu-rdc"] if separate else [])]
                subprocess.run([*command, source.name, "-o", f"{name}.ll"], cwd=FOLDER, check=True)


if __name__ == "__main__":
    main()
