"""Which LLVM lowers, and why."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parcubin.configuration import Configuration, read_configuration
from parcubin.errors import ToolchainError, UsageError
from parcubin.lower.external import ExternalLlvm
from parcubin.lower.interface import Llvm
from parcubin.lower.llvmlite import LlvmliteLlvm
from parcubin.lower.none import NoLlvm
from parcubin.model import Target
from parcubin.toolchain.decision import Decision
from parcubin.toolchain.llvm_tools import OLDEST_VERSION, folders, tools_in

if TYPE_CHECKING:
    from parcubin.cache.answers import Answers


@dataclass(frozen=True)
class LlvmSelection:
    """An LLVM and why it was chosen.

    Attributes:
        llvm: what lowers.
        decisions: what was looked at, in order.
    """

    llvm: Llvm
    decisions: tuple[Decision, ...]

    @property
    def is_llvmlite(self) -> bool:
        """Whether workers lower in their own process."""
        return isinstance(self.llvm, LlvmliteLlvm)


def select_llvm(
    requested: str | os.PathLike[str] = "auto",
    *,
    target: Target | None = None,
    configuration: Configuration | None = None,
    answers: Answers | None = None,
) -> LlvmSelection:
    """Chooses the LLVM that lowers. llvmlite is not loaded for that.

    Args:
        requested: "llvmlite"; "none" for programs of PTX; the folder of an LLVM's executables, or the one above their
            `bin`; or "auto", which leaves it to the configuration, and that by default to what the machine has: an LLVM
            that is not older than llvmlite's, knows the target and can link, else llvmlite.
        target: what will be compiled for.
        configuration: what the user configured; read from its places by default.
        answers: what tools said before.

    Raises:
        ToolchainError: the folder that was asked for has no LLVM that can be used.
        UsageError: the request is empty, or the configuration is wrong.
    """
    requested, origin = os.fspath(requested), "asked for"
    if requested == "auto":
        configuration = configuration or read_configuration()
        requested = configuration.llvm
        if configured_by := configuration.origin("llvm"):
            origin = f"asked for by {configured_by}"
    if not requested:
        raise UsageError("The LLVM to use is 'auto', 'llvmlite' or a folder.")
    if requested == "auto":
        return _best(target, answers)
    llvm: Llvm
    if requested == "llvmlite":
        llvm, name = LlvmliteLlvm(), "llvmlite"
    elif requested == "none":
        llvm, name = NoLlvm(), "none"
    else:
        try:
            tools = tools_in(str(Path(requested).expanduser()), answers)
        except ToolchainError as error:
            raise ToolchainError(
                f"The LLVM that was {origin} cannot be used. {error.message} Name a folder with opt, llc and llvm-link "
                f"of LLVM {OLDEST_VERSION} or newer, built with the NVPTX target, or use 'llvmlite'."
            ) from None
        llvm, name = ExternalLlvm(tools), str(tools)
    return LlvmSelection(llvm, (Decision(name, "chosen", origin),))


def _best(target: Target | None, answers: Answers | None) -> LlvmSelection:
    decisions: list[Decision] = []
    for folder, origin in folders():
        try:
            tools = tools_in(folder, answers)
        except ToolchainError as error:
            decisions.append(Decision(f"LLVM in {folder}", "rejected", error.message))
            continue
        if target is not None and target.name not in tools.targets:
            decisions.append(Decision(str(tools), "rejected", f"it does not know the target {target}"))
        elif not tools.can_link:
            decisions.append(Decision(str(tools), "rejected", "it has no llvm-link, which some modules need"))
        else:
            decisions.append(Decision(str(tools), "chosen", f"found on {origin}"))
            return LlvmSelection(ExternalLlvm(tools), tuple(decisions))
    decisions.append(
        Decision("llvmlite", "chosen", "no other LLVM is usable" if decisions else "there is no other LLVM")
    )
    return LlvmSelection(LlvmliteLlvm(), tuple(decisions))
