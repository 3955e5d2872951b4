"""Asking a compiler which PTX it understands."""

from __future__ import annotations

from functools import lru_cache

from parcubin.errors import CompileError, ToolchainError
from parcubin.model import CompilationOptions, Ptx, Target
from parcubin.providers.interface import CompilationProvider
from parcubin.toolchain.logs import supported_ptx_version

_QUESTION = Ptx(".version 99.9\n.target sm_80\n.address_size 64\n", "the question for its PTX version")


@lru_cache
def ask_latest_ptx_isa_version(provider: CompilationProvider) -> int:
    """The newest version that a provider's compiler understands, 90 for 9.0; no version is a table's entry.

    A compiler that is given PTX of a version that does not exist yet answers with the one that it has.

    Raises:
        ToolchainError: it does not say.
    """
    try:
        provider.compile(Target("sm_80"), _QUESTION, CompilationOptions())
    except CompileError as error:
        if (version := supported_ptx_version(error.log)) is not None:
            return version
    raise ToolchainError(f"{provider.identity} does not say which PTX version it supports.")
