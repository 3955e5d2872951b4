"""Alignment of dynamic shared memory that several modules declare.

Of two declarations LLVM's linker (22) takes the first's alignment, whatever the other needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from parcubin.lower.source_text import Lines
from parcubin.split.llvm_global import Global

_DECLARATION = Lines(r"@.* = .*\bexternal .*\baddrspace\(3\) .*")
_LARGEST_NATURAL_ALIGNMENT = 16
"""Of all types that are no vectors, for declarations that say none."""


def with_largest_alignments(texts: Sequence[str]) -> list[str]:
    """Modules of LLVM IR in which all declarations of one name have the largest alignment among them.

    Args:
        texts: the modules, in the form in which LLVM prints one.
    """
    alignments: dict[str, set[int]] = defaultdict(set)
    for text in texts:
        for line in _DECLARATION.of(text):
            variable = Global.parse(line)
            alignments[variable.name].add(variable.alignment or _LARGEST_NATURAL_ALIGNMENT)
    largest = {name: max(found) for name, found in alignments.items() if len(found) > 1}
    if not largest:
        return list(texts)

    def aligned(line: str) -> str:
        variable = Global.parse(line)
        return variable.aligned_to(largest[variable.name]) if variable.name in largest else line

    return [_DECLARATION.replaced(text, aligned) for text in texts]
