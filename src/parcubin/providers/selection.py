"""Which provider to use on this machine, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from parcubin.errors import ToolchainError, UsageError
from parcubin.model import Target
from parcubin.providers.composite import CompositeProvider
from parcubin.providers.deferred import DeferredProvider
from parcubin.providers.interface import CompilationProvider
from parcubin.providers.nvjitlink import NvJitLinkProvider
from parcubin.providers.subprocess import SubprocessProvider
from parcubin.toolchain.known_issues import known_issues
from parcubin.toolchain.locate import Component, find_all
from parcubin.toolchain.version import Tool

PROVIDER_NAMES = ("auto", "subprocess", "subprocess+nvjitlink", "nvjitlink", "deferred(nvjitlink)")

ToolName = Literal["ptxas", "nvlink", "nvJitLink"]
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

    `auto` prefers ptxas with nvJitLink to link, then ptxas with nvlink (in both cases rather a linker of its own
    release than a newer one), then nvJitLink alone, which from 13.0 on makes relocatable modules itself and before
    that defers compilation to the link. Nothing is loaded into this process.

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
        "auto": search.auto,
        "subprocess": search.subprocess,
        "subprocess+nvjitlink": search.subprocess_with_nvjitlink,
        "nvjitlink": search.nvjitlink,
        "deferred(nvjitlink)": search.deferred_nvjitlink,
    }
    for provider, tools in candidates[requested]():
        search.decisions.append(Decision(provider.name, "chosen", provider.identity))
        return Selection(provider, tuple(search.decisions), _warnings(tools, target))
    what = "compile and link" if search.needs_link else "compile"
    wanted = "No provider" if requested == "auto" else f"The provider '{requested}' is not usable: nothing"
    raise ToolchainError(
        f"{wanted} on this machine can {what} PTX. Install NVIDIA's compilers with pip install 'parcubin[cuda13]', or "
        f"set CUDA_PATH to a CUDA toolkit. What was looked at:\n{_explain(search.decisions)}"
    )


def _explain(decisions: list[Decision] | tuple[Decision, ...]) -> str:
    return "\n".join(f"  {decision}" for decision in decisions)


def _warnings(tools: tuple[Tool, ...], target: Target | None) -> tuple[str, ...]:
    texts = [f"{tool} {issue.reason}." for tool in tools for issue in known_issues(tool.name, tool.version, target)]
    if len({tool.version.release for tool in tools}) > 1:
        texts.append(
            f"{' and '.join(map(str, tools))} are of different releases, so modules that are to be linked are compiled "
            "with -c, which costs registers. Install a linker of the assembler's release."
        )
    return tuple(texts)


_Candidate = tuple[CompilationProvider, tuple[Tool, ...]]


@dataclass
class _Search:
    """The state of one selection: what is needed, what was found so far, and the log of it.

    Tools are looked for one by one as the candidates ask for them, so that nothing is run or read for nothing.
    """

    paths: ToolPaths
    needs_link: bool
    needs_relocatable_output: bool
    target: Target | None
    force: bool
    decisions: list[Decision] = field(default_factory=list)
    found: dict[Component, list[Tool]] = field(default_factory=dict)
    searches: dict[Component, Iterator[Tool]] = field(default_factory=dict)

    def auto(self) -> Iterator[_Candidate]:
        for ptxas in self._tools("ptxas"):
            yield from self._compiling_with(ptxas, ("nvJitLink", "nvlink"))
        yield from self.nvjitlink()
        yield from self.deferred_nvjitlink()

    def subprocess(self) -> Iterator[_Candidate]:
        for ptxas in self._tools("ptxas"):
            yield from self._compiling_with(ptxas, ("nvlink",))

    def subprocess_with_nvjitlink(self) -> Iterator[_Candidate]:
        for ptxas in self._tools("ptxas"):
            yield from self._linking_with(ptxas, ("nvJitLink",))

    def _compiling_with(self, ptxas: Tool, linkers: Sequence[ToolName]) -> Iterator[_Candidate]:
        if not self.needs_link:
            yield SubprocessProvider(ptxas), (ptxas,)
            return
        yield from self._linking_with(ptxas, linkers)

    def _linking_with(self, ptxas: Tool, linkers: Sequence[ToolName]) -> Iterator[_Candidate]:
        for linker in self._linkers(ptxas, linkers):
            provider = self._pair(ptxas, linker)
            if self._can_join(provider):
                yield provider, (ptxas, linker)

    def _pair(self, ptxas: Tool, linker: Tool) -> CompilationProvider:
        if linker.name == "nvlink":
            return SubprocessProvider(ptxas, linker)
        return CompositeProvider(
            (SubprocessProvider(ptxas), NvJitLinkProvider(linker)),
            extensible_modules=linker.version.release == ptxas.version.release,
        )

    def _linkers(self, ptxas: Tool, names: Sequence[ToolName]) -> Iterator[Tool]:
        """Linkers of the assembler's own release, which link its best code; then newer ones; never older ones."""
        for name in names:
            yield from (t for t in self._tools(name) if t.version.release == ptxas.version.release)
        for name in names:
            for tool in self._tools(name):
                if tool.version.release < ptxas.version.release:
                    self._reject(f"{tool} with {ptxas}", "a linker must not be older than its assembler")
                elif tool.version.release > ptxas.version.release:
                    yield tool

    def nvjitlink(self) -> Iterator[_Candidate]:
        for library in self._tools("nvJitLink"):
            provider = NvJitLinkProvider(library)
            if self.needs_link and not provider.supports_compile_to_relocatable_module:
                self._reject(f"nvjitlink ({library})", "it makes relocatable modules from 13.0 on only")
            else:
                yield provider, (library,)

    def deferred_nvjitlink(self) -> Iterator[_Candidate]:
        for library in self._tools("nvJitLink"):
            if NvJitLinkProvider(library).supports_compile_to_relocatable_module:
                self._reject(f"deferred(nvjitlink) ({library})", "it makes relocatable modules, so nothing is to defer")
                continue
            provider = DeferredProvider(NvJitLinkProvider(library))
            if self._can_join(provider):
                yield provider, (library,)

    def _can_join(self, provider: CompilationProvider) -> bool:
        if not self.needs_relocatable_output or provider.supports_link_to_relocatable_module:
            return True
        self._reject(f"{provider.name} ({provider.identity})", "it cannot join modules into a relocatable one")
        return False

    def _tools(self, name: ToolName) -> Iterator[Tool]:
        """The usable tools of a name, preferred first; each is looked for once in a selection."""
        found = self.found.setdefault(name, [])
        search = self.searches.setdefault(name, self._look_for(name))
        yield from found
        for tool in search:
            found.append(tool)
            yield tool

    def _look_for(self, name: ToolName) -> Iterator[Tool]:
        explicit = {"ptxas": self.paths.ptxas, "nvlink": self.paths.nvlink, "nvJitLink": self.paths.nvjitlink}
        files = find_all(name, explicit[name])
        if not files:
            self._reject(name, "not found")
        for file in files:
            place = f"{file.path} ({file.origin})"
            try:
                tool = Tool.library(name, file.path) if name == "nvJitLink" else Tool.executable(name, file.path)
            except ToolchainError as error:
                self._reject(f"{name} at {place}", error.message)
                continue
            if fault := self._fault(tool):
                self._reject(f"{name} at {place}", fault)
            else:
                self.decisions.append(Decision(str(tool), "usable", place))
                yield tool

    def _fault(self, tool: Tool) -> str | None:
        for issue in known_issues(tool.name, tool.version, self.target):
            if issue.verdict == "refused":
                return f"{tool} {issue.reason}"
            if issue.verdict == "excluded" and not self.force:
                return f"{tool} {issue.reason}; it can be forced"
        return None

    def _reject(self, candidate: str, reason: str) -> None:
        self.decisions.append(Decision(candidate, "rejected", reason))
