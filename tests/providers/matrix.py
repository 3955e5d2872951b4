"""Which tests run with which providers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import pytest

from parcubin.errors import ToolchainError
from parcubin.providers.interface import CompilationProvider
from tests.providers.samples import Factory


class Matrix:
    """Providers by name, as far as this environment has what they need."""

    def __init__(self, factories: Mapping[str, Factory]) -> None:
        self._factories = factories

    def make(self, name: str) -> CompilationProvider:
        """A provider that no other test has used."""
        return self._factories[name]()

    @cached_property
    def _made(self) -> dict[str, CompilationProvider | str]:
        """Each provider, or why there is none."""
        made: dict[str, CompilationProvider | str] = {}
        for name, factory in sorted(self._factories.items()):
            try:
                made[name] = factory()
            except ToolchainError as error:
                made[name] = error.message
        return made

    def parametrize(self, metafunc: pytest.Metafunc) -> None:
        """Runs a test with every provider that has what its fixture is for; absent ones are listed once."""
        here = {name: p for name, p in self._made.items() if not isinstance(p, str)}
        linkers = {name: p for name, p in here.items() if p.supports_compile_and_link}
        module_linkers = {name for name, p in linkers.items() if p.supports_compile_to_relocatable_module}
        for fixture, names in (("provider", here), ("linker", linkers), ("module_linker", module_linkers)):
            if fixture in metafunc.fixturenames:
                metafunc.parametrize(fixture, sorted(names), indirect=True)
        if "provider_name" in metafunc.fixturenames:
            marks = {n: pytest.mark.skip(reason=p) for n, p in self._made.items() if isinstance(p, str)}
            metafunc.parametrize("provider_name", [pytest.param(n, marks=marks.get(n, ())) for n in self._made])
