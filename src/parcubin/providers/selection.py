"""Which provider to use on this machine, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, cast

from parcubin.errors import ToolchainError, UsageError
from parcubin.model import Target
from parcubin.providers.composite import CompositeProvider
from parcubin.providers.deferred import DeferredProvider
from parcubin.providers.interface import CompilationProvider
from parcubin.providers.nvjitlink import NvJitLinkProvider
from parcubin.providers.subprocess import SubprocessProvider
from parcubin.toolchain.known_issues import CompilerName, known_issues
from parcubin.toolchain.locate import Component, find_all
from parcubin.toolchain.version import Tool

PROVIDER_NAMES = ("auto", "subprocess", "subprocess+nvjitlink", "nvjitlink", "deferred(nvjitlink)")

Verdict = Literal["chosen", "usable", "rejected"]


@dataclass(frozen=True)
class Decision:
    """One candidate and what became of it.

    Attributes:
        candidate: a tool with its path, or a provider.
        verdict: a tool is "usable" or "rejected", a provider "chosen" or "rejected".
        reason: why.
    """

    candidate: str
    verdict: Verdict
    reason: str

    def __str__(self) -> str:
        return f"{self.candidate}: {self.verdict}, {self.reason}"


@dataclass(frozen=True)
class ToolPaths:
    """Paths given by the user; each replaces the search for that component."""

    ptxas: str | None = None
    nvlink: str | None = None
    nvjitlink: str | None = None


@dataclass(frozen=True)
class Selection:
    """A provider and how it was chosen.

    Attributes:
        provider: the provider.
        decisions: every candidate that was looked at, in order, with the reason for or against it.
        warnings: known faults of the chosen versions.
    """

    provider: CompilationProvider
    decisions: tuple[Decision, ...]
    warnings: tuple[str, ...] = ()

    def explain(self) -> str:
        """The decision log as text, one candidate a line."""
        return _explain(self.decisions)


def select(
    requested: str = "auto",
    *,
    needs_link: bool,
    needs_relocatable_output: bool = False,
    target: Target | None = None,
    paths: ToolPaths | None = None,
    force: bool = False,
) -> Selection:
    """Chooses a provider from what the machine has; looks at no more than the choice needs.

    `auto` prefers ptxas with nvJitLink to link, then ptxas with nvlink, then nvJitLink alone, which from 13.0 on makes
    relocatable modules itself and before that defers compilation to the link. Nothing is loaded into this process.

    Args:
        requested: `auto`, or a provider's name to insist on; one of `PROVIDER_NAMES`.
        needs_link: whether there are modules to link; otherwise a provider that only compiles is enough.
        needs_relocatable_output: whether modules are to be joined into one relocatable module.
        target: what will be compiled for, for warnings that concern some targets only.
        paths: explicit paths of tools.
        force: use versions with known faults all the same.

    Raises:
        UsageError: `requested` is not the name of a provider.
        ToolchainError: nothing fits; the message holds the decision log.
    """
    if requested not in PROVIDER_NAMES:
        raise UsageError(f"There is no provider '{requested}'. The providers are {', '.join(PROVIDER_NAMES)}.")
    search = _Search(
        paths or ToolPaths(), needs_link or needs_relocatable_output, needs_relocatable_output, target, force
    )
    candidates = {
        "subprocess": search.subprocess,
        "subprocess+nvjitlink": search.subprocess_with_nvjitlink,
        "nvjitlink": search.nvjitlink,
        "deferred(nvjitlink)": search.deferred_nvjitlink,
    }
    if requested == "auto":
        order = ["subprocess+nvjitlink", "subprocess", "nvjitlink", "deferred(nvjitlink)"]
        if not search.needs_link:
            order.remove("subprocess+nvjitlink")
    else:
        order = [requested]
    for name in order:
        for provider in candidates[name]():
            search.decisions.append(Decision(provider.name, "chosen", provider.identity))
            return Selection(provider, tuple(search.decisions), tuple(dict.fromkeys(search.warnings)))
    what = "compile and link" if search.needs_link else "compile"
    wanted = "No provider" if requested == "auto" else f"The provider '{requested}' is not usable: nothing"
    raise ToolchainError(
        f"{wanted} on this machine can {what} PTX. Install NVIDIA's compilers with pip install 'parcubin[cuda13]', or "
        f"set CUDA_PATH to a CUDA toolkit. What was looked at:\n{_explain(search.decisions)}"
    )


def _explain(decisions: list[Decision] | tuple[Decision, ...]) -> str:
    return "\n".join(f"  {decision}" for decision in decisions)


@dataclass
class _Search:
    """The state of one selection: what is needed, what was found, and the log of it."""

    paths: ToolPaths
    needs_link: bool
    needs_relocatable_output: bool
    target: Target | None
    force: bool
    decisions: list[Decision] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    found: dict[Component, list[Tool]] = field(default_factory=dict)

    def subprocess(self) -> Iterator[CompilationProvider]:
        for ptxas in self._tools("ptxas"):
            if not self.needs_link:
                yield SubprocessProvider(ptxas)
                continue
            for nvlink in self._tools("nvlink"):
                if self._can_link(nvlink, ptxas):
                    yield SubprocessProvider(ptxas, nvlink)

    def subprocess_with_nvjitlink(self) -> Iterator[CompilationProvider]:
        for ptxas in self._tools("ptxas"):
            for library in self._tools("nvJitLink"):
                if self._can_link(library, ptxas) and self._can_do(NvJitLinkProvider(library)):
                    yield CompositeProvider((SubprocessProvider(ptxas), NvJitLinkProvider(library)))

    def nvjitlink(self) -> Iterator[CompilationProvider]:
        for library in self._tools("nvJitLink"):
            provider = NvJitLinkProvider(library)
            if not provider.supports_compile_to_relocatable_module and self.needs_link:
                self._reject(
                    f"nvjitlink ({library})", "nvJitLink makes relocatable modules from 13.0 on; needs deferring"
                )
            else:
                yield provider

    def deferred_nvjitlink(self) -> Iterator[CompilationProvider]:
        for library in self._tools("nvJitLink"):
            provider = NvJitLinkProvider(library)
            if provider.supports_compile_to_relocatable_module:
                self._reject(f"deferred(nvjitlink) ({library})", "it makes relocatable modules, so nothing is to defer")
            elif self._can_do(DeferredProvider(provider)):
                yield DeferredProvider(provider)

    def _can_link(self, linker: Tool, assembler: Tool) -> bool:
        if linker.version.release >= assembler.version.release:
            return True
        self._reject(f"{linker} with {assembler}", "a linker must not be older than its assembler")
        return False

    def _can_do(self, provider: CompilationProvider) -> bool:
        if not self.needs_relocatable_output or provider.supports_link_to_relocatable_module:
            return True
        self._reject(f"{provider.name} ({provider.identity})", "it cannot join modules into a relocatable one")
        return False

    def _tools(self, component: Literal["ptxas", "nvlink", "nvJitLink"]) -> list[Tool]:
        """The usable versions of a component, preferred first; looked for once, the rejected ones logged."""
        if component not in self.found:
            self.found[component] = list(self._look_for(component))
        return self.found[component]

    def _look_for(self, component: Literal["ptxas", "nvlink", "nvJitLink"]) -> Iterator[Tool]:
        explicit = {"ptxas": self.paths.ptxas, "nvlink": self.paths.nvlink, "nvJitLink": self.paths.nvjitlink}[
            component
        ]
        files = find_all(component, explicit)
        if not files:
            self._reject(component, "not found")
        for file in files:
            candidate = f"{component} at {file.path} ({file.origin})"
            try:
                make = Tool.library if component == "nvJitLink" else Tool.executable
                tool = make(component, file.path)
            except ToolchainError as error:
                self._reject(candidate, error.message)
                continue
            if self._is_sound(tool, candidate):
                self.decisions.append(Decision(str(tool), "usable", f"{file.path} ({file.origin})"))
                yield tool

    def _is_sound(self, tool: Tool, candidate: str) -> bool:
        if tool.name == "nvlink":
            return True
        for issue in known_issues(cast("CompilerName", tool.name), tool.version, self.target):
            text = f"{tool} {issue.reason}"
            if issue.verdict == "refused" or (issue.verdict == "excluded" and not self.force):
                self._reject(candidate, text if issue.verdict == "refused" else f"{text}; it can be forced")
                return False
            if text not in self.warnings:
                self.warnings.append(text)
        return True

    def _reject(self, candidate: str, reason: str) -> None:
        self.decisions.append(Decision(candidate, "rejected", reason))
