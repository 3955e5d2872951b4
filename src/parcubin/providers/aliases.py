"""Aliases in PTX that is compiled the `-c` way.

nvlink and nvJitLink 13.5 fail ("Internal error: reference to deleted section") where the address of a function is kept
that has an alias and that no kernel reaches. `-ewp` modules and whole programs are right.
"""

from __future__ import annotations

import re

from parcubin.inspect.ptx import PtxSummary
from parcubin.ptx_syntax import alias, function_head, statements, without_comments


def with_aliases_resolved(text: str, summary: PtxSummary) -> str:
    """PTX without the local aliases of functions whose address is taken: what uses them names the functions. Lines keep
    their numbers.

    Args:
        text: PTX.
        summary: what it says about itself.
    """
    local = {f.name for f in summary.functions if f.linkage == "local"} & set(summary.aliases)
    if not local:
        return text
    data = text.encode("utf-8", "surrogateescape")
    heads = [(s, without_comments(data[s.start : s.body or s.end])) for s in statements(data)]
    taken = set(summary.address_taken)
    resolved = {
        names[0]: names[1]
        for _, head in heads
        if (names := alias(head)) and names[0] in local and not taken.isdisjoint(names)
    }
    if not resolved:
        return text
    prototypes = {f.name: f"{head};" for s, head in heads if s.body and (f := function_head(head))}
    pieces: list[bytes] = []
    position = 0
    known: set[str] = set()
    for statement, head in heads:
        function = function_head(head)
        name = function.name if function else (alias(head) or ("",))[0]
        if name in resolved:
            prototype = "" if resolved[name] in known else " ".join(prototypes[resolved[name]].split())
            lines = data.count(b"\n", statement.start, statement.end)
            pieces += [data[position : statement.start], prototype.encode(), b"\n" * lines]
            position = statement.end
        known.add(resolved.get(name, name))
    rest = b"".join([*pieces, data[position:]]).decode("utf-8", "surrogateescape")
    pattern = rf"(?<![\w$.%])(?:{'|'.join(map(re.escape, resolved))})(?![\w$.])"
    return re.sub(pattern, lambda m: resolved[m[0]], rest)
