"""Which provider to use on this machine, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from parcubin.configuration import Configuration, ToolPaths, read_configuration
from parcubin.errors import ToolchainError, UsageError
from parcubin.model import Target
from parcubin.toolchain.decision import Decision
from parcubin.toolchain.driver import DriverVersion, can_load, usable_driver
from parcubin.toolchain.known_issues import known_issues
from parcubin.toolchain.locate import Component, find_all
from parcubin.toolchain.shared_nvptxcompiler import shared_nvptxcompiler
from parcubin.toolchain.version import Tool

if TYPE_CHECKING:
    from parcubin.cache.answers import Answers
    from parcubin.providers.interface import CompilationProvider
    from parcubin.providers.nvptxcompiler import NvPtxCompilerProvider
    from parcubin.providers.subprocess import SubprocessProvider

__all__ = ("PROVIDER_NAMES", "Decision", "Selection", "ToolPaths", "select")

PROVIDER_NAMES = (
    "auto",
    "subprocess",
    "nvptxcompiler",
    "nvjitlink",
    "driver",
    "subprocess+nvjitlink",
    "nvptxcompiler+nvjitlink",
    "deferred(nvjitlink)",
    "deferred(driver)",
)

ToolName = Literal["ptxas", "nvlink", "nvJitLink", "nvptxcompiler"]

_PROVIDER_OF_TOOL: dict[ToolName, str] = {
    "ptxas": "subprocess",
    "nvlink": "subprocess",
    "nvJitLink": "nvjitlink",
    "nvptxcompiler": "nvptxcompiler",
}


@dataclass(frozen=True)
class Selection:
    """A provider and how it was chosen.

    Attributes:
        provider: the provider.
        decisions: every candidate that was looked at, in order, with the reason for or against it.
        warnings: known faults of the chosen versions.
        tools: what the provider uses; the driver is not among them.
    """

    provider: CompilationProvider
    decisions: tuple[Decision, ...]
    warnings: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()

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
    driver: tuple[int, int] | None = None,
    configuration: Configuration | None = None,
    answers: Answers | None = None,
) -> Selection:
    """Chooses a provider from what the machine has; looks at no more than the choice needs.

    `auto` prefers ptxas with nvJitLink to link, then ptxas with nvlink (in both cases rather a linker of its own
    release than a newer one), then libnvptxcompiler with nvJitLink, then nvJitLink alone, which from 13.2 on makes
    relocatable modules itself and before that defers compilation to the link, and last the driver, deferred. Nothing is
    loaded into this process. A shared libnvptxcompiler is built only when this choice comes to it.

    Args:
        requested: a provider's name to insist on, one of `PROVIDER_NAMES`; `auto` leaves it to the configuration, and
            that by default to the order above.
        needs_link: whether there are modules to link; otherwise a provider that only compiles is enough.
        needs_relocatable_output: whether modules are to be joined into one relocatable module.
        target: what will be compiled for: tools that do not know it are not used, and some have faults for some.
        paths: explicit paths of tools; those that are None are left to the configuration.
        force: use versions with known faults all the same.
        driver: the CUDA release of the driver that must be able to load the output: (12, 4).
        configuration: what the user configured; read from its places by default.
        answers: what tools said before.

    Raises:
        UsageError: the requested provider does not exist, or the configuration is wrong.
        ToolchainError: nothing fits; the message holds the decision log.
    """
    configuration = configuration or read_configuration()
    asked_by = ""
    if requested == "auto":
        requested, asked_by = configuration.provider, configuration.origin("provider")
    if requested not in PROVIDER_NAMES:
        where = f" ({asked_by} asks for it)" if asked_by else ""
        raise UsageError(f"There is no provider '{requested}'{where}. The providers are {', '.join(PROVIDER_NAMES)}.")
    search = _Search(
        paths=paths or ToolPaths(),
        configuration=configuration,
        needs_link=needs_link or needs_relocatable_output,
        needs_relocatable_output=needs_relocatable_output,
        target=target,
        force=force or configuration.force,
        driver=driver,
        answers=answers,
    )
    if asked_by:
        search.decisions.append(Decision(f"provider {requested}", "usable", f"asked for by {asked_by}"))
    for provider, tools in search.candidates(requested):
        search.decisions.append(Decision(provider.name, "chosen", provider.identity))
        return Selection(provider, tuple(search.decisions), _warnings(tools, target), tools)
    raise ToolchainError(_nothing_fits(requested, search))


def _explain(decisions: Sequence[Decision]) -> str:
    return "\n".join(f"  {decision}" for decision in decisions)


def _nothing_fits(requested: str, search: _Search) -> str:
    what = "compile and link" if search.needs_link else "compile"
    wanted = "No provider" if requested == "auto" else f"The provider '{requested}' is not usable: nothing"
    held = f" for a driver of CUDA {search.driver[0]}.{search.driver[1]}" if search.driver else ""
    held = f" for {search.target}{held}" if search.target else held
    needs_12 = (search.driver and not can_load(search.driver, 13)) or (search.target and search.target.number < 75)
    extra = "cuda12" if needs_12 else "cuda13"
    assemblers = [tool for name in ("ptxas", "nvptxcompiler") for tool in search.found.get(name, [])]
    advice = (
        f"{assemblers[0]} compiles without a linker: write a bundle (a folder, a .zip, or --emit bundle), or for one "
        "linked file add nvJitLink or nvlink of its release or a newer one"
        if assemblers and search.needs_link
        else "Install NVIDIA's compilers"
    )
    return (
        f"{wanted} on this machine can {what} PTX{held}. {advice}: pip install 'parcubin[{extra}]', or set CUDA_PATH "
        f"to a CUDA toolkit. What was looked at:\n{_explain(search.decisions)}"
    )


def _warnings(tools: tuple[Tool, ...], target: Target | None) -> tuple[str, ...]:
    texts = [f"{tool} {issue.reason}." for tool in tools for issue in known_issues(tool.name, tool.version, target)]
    if len({tool.version.release for tool in tools}) > 1:
        texts.append(
            f"{' and '.join(map(str, tools))} are of different releases, so modules that are to be linked are compiled "
            "with -c, which costs registers. Install a linker of the assembler's release."
        )
    return tuple(texts)


_Candidate = tuple["CompilationProvider", tuple[Tool, ...]]


@dataclass
class _Search:
    """The state of one selection: what is needed, what was found so far, and the log of it.

    Tools are looked for one by one as the candidates ask for them, so that nothing is run, read or built for nothing.
    """

    paths: ToolPaths
    configuration: Configuration
    needs_link: bool
    needs_relocatable_output: bool
    target: Target | None
    force: bool
    driver: tuple[int, int] | None
    answers: Answers | None
    decisions: list[Decision] = field(default_factory=list)
    found: dict[str, list[Tool]] = field(default_factory=dict)
    searches: dict[str, Iterator[Tool]] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)

    def candidates(self, requested: str) -> Iterator[_Candidate]:
        """What may be used, preferred first."""
        by_name: dict[str, Callable[[], Iterator[_Candidate]]] = {
            "auto": self._auto,
            "subprocess": lambda: self._compiling_with("ptxas", ("nvlink",)),
            "nvptxcompiler": lambda: self._compiling_with("nvptxcompiler", ()),
            "nvjitlink": self._nvjitlink,
            "driver": self._driver,
            "subprocess+nvjitlink": lambda: self._linking_with("ptxas", ("nvJitLink",)),
            "nvptxcompiler+nvjitlink": lambda: self._linking_with("nvptxcompiler", ("nvJitLink",)),
            "deferred(nvjitlink)": self._deferred_nvjitlink,
            "deferred(driver)": self._deferred_driver,
        }
        return by_name[requested]()

    def _auto(self) -> Iterator[_Candidate]:
        yield from self._compiling_with("ptxas", ("nvJitLink", "nvlink"))
        yield from self._compiling_with("nvptxcompiler", ("nvJitLink",))
        yield from self._nvjitlink()
        if self.needs_link:
            yield from self._deferred_nvjitlink()
            yield from self._deferred_driver()
        else:
            yield from self._driver()

    def _compiling_with(self, assembler: ToolName, linkers: Sequence[ToolName]) -> Iterator[_Candidate]:
        if self.needs_link:
            yield from self._linking_with(assembler, linkers)
        else:
            for tool in self._tools(assembler):
                if provider := self._assembler(tool):
                    yield provider, (tool,)

    def _linking_with(self, assembler: ToolName, linkers: Sequence[ToolName]) -> Iterator[_Candidate]:
        if not linkers:
            self._reject(assembler, "it cannot link")
            return
        for tool in self._tools(assembler):
            for linker in self._linkers(tool, linkers):
                compiler = self._assembler(tool)
                if compiler is None:
                    break
                provider = _pair(compiler, tool, linker)
                if self._can_join(provider):
                    yield provider, (tool, linker)

    def _linkers(self, assembler: Tool, names: Sequence[ToolName]) -> Iterator[Tool]:
        """Linkers of the assembler's own release, which link its best code; then newer ones; never older ones."""
        for name in names:
            yield from (t for t in self._tools(name) if t.version.release == assembler.version.release)
        for name in names:
            for tool in self._tools(name):
                if tool.version.release < assembler.version.release:
                    self._reject(f"{tool} with {assembler}", "a linker must not be older than its assembler")
                elif tool.version.release > assembler.version.release:
                    yield tool

    def _nvjitlink(self) -> Iterator[_Candidate]:
        from parcubin.providers.nvjitlink import NvJitLinkProvider

        for library in self._tools("nvJitLink"):
            provider = NvJitLinkProvider(library)
            if self.needs_link and not provider.supports_compile_to_relocatable_module:
                self._reject(f"nvjitlink ({library})", "it makes relocatable modules from 13.2 on only")
            else:
                yield provider, (library,)

    def _deferred_nvjitlink(self) -> Iterator[_Candidate]:
        from parcubin.providers.deferred import DeferredProvider
        from parcubin.providers.nvjitlink import NvJitLinkProvider

        if self._is_forbidden("deferred"):
            return
        for library in self._tools("nvJitLink"):
            if NvJitLinkProvider(library).supports_compile_to_relocatable_module:
                self._reject(f"deferred(nvjitlink) ({library})", "it makes relocatable modules, so nothing is to defer")
                continue
            provider = DeferredProvider(NvJitLinkProvider(library))
            if self._can_join(provider):
                yield provider, (library,)

    def _driver(self) -> Iterator[_Candidate]:
        from parcubin.providers.driver import DriverProvider

        if self.needs_link:
            self._reject("driver", "it makes no relocatable modules, other than deferred")
        elif found := self._usable_driver():
            yield DriverProvider(found), ()

    def _deferred_driver(self) -> Iterator[_Candidate]:
        from parcubin.providers.deferred import DeferredProvider
        from parcubin.providers.driver import DriverProvider

        if not self._is_forbidden("deferred") and (found := self._usable_driver()):
            provider = DeferredProvider(DriverProvider(found))
            if self._can_join(provider):
                yield provider, ()

    def _usable_driver(self) -> DriverVersion | None:
        if self._is_forbidden("driver"):
            return None
        try:
            found = usable_driver()
        except ToolchainError as error:
            self._reject("driver", error.message)
            return None
        if self.driver and not can_load(self.driver, found.cuda[0]):
            self._reject(str(found), _too_new(found.cuda[0]))
            return None
        return found

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
        if self._is_forbidden(_PROVIDER_OF_TOOL[name]):
            return
        option = name.lower()
        path: str | None = getattr(self.paths, option)
        origin = "given explicitly"
        if path is None:
            path, origin = getattr(self.configuration.paths, option), self.configuration.origin(option)
        files = [file for component in _components(name, path) for file in find_all(component, path)]
        if not files:
            self._reject(name, "not found")
        for file in files:
            place = f"{file.path} ({origin or file.origin})"
            try:
                executable = name in ("ptxas", "nvlink")
                known = Tool.executable if executable else Tool.library
                tool = known(name, file.path, self.answers)
            except ToolchainError as error:
                self._reject(f"{name} at {place}", error.message)
                continue
            if fault := self._fault(tool):
                self._reject(f"{name} at {place}", fault)
            else:
                self.decisions.append(Decision(str(tool), "usable", place))
                yield tool

    def _assembler(self, tool: Tool) -> SubprocessProvider | NvPtxCompilerProvider | None:
        """The provider that compiles with a tool; of a static libnvptxcompiler, a shared one is built now."""
        if tool.name == "ptxas":
            from parcubin.providers.subprocess import SubprocessProvider

            return SubprocessProvider(tool)
        from parcubin.providers.nvptxcompiler import NvPtxCompilerProvider

        if not tool.path.endswith(".a"):
            return NvPtxCompilerProvider(tool)
        try:
            return NvPtxCompilerProvider(shared_nvptxcompiler(tool))
        except ToolchainError as error:
            self._reject(str(tool), error.message)
            return None

    def _fault(self, tool: Tool) -> str | None:
        for issue in known_issues(tool.name, tool.version, self.target):
            if issue.verdict == "refused":
                return f"{tool} {issue.reason}"
            if issue.verdict == "excluded" and not self.force:
                return f"{tool} {issue.reason}; it can be forced"
        if self.driver and not can_load(self.driver, tool.version.major):
            return f"{tool} {_too_new(tool.version.major)}"
        return None

    def _is_forbidden(self, provider: str) -> bool:
        if provider not in self.configuration.forbid:
            return False
        if provider not in self.forbidden:
            self.forbidden.add(provider)
            self._reject(provider, f"forbidden by {self.configuration.origin('forbid')}")
        return True

    def _reject(self, candidate: str, reason: str) -> None:
        self.decisions.append(Decision(candidate, "rejected", reason))


def _components(name: ToolName, path: str | None) -> tuple[Component, ...]:
    """What to look for: libnvptxcompiler comes in two forms, and a path says which."""
    if name != "nvptxcompiler":
        return (name,)
    if path is None:
        return ("nvptxcompiler", "nvptxcompiler_static")
    return ("nvptxcompiler_static",) if path.endswith(".a") else ("nvptxcompiler",)


def _pair(assembler: SubprocessProvider | NvPtxCompilerProvider, tool: Tool, linker: Tool) -> CompilationProvider:
    if linker.name == "nvlink":
        from parcubin.providers.subprocess import SubprocessProvider

        return SubprocessProvider(tool, linker)
    from parcubin.providers.composite import CompositeProvider
    from parcubin.providers.nvjitlink import NvJitLinkProvider

    return CompositeProvider(
        (assembler, NvJitLinkProvider(linker)),
        extensible_modules=linker.version.release == tool.version.release,
    )


def _too_new(major: int) -> str:
    return f"makes what only drivers of CUDA {major}.0 and later load"
