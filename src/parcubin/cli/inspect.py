"""`parcubin inspect`: the kernels of a CUBIN or bundle."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from parcubin.cli.arguments import Argument, Option
from parcubin.cli.errors import exit_on_error, print_json
from parcubin.errors import InputError

if TYPE_CHECKING:
    from parcubin.model import KernelInfo


def inspect_command(
    file: Annotated[Path, Argument(metavar="FILE", help="A CUBIN, or a bundle (folder or .zip).")],
    as_json: Annotated[bool, Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Show the kernels of a CUBIN or bundle: registers, shared memory, stack, spills and code size, in bytes."""
    with exit_on_error(as_json):
        kernels = sorted(read_kernels(file), key=lambda kernel: kernel.name)
        if as_json:
            print_json({"kernels": [asdict(kernel) for kernel in kernels]})
            return
        from parcubin.report.table import kernel_table, output_width

        print(kernel_table(kernels, output_width()))


def read_kernels(path: Path) -> list[KernelInfo]:
    """The kernels of a CUBIN or bundle, told apart by content.

    Raises:
        InputError: it is neither, or cannot be read.
    """
    from parcubin.sources import read_file

    data = b"" if path.is_dir() else read_file(path)
    if path.is_dir() or data.startswith(b"PK\x03\x04"):
        from parcubin.bundle import read_bundle

        return list(read_bundle(path).kernels.values())
    if data.startswith(b"\x7fELF"):
        from parcubin.inspect.cubin import read_cubin

        return list(read_cubin(data, str(path)).kernels.values())
    raise InputError(f"'{path}' is neither a CUBIN nor a bundle.", input_name=str(path))
