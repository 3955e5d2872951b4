"""`parcubin info`: the toolchain found, the provider chosen and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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

        info = versions()
        info["toolchain"] = toolchain()
        info["link"] = describe(select(provider, needs_link=True))
        info["bundle"] = describe(select(provider, needs_link=False))
        if as_json:
            print_json(info)
        else:
            print_text(info)


def versions() -> dict[str, Any]:
    """Versions of parcubin and of the LLVM that lowers."""
    from importlib.metadata import version

    import llvmlite.binding

    return {"parcubin": version("parcubin"), "llvm": ".".join(map(str, llvmlite.binding.llvm_version_info))}


def toolchain() -> list[dict[str, str]]:
    """Where each component of the toolchain is that was found; the preferred place of several."""
    from parcubin.toolchain.locate import Component, find

    components: tuple[Component, ...] = (
        "ptxas",
        "nvlink",
        "nvJitLink",
        "nvptxcompiler_static",
        "libdevice",
        "libcudadevrt",
    )
    found = ((component, find(component)) for component in components)
    return [{"component": component, "path": file.path, "origin": file.origin} for component, file in found if file]


def describe(selection: Selection) -> dict[str, Any]:
    """A choice as JSON: the provider with its tools' versions, `ptx_isa` as 90 for 9.0, and the decisions behind it."""
    provider = selection.provider
    return {
        "provider": provider.name,
        "identity": provider.identity,
        "ptx_isa": provider.latest_ptx_isa_version(),
        "warnings": list(selection.warnings),
        "decisions": [
            {"candidate": decision.candidate, "verdict": decision.verdict, "reason": decision.reason}
            for decision in selection.decisions
        ],
    }


def print_text(info: dict[str, Any]) -> None:
    """The same for people."""
    print(f"parcubin {info['parcubin']}, LLVM {info['llvm']}\n")
    for found in info["toolchain"]:
        print(f"{found['component']:<21} {found['path']} ({found['origin']})")
    for purpose, heading in (("link", "To link"), ("bundle", "For a bundle")):
        chosen = info[purpose]
        major, minor = divmod(chosen["ptx_isa"], 10)
        print(f"\n{heading}: {chosen['provider']}, PTX ISA up to {major}.{minor}")
        for decision in chosen["decisions"]:
            print(f"    {decision['candidate']}: {decision['verdict']}, {decision['reason']}")
        for warning in chosen["warnings"]:
            print(f"    warning: {warning}")
