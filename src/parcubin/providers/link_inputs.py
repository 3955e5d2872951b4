"""What goes into a link."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from parcubin.model import (
    CompilationOptions,
    DeferredModule,
    DeviceLibrary,
    LinkInput,
    Ptx,
    RelocatableKind,
    RelocatableModule,
    Target,
)
from parcubin.providers.interface import CompilationProvider


def input_name(link_input: LinkInput) -> str:
    """What messages call a link input."""
    return link_input.ptx.name if isinstance(link_input, DeferredModule) else link_input.name


def undeferred(link_input: LinkInput) -> RelocatableModule | Ptx | DeviceLibrary:
    """A link input with its deferral undone."""
    return link_input.ptx if isinstance(link_input, DeferredModule) else link_input


def compile_link_inputs(
    provider: CompilationProvider, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions
) -> list[LinkInput]:
    """The inputs with the PTX among them compiled, in parallel; the `-c` way, which is right for any PTX."""

    def compiled(link_input: LinkInput) -> LinkInput:
        module = undeferred(link_input)
        if not isinstance(module, Ptx):
            return module
        return provider.compile_to_relocatable_module(target, module, options, RelocatableKind.PLAIN)

    if sum(isinstance(undeferred(i), Ptx) for i in inputs) < 2:
        return [compiled(i) for i in inputs]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(compiled, inputs))
