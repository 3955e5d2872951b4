"""`parcubin bugreport`: what somebody else needs to understand a fault, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from parcubin.cli.arguments import Option
from parcubin.cli.errors import describe, exit_on_error
from parcubin.output_paths import check_file

if TYPE_CHECKING:
    from collections.abc import Callable

_VARIABLES = ("CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH", "TMPDIR", "MAKEFLAGS", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def bugreport_command(
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="The JSON file to write.")],
    source: Annotated[
        Path | None, Option("--input", metavar="INPUT", help="An input that shows the fault; it is compiled.")
    ] = None,
    arch: Annotated[str, Option("--arch", metavar="TARGET", help="The target to compile it for.")] = "sm_80",
    include_input: Annotated[
        bool, Option("--include-input", help="Put the input's text into the report; its size and digest are anyway.")
    ] = False,
) -> None:
    """Collect versions, the toolchain and why it was chosen, the configuration, and what became of an input.

    The report holds paths of this machine and, with --include-input alone, the input. Look at it before you send it.
    """
    with exit_on_error(as_json=False):
        from parcubin.files import write_file

        check_file(output, [] if source is None else [source])
        report = _machine()
        if source is not None:
            report["input"] = _input(source, include_text=include_input)
            report["compile"] = _compiled(source, arch)
        write_file(output, json.dumps(report, indent=2).encode() + b"\n")


def _machine() -> dict[str, Any]:
    from parcubin import __version__
    from parcubin.cli.info import describe as describe_choice
    from parcubin.cli.info import describe_llvm, driver, toolchain
    from parcubin.configuration import read_configuration
    from parcubin.workers.machine import available_cores, available_memory
    from parcubin.workers.pool import WorkerPool

    report: dict[str, Any] = {
        "parcubin": __version__,
        "python": sys.version,
        "platform": platform.platform(),
        "cores": available_cores(),
        "memory": available_memory(),
        "environment": {n: _public(v) for n, v in os.environ.items() if n.startswith("PARCUBIN_") or n in _VARIABLES},
        "configuration": {n: [_public(s.value), s.origin] for n, s in read_configuration().settings.items()},
        "toolchain": toolchain(),
        "driver": driver(),
    }
    with WorkerPool(1) as pool:
        report["llvm"] = _or_error(lambda: describe_llvm("auto", pool))
        for purpose, needs_link in (("link", True), ("bundle", False)):
            report[purpose] = _or_error(partial(describe_choice, "auto", needs_link, report["driver"], pool))
    return report


def _public(value: Any) -> Any:
    """A setting, without the name and password of a URL."""
    return _CREDENTIALS.sub("...", value) if isinstance(value, str) else value


def _input(source: Path, *, include_text: bool) -> dict[str, Any]:
    from parcubin.sources import read_source

    def read() -> dict[str, Any]:
        data = read_source(source).data
        found = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        return found | ({"text": data.decode(errors="backslashreplace")} if include_text else {})

    return _or_error(read)


def _compiled(source: Path, arch: str) -> dict[str, Any]:
    from parcubin.compiler import Compiler

    def compiled() -> dict[str, Any]:
        with Compiler(arch, cache="off") as compiler:  # which may keep what the fault does not let come again
            report = compiler.compile(source, output="bundle").report
        return {"arch": arch, "kernels": report.kernels, "shards": report.shards, "warnings": list(report.warnings)}

    return _or_error(compiled)


def _or_error(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    from parcubin.errors import ParcubinError

    try:
        return make()
    except ParcubinError as error:
        return {"error": describe(error)}
