"""What the inputs of a program refer to and do not define, found before a compiler is asked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from parcubin.inspect.ptx import SYSTEM_CALLS, is_of_device_runtime
from parcubin.inspect.unresolved import Use, uses_of
from parcubin.modules import Module
from parcubin.shards import ShardJob
from parcubin.sources import SourceKind
from parcubin.split.outline import Sharing, Symbol, SymbolKind
from parcubin.split.ptx import PtxOutline
from parcubin.workers.jobs import Lowering, ShardResult


@dataclass(frozen=True)
class References:
    """What may be missing, by the inputs' own words: optimisation may yet remove the use.

    Attributes:
        missing: PTX names of symbols that an input refers to and that are not linked with it.
        defined_in: those of them that another input defines, with its name.
    """

    missing: frozenset[str]
    defined_in: Mapping[str, str]
    modules: Sequence[Module] = field(repr=False)

    def suspects(self, jobs: Sequence[ShardJob]) -> list[ShardJob]:
        """The shards that mention something that may be missing."""
        if not self.missing:
            return []
        mention = re.compile("|".join(rf"(?<![\w$.]){re.escape(name)}(?![\w$.])" for name in sorted(self.missing)))
        return [job for job in jobs if any(mention.search(text) for text in _texts(job))]

    def uses(self, job: ShardJob, result: ShardResult) -> list[Use]:
        """What is missing from a shard, now that its PTX is known."""
        missing = self.missing.intersection(result.summary.externs)
        if not missing:
            return []
        uses = uses_of(missing, job.ptx(result).text, result.summary, job.job.name, self.defined_in)
        return [self._located(use) for use in uses]

    def _located(self, use: Use) -> Use:
        """With the line of the input that refers to the symbol first, where the input is text."""
        name = re.escape(use.symbol).encode()
        for module in self.modules:
            if isinstance(module.outline, PtxOutline):
                use_of_name = rb"^(?![^\n]*\.extern)[^\n]*(?<![\w$.%%])%s(?![\w$])" % name
            elif module.source.kind is SourceKind.LLVM_TEXT:
                use_of_name = rb'^(?!declare|;|@%s =)[^\n;]*@"?%s(?![\w$.])' % (name, name)
            else:
                continue
            if found := re.search(use_of_name, module.source.data, re.M):
                line = module.source.data.count(b"\n", 0, found.start()) + 1
                return replace(use, input_name=module.source.name, line=line)
        return use


def references(modules: Sequence[Module], *, linked: bool) -> References:
    """Compares what the inputs refer to with what they define.

    Args:
        modules: the inputs.
        linked: whether they are linked with each other, and with the device runtime. In a bundle, only inputs of one
            format find each other.
    """
    defined: dict[str, set[str]] = defaultdict(set)
    referred: dict[str, set[str]] = defaultdict(set)
    where: dict[str, str] = {}
    for module in modules:
        reach = "" if linked else module.outline.dialect
        own, others = _names(module)
        defined[reach] |= own
        referred[reach] |= others
        where |= dict.fromkeys(own, module.source.name)
    missing = set[str]().union(*(referred[reach] - defined[reach] for reach in referred)) - SYSTEM_CALLS
    if linked:
        missing = {name for name in missing if not is_of_device_runtime(name)}
    return References(frozenset(missing), {name: where[name] for name in missing if name in where}, modules)


def _names(module: Module) -> tuple[set[str], set[str]]:
    """What a module defines, and what it refers to without defining it, less what LLVM itself or libdevice provides."""
    outline = module.outline
    symbols = outline.symbols
    defined = {name for name, symbol in symbols.items() if symbol.defined}
    referred = frozenset[str]().union(*(symbols[name].references for name in defined)) - defined
    return (
        {outline.plain_name(name) for name in defined},
        {
            outline.plain_name(name)
            for name in referred
            if not name.startswith(("llvm.", "__nv_", "__nvvm_")) and not _is_shared_memory(symbols[name])
        },
    )


def _is_shared_memory(symbol: Symbol) -> bool:
    """Dynamic shared memory is declared and never defined."""
    return symbol.kind is SymbolKind.VARIABLE and symbol.sharing is Sharing.COPY


def _texts(job: ShardJob) -> Iterator[str]:
    source = job.job.source
    if isinstance(source, Lowering):
        yield from (part.text for part in source.parts)
    else:
        yield source.text
