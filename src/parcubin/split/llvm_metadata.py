"""The metadata of a module of LLVM IR."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

from parcubin.split.llvm_text import NAME, NotInPrintedFormError, symbols_in

_MOST_SYMBOLS = 5_000_000
"""Symbols that all nodes together may reach."""

_REFERENCE = re.compile(r'!\d+|"[^"]*"')
_DEBUG_NODE = re.compile(r"(?:distinct )?!DI")
_SYMBOL_OR_STRING = re.compile(rf'@({NAME})|"[^"]*"', re.A)
_ANNOTATED_KERNEL = re.compile(r'!"kernel", i\d+ (?!0\b)')


@dataclass(frozen=True)
class Metadata:
    """Numbered nodes and named metadata.

    Attributes:
        nodes: text of each numbered node.
        named: operands of each named metadata: nodes, or expressions that are spelled out.
    """

    nodes: Mapping[str, str]
    named: Mapping[str, tuple[str, ...]]
    _references: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def annotated_kernels(self) -> set[str]:
        """Kernels of `!{ptr @f, !"kernel", i32 1}` in `!nvvm.annotations` (NVPTX usage guide, older producers)."""
        annotations = (self.nodes.get(operand, "") for operand in self.named.get("!nvvm.annotations", ()))
        return {s for a in annotations if _ANNOTATED_KERNEL.search(a) for s in symbols_in(a)[:1]}

    def flags(self) -> list[str]:
        """Module flags."""
        return sorted(self.nodes.get(operand, operand) for operand in self.named.get("!llvm.module.flags", ()))

    def reachable(self, roots: Iterable[str]) -> set[str]:
        """Nodes that the given ones refer to, themselves included."""
        reached: set[str] = set()
        pending = [root for root in roots if root in self.nodes]
        while pending:
            node = pending.pop()
            if node not in reached:
                reached.add(node)
                pending.extend(self._references_of(node))
        return reached

    @cached_property
    def symbols(self) -> Mapping[str, frozenset[str]]:
        """For nodes that name symbols (`!callees`, `!associated`, annotations) or reach such nodes: the symbols. What
        debug info names is not among them, since debug info is as good without.

        Raises:
            NotInPrintedFormError: they are too many.
        """
        found: dict[str, set[str]] = {}
        for node, text in self.nodes.items():
            if "@" in text and not _DEBUG_NODE.match(text) and (names := symbols_in(text)):
                found[node] = set(names)
        if found:
            users: dict[str, list[str]] = defaultdict(list)
            for node in self.nodes:
                for reference in self._references_of(node):
                    users[reference].append(node)
            pending, left = list(found), _MOST_SYMBOLS
            while pending:
                node = pending.pop()
                for user in users[node]:
                    names_of_user = found.setdefault(user, set())
                    if new := found[node] - names_of_user:
                        names_of_user |= new
                        pending.append(user)
                        left -= len(new)
                        if left < 0:
                            raise NotInPrintedFormError("its metadata refers to too many symbols in too many ways")
        return {node: frozenset(names) for node, names in found.items()}

    def render(self, used: Set[str], held: Set[str]) -> list[str]:
        """What a part of the module needs, as lines.

        Args:
            used: nodes that the part's entities name.
            held: symbols that the part defines or declares.
        """
        reached = self.reachable(used)
        lines = []
        for name, operands in self.named.items():
            if name == "!llvm.dbg.cu":
                kept = [o for o in operands if o in reached]
                if not kept:
                    continue
            else:
                kept = [o for o in operands if held >= self.symbols.get(o, frozenset())]
                reached |= self.reachable(kept)
            lines.append(f"{name} = !{{{', '.join(kept)}}}")
        lines += [f"{node} = {self._node(node, held)}" for node in sorted(reached, key=lambda node: int(node[1:]))]
        return lines

    def _node(self, node: str, held: Set[str]) -> str:
        text = self.nodes[node]
        if "@" in text and _DEBUG_NODE.match(text):
            return _SYMBOL_OR_STRING.sub(lambda m: "poison" if m[1] and m[1] not in held else m[0], text)
        return text

    def _references_of(self, node: str) -> tuple[str, ...]:
        references = self._references.get(node)
        if references is None:
            references = tuple(m for m in _REFERENCE.findall(self.nodes[node]) if m[0] == "!" and m in self.nodes)
            self._references[node] = references
        return references
