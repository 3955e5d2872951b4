"""Providers that take a GPU, and all others beside them."""

from __future__ import annotations

import pytest

from parcubin.providers.interface import CompilationProvider
from tests.providers.matrix import Matrix
from tests.providers.samples import DRIVER_FACTORIES, FACTORIES, with_caching

DRIVER = Matrix(with_caching(DRIVER_FACTORIES))
ALL = Matrix(FACTORIES | DRIVER_FACTORIES)


def matrix_of(module: str) -> Matrix:
    return DRIVER if module.endswith("test_conformance") else ALL


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    matrix_of(metafunc.module.__name__).parametrize(metafunc)


def made(request: pytest.FixtureRequest) -> CompilationProvider:
    return matrix_of(request.module.__name__).make(request.param)


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> CompilationProvider:
    """Each provider."""
    return made(request)


@pytest.fixture
def linker(request: pytest.FixtureRequest) -> CompilationProvider:
    """Each provider that links."""
    return made(request)


@pytest.fixture
def module_linker(request: pytest.FixtureRequest) -> CompilationProvider:
    """Each provider that makes relocatable modules and links them."""
    return made(request)
