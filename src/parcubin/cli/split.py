"""`parcubin split`: the shards of a program and the plan, written to a folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from parcubin.cli.arguments import Argument, Option
from parcubin.cli.errors import exit_on_error
from parcubin.model import Emit
from parcubin.output_paths import check_folder, check_output

_PLAN = "plan.json"
_SHARD_NAME = re.compile(r"\d{4,}\.(?:ll|ptx)")


def split_command(
    inputs: Annotated[list[Path], Argument(metavar="INPUT", help="LLVM IR, bitcode or PTX.")],
    output: Annotated[Path, Option("--output", "-o", metavar="DIR", help="The folder to write.")],
    arch: Annotated[str, Option("--arch", metavar="TARGET", help="The target: sm_80, sm_90a.")] = "sm_80",
    emit: Annotated[Emit, Option(help="What the plan is for.")] = "cubin",
    llvm: Annotated[str, Option(metavar="DIR", help="The folder with the opt that prints, or 'llvmlite'.")] = "auto",
) -> None:
    """Write the shards of a program and the plan.

    Each shard is a module of its own: LLVM's opt and llc lower it, ptxas -c assembles it, nvlink links them all.
    """
    with exit_on_error(as_json=False):
        import json

        from parcubin.compiler import Compiler
        from parcubin.files import write_files

        check_output(output, inputs)
        if output.suffix != ".zip":
            check_folder(output, inputs, _is_split)
        with Compiler(arch, llvm=llvm) as compiler:
            shards = compiler.split(list(inputs), output=emit)
        files: dict[str, bytes] = {}
        described: list[dict[str, Any]] = []
        for number, shard in enumerate(shards):
            name = f"{number:04}.{shard.format}"
            files[name] = shard.text.encode()
            described.append(
                {
                    "file": name,
                    "kernels": list(shard.kernels),
                    "cost": shard.cost,
                    "constants": shard.constants,
                    "function_pointers": shard.pointers,
                }
            )
        files[_PLAN] = json.dumps({"for": emit, "shards": described}, indent=2).encode() + b"\n"
        write_files(output, files, _is_split)


def _is_split(folder: Path) -> bool:
    """Whether a folder was written by this command and holds nothing else."""
    names = {file.name for file in folder.iterdir()}
    return _PLAN in names and all(_SHARD_NAME.fullmatch(name) for name in names - {_PLAN})
