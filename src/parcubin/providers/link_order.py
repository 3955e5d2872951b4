"""The order in which plain modules are linked.

A relocatable link (`nvlink -r`, and `nvJitLink -r` even of a single PTX) calls the dynamic shared memory of every
module `externsharedinstance`, whatever its name was, and the next link gives all of it the alignment that it has in the
first module (our measurement, 13.0 and 13.5).
"""

from __future__ import annotations

from collections.abc import Sequence

from parcubin.inspect.cubin import read_cubin
from parcubin.model import LinkInput, RelocatableKind, RelocatableModule


def largest_alignment_first(modules: Sequence[LinkInput]) -> list[LinkInput]:
    """Modules of a link with those in front whose dynamic shared memory has the largest alignment. Where a module is
    extensible the order stays, because it may have to be the first, and the others have names of their own."""
    if any(isinstance(m, RelocatableModule) and m.kind is not RelocatableKind.PLAIN for m in modules):
        return list(modules)
    return sorted(modules, key=_alignment, reverse=True)


def _alignment(module: LinkInput) -> int:
    if not isinstance(module, RelocatableModule):
        return 0
    info = read_cubin(module.cubin, module.name)
    return max((s.alignment or 0 for s in (*info.defined, *info.undefined) if s.kind == "shared"), default=0)
