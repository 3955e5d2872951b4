"""NVIDIA's own tools: what makes the CUBINs and what they are compared with."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parcubin.inspect.cubin import section_places
from tests.cuda_tools import cuda_tool


@dataclass(frozen=True)
class Usage:
    """What a tool says that a kernel uses. `stack` is None for "cannot be determined"."""

    registers: int
    shared: int
    stack: int | None


@dataclass(frozen=True)
class Tools:
    """The tools, working in a folder of their own."""

    folder: Path

    def run(self, tool: str, *arguments: str) -> str:
        """Runs a tool that must succeed; returns all that it printed."""
        result = subprocess.run([cuda_tool(tool), *arguments], cwd=self.folder, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout + result.stderr

    def assemble(self, ptx: str, arch: str, *options: str, name: str = "a") -> bytes:
        """ptxas: PTX (with `SM` for the target) to CUBIN."""
        (self.folder / f"{name}.ptx").write_text(ptx.replace("SM", arch))
        output = f"{name}.{arch}.cubin"
        self.run("ptxas", "-v", "-arch", arch, *options, f"{name}.ptx", "-o", output)
        return (self.folder / output).read_bytes()

    def link(self, modules: Sequence[bytes], arch: str, *options: str) -> bytes:
        """nvlink, in the order given."""
        names = [f"link{i}.cubin" for i in range(len(modules))]
        for name, module in zip(names, modules, strict=True):
            (self.folder / name).write_bytes(module)
        self.run("nvlink", "-arch", arch, *options, *names, "-o", "linked.cubin")
        return (self.folder / "linked.cubin").read_bytes()

    def resource_usage(self, cubin: bytes) -> dict[str, Usage]:
        """`cuobjdump -res-usage`; from sm_90 on its shared memory of a finished CUBIN includes what the system
        reserves."""
        (self.folder / "usage.cubin").write_bytes(cubin)
        text = self.run("cuobjdump", "-res-usage", "usage.cubin")
        found = re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\w+) SHARED:(\d+)", text)
        return {
            name: Usage(int(registers), int(shared), None if stack == "UNKNOWN" else int(stack))
            for name, registers, stack, shared in found
        }

    def sass(self, cubin: bytes) -> dict[str, str]:
        """`cuobjdump -sass`: the machine code of every function, with its encoding."""
        (self.folder / "sass.cubin").write_bytes(cubin)
        functions = self.run("cuobjdump", "-sass", "sass.cubin").split("\t\tFunction : ")[1:]
        return {name.strip(): code for name, code in map(_name_and_code, functions)}

    def line_table(self, cubin: bytes, option: str = "-gi") -> dict[str, list[str]]:
        """`nvdisasm -gi`: for every function, the addresses of its instructions and the source locations in front of
        them, those of inlined calls too."""
        (self.folder / "lines.cubin").write_bytes(cubin)
        found: dict[str, list[str]] = {}
        for line in self.run("nvdisasm", option, "lines.cubin").splitlines():
            if line.startswith((".text.", "\t.section")):
                rows = found.setdefault(line[len(".text.") : -1], []) if line.startswith(".text.") else []
            elif match := re.match(r"\s*//## (File .*)|\s*/\*([0-9a-f]{4,})\*/", line):
                rows.append(match[1] or match[2])
        return found

    def ptx_of_code(self, cubin: bytes) -> dict[str, list[str]]:
        """`nvdisasm -gp`: for every function, the addresses of its instructions and the lines of PTX in front of
        them."""
        places = section_places(cubin)

        def text(row: str) -> str:
            location = re.fullmatch(r'File "(.*)", line (\d+)', row)
            return cubin[places[location[1]]].decode().split("\0")[int(location[2]) - 1] if location else row

        return {name: list(map(text, rows)) for name, rows in self.line_table(cubin, "-gp").items()}


def _name_and_code(function: str) -> tuple[str, str]:
    name, code = function.split("\n", 1)
    # The columns are as wide as the longest instruction of the file.
    return name, "\n".join(" ".join(line.split()) for line in code.split("\t\t....")[0].splitlines())
