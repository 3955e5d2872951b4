"""Machine code of split PTX against that of one whole-program ptxas run, kernel by kernel.

Without arguments: `corpus/cub.ptx` as a bundle for sm_80 and linked for sm_80, sm_90, sm_100 and sm_120. Exits with 1
when a kernel differs that calls no helper routine of ptxas.
"""

from __future__ import annotations

import argparse
import lzma
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from cuda.pathfinder import find_nvidia_binary_utility

import parcubin
from parcubin.model import Emit

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Case:
    """One input compiled in one way."""

    path: Path
    arch: str
    output: Emit


CASES = tuple(
    Case(ROOT / "corpus" / "cub.ptx.xz", arch, cast(Emit, output))
    for arch, output in (
        ("sm_80", "bundle"),
        ("sm_80", "cubin"),
        ("sm_90", "cubin"),
        ("sm_100", "cubin"),
        ("sm_120", "cubin"),
    )
)


def run(tool: str, *arguments: str) -> str:
    path = find_nvidia_binary_utility(tool)
    if path is None:
        sys.exit(f"{tool} is not installed")
    return subprocess.run([path, *arguments], check=True, capture_output=True, text=True).stdout


def machine_code(cubin: Path) -> dict[str, str]:
    """The code of every function with its encoding; cuobjdump pads columns to the longest instruction of the file."""
    functions = run("cuobjdump", "-sass", str(cubin)).split("\t\tFunction : ")[1:]
    return {
        name.strip(): " ".join(code.split("\t\t....")[0].split())
        for name, code in (f.split("\n", 1) for f in functions)
    }


def compare(case: Case) -> bool:
    text = case.path.read_bytes()
    text = lzma.decompress(text) if case.path.suffix == ".xz" else text
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "whole.ptx"), Path(folder, "whole.cubin")
        source.write_bytes(text)
        run("ptxas", "-arch", case.arch, str(source), "-o", str(cubin))
        whole = machine_code(cubin)
        program = parcubin.compile(text, case.arch, output=case.output)
        split: dict[str, str] = {}
        for image in [a.cubin for a in program.assemblies] or [program.cubin]:
            cubin.write_bytes(image)
            split |= machine_code(cubin)
    different = [name for name, code in whole.items() if split.get(name) != code]
    without_calls = [name for name in different if "CALL" not in split.get(name, "")]
    print(
        f"{case.path.name} {case.arch} {case.output}: {len(whole)} functions, {program.report.shards} shards, "
        f"{len(whole) - len(different)} equal, {len(different)} different, of which {len(without_calls)} call no "
        "helper routine",
        *(f"  {name}" for name in without_calls),
        sep="\n",
    )
    return not without_calls


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path, nargs="*", help="PTX")
    parser.add_argument("--arch", action="append", help="target; may be repeated")
    parser.add_argument("--emit", choices=("bundle", "cubin"), default="cubin")
    arguments = parser.parse_args()
    cases = [Case(p, arch, arguments.emit) for p in arguments.input for arch in arguments.arch or ["sm_90"]] or CASES
    same = [compare(case) for case in cases]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
