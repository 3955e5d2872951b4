"""Alignment of dynamic shared memory that several modules declare.

Of two declarations LLVM's linker (22) takes the first's alignment, whatever the other needs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from parcubin.split.llvm_global import Global

_DECLARATION = re.compile(r"^@.* = .*\bexternal .*\baddrspace\(3\) .*", re.M)
_LARGEST_NATURAL_ALIGNMENT = 16
"""Of all types that are no vectors, for declarations that say none."""


def with_largest_alignments(texts: Sequence[str]) -> list[str]:
    """Modules of LLVM IR in which all declarations of one name have the largest alignment among them.

    Args:
        texts: the modules, in the form in which LLVM prints one.
    """
    alignments: dict[str, set[int]] = defaultdict(set)
    for text in texts:
        for line in _DECLARATION.findall(text):
            variable = Global.parse(line)
            alignments[variable.name].add(variable.alignment or _LARGEST_NATURAL_ALIGNMENT)
    largest = {name: max(found) for name, found in alignments.items() if len(found) > 1}
    if not largest:
        return list(texts)

    def aligned(line: re.Match[str]) -> str:
        variable = Global.parse(line[0])
        return variable.aligned_to(largest[variable.name]) if variable.name in largest else line[0]

    return [_DECLARATION.sub(aligned, text) for text in texts]
