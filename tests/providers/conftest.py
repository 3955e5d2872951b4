"""Every provider that this environment can make."""

from __future__ import annotations

import pytest

from parcubin.providers.interface import CompilationProvider
from tests.providers.matrix import Matrix
from tests.providers.samples import FACTORIES, with_caching

MATRIX = Matrix(with_caching(FACTORIES))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    MATRIX.parametrize(metafunc)


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> CompilationProvider:
    """Each provider."""
    return MATRIX.make(request.param)


@pytest.fixture
def linker(request: pytest.FixtureRequest) -> CompilationProvider:
    """Each provider that links."""
    return MATRIX.make(request.param)


@pytest.fixture
def module_linker(request: pytest.FixtureRequest) -> CompilationProvider:
    """Each provider that makes relocatable modules and links them."""
    return MATRIX.make(request.param)
