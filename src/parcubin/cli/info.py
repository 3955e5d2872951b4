"""`parcubin info`: the toolchain found, the provider chosen and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from parcubin.cli.errors import exit_on_error, print_json

if TYPE_CHECKING:
    from parcubin.providers.selection import Selection


def info_command(
    provider: Annotated[str, typer.Option(metavar="NAME", help="Choose as if this provider was asked for.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Show the toolchain found, the provider chosen and why."""
    with exit_on_error(as_json):
        from parcubin.providers.selection import select

        selection = select(provider)
        if as_json:
            print_json(describe(selection))
            return
        found = describe(selection)
        print(f"parcubin {found['parcubin']}, LLVM {found['llvm']}")
        print(f"provider: {selection.provider.name} ({selection.provider.identity})")
        for line in selection.log:
            print(f"    {line}")


def describe(selection: Selection) -> dict[str, object]:
    """What `info --json` prints. `ptx_isa` is 90 for PTX ISA 9.0."""
    from importlib.metadata import version

    import llvmlite.binding

    provider = selection.provider
    return {
        "parcubin": version("parcubin"),
        "llvm": ".".join(map(str, llvmlite.binding.llvm_version_info)),
        "provider": {
            "name": provider.name,
            "identity": provider.identity,
            "ptx_isa": provider.latest_ptx_isa_version(),
            "relocatable": provider.supports_compile_to_relocatable_module,
            "link": provider.supports_compile_and_link,
            "whole_program": provider.compiles_whole_program,
        },
        "log": [str(line) for line in selection.log],
    }
