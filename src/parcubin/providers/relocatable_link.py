"""Relocatable links (`nvlink -r`, `nvJitLink -r`) by releases that spoil static shared memory (our measurement).

Before 13.2 they resolve the addresses of static shared memory in plain modules for good, with a variable's alignment in
place of its offset: variables overlap, or lie outside of what the kernel has. `nvJitLink -r` of PTX does so too. Weak
variables they leave to the next link. Before 13.4 they lose the size of the shared memory of extensible modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parcubin.errors import UnavailableError
from parcubin.inspect.shared_symbols import has_static_memory, with_weak_static_memory
from parcubin.model import LinkInput, RelocatableKind, RelocatableModule
from parcubin.toolchain.version import Tool

_FIRST_RIGHT_RELEASE = (13, 2)
_FIRST_RIGHT_RELEASE_FOR_EXTENSIBLE_MODULES = (13, 4)


def resolves_shared_memory(release: tuple[int, int]) -> bool:
    """Whether a relocatable link of a release resolves the addresses of static shared memory."""
    return release < _FIRST_RIGHT_RELEASE


def joinable(inputs: Sequence[LinkInput], linker: Tool) -> list[LinkInput]:
    """The modules of a relocatable link in a form that the linker does not spoil.

    Raises:
        UnavailableError: an extensible module has static shared memory, and the linker would lose it.
    """
    return [_joinable(i, linker) if isinstance(i, RelocatableModule) else i for i in inputs]


def _joinable(module: RelocatableModule, linker: Tool) -> RelocatableModule:
    release = linker.version.release
    if module.kind is RelocatableKind.PLAIN:
        if not resolves_shared_memory(release):
            return module
        return replace(module, cubin=with_weak_static_memory(module.cubin))
    if release < _FIRST_RIGHT_RELEASE_FOR_EXTENSIBLE_MODULES and has_static_memory(module.cubin):
        raise UnavailableError(
            f"{linker} loses the shared memory of extensible modules such as {module.name} in a relocatable link. "
            "Compile it as a plain module, or use CUDA 13.4 or newer."
        )
    return module
