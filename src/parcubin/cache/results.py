"""Results of jobs as entries, and entries as results.

What a CUBIN says itself is read from it again, so that it cannot disagree with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from parcubin.cache.entry import Entry
from parcubin.inspect.cubin import CubinKind, read_cubin
from parcubin.inspect.ptx import PtxFunction, PtxSummary, PtxVariable
from parcubin.model import Assembly, DeferredModule, Ptx, RelocatableKind, RelocatableModule
from parcubin.ptx_syntax import Linkage, Space
from parcubin.toolchain.logs import Diagnostic, Severity
from parcubin.workers.jobs import LinkResult, Module, ShardResult


@dataclass(frozen=True)
class LoweredPtx:
    """A shard's PTX and what it says of itself."""

    text: str
    summary: PtxSummary


def entry_of_ptx(ptx: LoweredPtx) -> Entry:
    return Entry({"summary": _summary_facts(ptx.summary)}, (_encoded(ptx.text),))


def read_ptx(entry: Entry) -> LoweredPtx:
    (text,) = entry.blobs
    return LoweredPtx(_decoded(text), _summary(entry.facts["summary"]))


def entry_of_shard(result: ShardResult) -> Entry:
    """A shard's compiled module with what its compiler said. Its PTX is another entry."""
    module = result.module
    assert module is not None
    facts: dict[str, Any] = {
        "summary": _summary_facts(result.summary),
        "warnings": [[d.severity, d.message, d.line, d.function] for d in result.warnings],
        "why_plain": result.why_plain,
    }
    if isinstance(module, DeferredModule):
        return Entry(facts | {"form": "deferred"}, (_encoded(module.ptx.text),))
    form = "assembly" if isinstance(module, Assembly) else module.kind.value
    return Entry(facts | {"form": form}, (module.cubin, _encoded(module.log)))


def read_shard(entry: Entry, name: str, ptx: Ptx | None) -> ShardResult:
    """The result of a shard's job.

    Args:
        entry: what `entry_of_shard` made.
        name: what messages call the shard.
        ptx: its PTX, where its source is LLVM IR.
    """
    facts, form = entry.facts, entry.facts["form"]
    summary = _summary(facts["summary"])
    module: Module
    helper_calls: dict[str, tuple[str, ...]] = {}
    kernels, variables = {}, {}
    if form == "deferred":
        (text,) = entry.blobs
        module = DeferredModule(Ptx(_decoded(text), name))
    else:
        cubin, log = entry.blobs
        info = read_cubin(cubin, name)
        _check(set(info.kernels) >= {kernel.name for kernel in summary.kernels})
        if form == "assembly":
            _check(info.kind is CubinKind.ASSEMBLY)
            module = Assembly(cubin, _decoded(log))
            kernels, variables = info.kernels, info.variables
        else:
            module = RelocatableModule(cubin, RelocatableKind(form), name, _decoded(log))
            if module.kind is RelocatableKind.EXTENSIBLE_WHOLE_PROGRAM:
                helper_calls = info.helper_calls
    return ShardResult(
        ptx=ptx,
        summary=summary,
        module=module,
        warnings=tuple(_diagnostic(*fields) for fields in facts["warnings"]),
        helper_calls=helper_calls,
        kernels=kernels,
        variables=variables,
        why_plain=_optional(str, facts["why_plain"]),
        seconds={},
    )


def entry_of_link(result: LinkResult) -> Entry:
    return Entry({"warning": result.warning}, (result.cubin, _encoded(result.log)))


def read_link(entry: Entry) -> LinkResult:
    cubin, log = entry.blobs
    info = read_cubin(cubin, "the linked output")
    return LinkResult(cubin, _decoded(log), info, {}, _optional(str, entry.facts["warning"]))


def entry_of_text(text: str) -> Entry:
    return Entry({}, (_encoded(text),))


def read_text(entry: Entry) -> str:
    (text,) = entry.blobs
    return _decoded(text)


def entry_of_versions(versions: tuple[int, str]) -> Entry:
    return Entry({"ptx": versions[0], "llvm": versions[1]})


def read_versions(entry: Entry) -> tuple[int, str]:
    return _as(int, entry.facts["ptx"]), _as(str, entry.facts["llvm"])


def _summary_facts(summary: PtxSummary) -> dict[str, Any]:
    return {
        "version": summary.version,
        "targets": summary.targets,
        "kernels": [[f.name, f.linkage] for f in summary.kernels],
        "functions": [[f.name, f.linkage] for f in summary.functions],
        "aliases": summary.aliases,
        "declared": summary.declared,
        "variables": [[v.name, v.space, v.linkage, v.size] for v in summary.variables],
        "externs": summary.externs,
        "has_const": summary.has_const,
        "indirect_calls": summary.indirect_calls,
        "address_taken": summary.address_taken,
    }


def _summary(facts: Mapping[str, Any]) -> PtxSummary:
    return PtxSummary(
        version=_as(int, facts["version"]),
        targets=_names(facts["targets"]),
        kernels=tuple(PtxFunction(_as(str, name), _linkage(linkage)) for name, linkage in facts["kernels"]),
        functions=tuple(PtxFunction(_as(str, name), _linkage(linkage)) for name, linkage in facts["functions"]),
        aliases=_names(facts["aliases"]),
        declared=_names(facts["declared"]),
        variables=tuple(
            PtxVariable(_as(str, name), cast("Space", _one_of(Space, space)), _linkage(linkage), _optional(int, size))
            for name, space, linkage, size in facts["variables"]
        ),
        externs=_names(facts["externs"]),
        has_const=_as(bool, facts["has_const"]),
        indirect_calls=_as(bool, facts["indirect_calls"]),
        address_taken=_names(facts["address_taken"]),
    )


def _diagnostic(severity: object, message: object, line: object, function: object) -> Diagnostic:
    return Diagnostic(
        cast("Severity", _one_of(Severity, severity)),
        _as(str, message),
        _optional(int, line),
        _optional(str, function),
    )


def _linkage(value: object) -> Linkage:
    return cast("Linkage", _one_of(Linkage, value))


def _one_of(kind: Any, value: object) -> object:
    _check(value in get_args(kind))
    return value


def _names(values: object) -> tuple[str, ...]:
    return tuple(_as(str, value) for value in _as(list, values))


def _as(kind: type[Any], value: object) -> Any:
    _check(type(value) is kind)
    return value


def _optional(kind: type[Any], value: object) -> Any:
    return None if value is None else _as(kind, value)


def _check(is_right: bool) -> None:
    if not is_right:
        raise ValueError("an entry does not say what it should")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
