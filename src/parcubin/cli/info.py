"""`parcubin info`: the toolchain found, the provider chosen and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from parcubin.cli.arguments import Option
from parcubin.cli.errors import exit_on_error, print_json

if TYPE_CHECKING:
    from parcubin.toolchain.decision import Decision
    from parcubin.toolchain.version import Tool
    from parcubin.workers.pool import WorkerPool


def info_command(
    provider: Annotated[str, Option(metavar="NAME", help="Choose as if this provider was asked for.")] = "auto",
    llvm: Annotated[
        str, Option(metavar="DIR", help="Choose as if this folder with opt and llc was asked for, or 'llvmlite'.")
    ] = "auto",
    as_json: Annotated[bool, Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Show the toolchain found, the driver, what is configured, the LLVM and the provider chosen and why.

    Exit status: 0 something compiles here, 2 wrong usage or configuration, 3 no usable toolchain.
    """
    with exit_on_error(as_json):
        from parcubin import __version__
        from parcubin.configuration import read_configuration
        from parcubin.errors import ToolchainError
        from parcubin.workers.pool import WorkerPool

        configuration = read_configuration()
        info: dict[str, Any] = {"parcubin": __version__}
        info["toolchain"] = toolchain()
        info["driver"] = driver()
        info["configuration"] = [
            {"setting": name, "value": setting.value, "origin": setting.origin}
            for name, setting in configuration.settings.items()
        ]
        failures: list[ToolchainError] = []
        with WorkerPool(1) as pool:  # a faulty library must not take this process down
            info["llvm"] = describe_llvm(llvm, pool)
            for purpose, needs_link in (("link", True), ("bundle", False)):
                try:
                    info[purpose] = describe(provider, needs_link, info["driver"], pool)
                except ToolchainError as error:
                    info[purpose] = {"error": error.message}
                    failures.append(error)
        if len(failures) == 2:
            raise failures[1]
        if as_json:
            print_json(info)
        else:
            print_text(info)


def describe_llvm(requested: str, pool: WorkerPool) -> dict[str, Any]:
    """The LLVM that lowers, as `describe` has a provider.

    Raises:
        ToolchainError: what was asked for cannot be used.
    """
    from parcubin.lower.selection import select_llvm
    from parcubin.workers.jobs import AskVersions

    selection = select_llvm(requested)
    ptx_isa, identity = pool.submit(AskVersions(None, selection.llvm)).result()
    return {"identity": identity, "ptx_isa": ptx_isa, "decisions": _decisions(selection.decisions)}


def toolchain() -> list[dict[str, str]]:
    """Where each component of the toolchain is that was found; the preferred place of several."""
    from parcubin.toolchain.locate import Component, find

    components: tuple[Component, ...] = (
        "ptxas",
        "nvlink",
        "nvJitLink",
        "nvptxcompiler",
        "nvptxcompiler_static",
        "libdevice",
        "libcudadevrt",
    )
    found = ((component, find(component)) for component in components)
    return [{"component": component, "path": file.path, "origin": file.origin} for component, file in found if file]


def driver() -> dict[str, Any]:
    """The installed driver as JSON: `cuda` is the release that it supports, [13, 0]; or `reason` why there is none."""
    from parcubin.errors import ToolchainError
    from parcubin.toolchain.driver import installed_driver

    try:
        found = installed_driver()
    except ToolchainError as error:
        return {"reason": error.message}
    return {"cuda": list(found.cuda), "build": found.build}


def describe(requested: str, needs_link: bool, installed: dict[str, Any], pool: WorkerPool) -> dict[str, Any]:
    """A choice as JSON: the provider with its tools' versions, `ptx_isa` as 90 for 9.0, and the decisions behind it.

    Raises:
        ToolchainError: nothing fits.
    """
    from parcubin.providers.selection import select
    from parcubin.workers.jobs import AskPtxVersion

    selection = select(requested, needs_link=needs_link)
    provider = selection.provider
    return {
        "provider": provider.name,
        "identity": provider.identity,
        "ptx_isa": pool.submit(AskPtxVersion(provider)).result(),
        "warnings": [*selection.warnings, *too_new_for_driver(selection.tools, installed)],
        "decisions": _decisions(selection.decisions),
    }


def _decisions(decisions: Sequence[Decision]) -> list[dict[str, str]]:
    return [{"candidate": d.candidate, "verdict": d.verdict, "reason": d.reason} for d in decisions]


def too_new_for_driver(tools: Sequence[Tool], installed: dict[str, Any]) -> list[str]:
    """A warning when the installed driver cannot load what the tools make."""
    from parcubin.toolchain.driver import can_load

    if "cuda" not in installed:
        return []
    major, minor = installed["cuda"]
    newer = [str(tool) for tool in tools if not can_load((major, minor), tool.version.major)]
    if not newer:
        return []
    return [
        f"The installed driver supports CUDA {major}.{minor} and cannot load what {' and '.join(newer)} make. Update "
        f"the driver, or compile with --driver {major}.{minor}, which takes an older toolchain if there is one."
    ]


def print_text(info: dict[str, Any]) -> None:
    """The same for people."""
    print(f"parcubin {info['parcubin']}\n")
    for found in info["toolchain"]:
        print(f"{found['component']:<21} {found['path']} ({found['origin']})")
    installed = info["driver"]
    print(f"{'driver':<21} {_driver_text(installed)}")
    for setting in info["configuration"]:
        value = setting["value"]
        text = ", ".join(value) if isinstance(value, list) else str(value).lower() if value in (True, False) else value
        print(f"{setting['setting']:<21} {text} (set by {setting['origin']})")
    _print_choice("To lower", info["llvm"]["identity"], info["llvm"])
    for purpose, heading in (("link", "To link"), ("bundle", "For a bundle")):
        chosen = info[purpose]
        if "error" in chosen:
            print(f"\n{heading}: nothing\n{chosen['error']}")
            continue
        _print_choice(heading, chosen["provider"], chosen)
        for warning in chosen["warnings"]:
            print(f"    warning: {warning}")


def _print_choice(purpose: str, name: str, chosen: dict[str, Any]) -> None:
    major, minor = divmod(chosen["ptx_isa"], 10)
    print(f"\n{purpose}: {name}, PTX ISA up to {major}.{minor}")
    for decision in chosen["decisions"]:
        print(f"    {decision['candidate']}: {decision['verdict']}, {decision['reason']}")


def _driver_text(installed: dict[str, Any]) -> str:
    if "cuda" not in installed:
        reason: str = installed["reason"]
        return reason
    major, minor = installed["cuda"]
    return f"supports CUDA {major}.{minor}" + (f" ({installed['build']})" if installed["build"] else "")
