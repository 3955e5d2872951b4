"""What the results of all shards say together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from parcubin.errors import ParcubinError
from parcubin.model import Assembly, DeferredModule, Emit, KernelInfo, Ptx, RelocatableModule, VariableInfo
from parcubin.providers.selection import Selection
from parcubin.report.text import count
from parcubin.toolchain.logs import resource_usage, warnings
from parcubin.workers.jobs import CompileShard, LinkResult, Lowering, ShardResult

_EXPECTED_OF_NVLINK = "-ewp compiled objects should only link with"
"""What nvlink says when `-ewp` and `-c` modules meet, which is right (docs/correctness.md)."""

_KEPT_NAME = re.compile(r"\d{4,}\.(?:ptx|deferred|cubin|log)|failed-\d{4,}-\d+\.(?:ll|ptx)")


def kernel_infos(results: Sequence[ShardResult], link: LinkResult | None) -> dict[str, KernelInfo]:
    """Resource usage by kernel: from the final ELF, and spills from the compilers' logs."""
    spills: dict[str, int | None] = {}
    for log in (*(r.log for r in results), link.log if link else ""):
        usages = resource_usage(log).values()
        # The log does not say which kernels call a device function that spills.
        unknown = any(u.spill_store_bytes for u in usages if not u.is_kernel)
        spills |= {u.name: None if unknown else u.spill_store_bytes for u in usages if u.is_kernel}
    infos = link.info.kernels if link else {name: info for r in results for name, info in r.kernels.items()}
    return {name: replace(infos[name], spill_bytes=spills.get(name)) for name in sorted(infos)}


def variable_infos(results: Sequence[ShardResult], link: LinkResult | None) -> dict[str, VariableInfo]:
    """The variables that the host can name, by name."""
    infos = link.info.variables if link else {name: info for r in results for name, info in r.variables.items()}
    return {name: infos[name] for name in sorted(infos)}


def warnings_of(
    output: Emit, results: Sequence[ShardResult], link: LinkResult | None, selection: Selection | None
) -> tuple[str, ...]:
    """What the user should know of the output, each thing once."""
    found: list[str] = []
    if selection is not None:
        provider = selection.provider
        if output == "bundle" and not provider.compiles_whole_program:
            found.append(
                f"{provider.name} compiles every kernel as for a link, which costs registers where functions are "
                "called; ptxas and libnvptxcompiler do not."
            )
        if any(isinstance(r.module, DeferredModule) for r in results):
            found.append(f"{provider.name} cannot make relocatable modules, so the PTX was compiled at the link.")
    reasons: dict[str, int] = {}
    for result in results:
        if result.why_plain and result.summary.kernels and output == "cubin":
            reasons[result.why_plain] = reasons.get(result.why_plain, 0) + len(result.summary.kernels)
    found += [
        f"{count(number, 'kernel')} {'was' if number == 1 else 'were'} compiled with -c, which costs registers where "
        f"functions are called: {reason}."
        for reason, number in sorted(reasons.items())
    ]
    if callers := sorted(name for result in results for name in result.helper_calls):
        more = f" and {len(callers) - 3} more" if len(callers) > 3 else ""
        found.append(
            f"{count(len(callers), 'kernel')} {'calls' if len(callers) == 1 else 'call'} helper routines of ptxas, "
            f"which costs registers in a link before sm_90 and not in a bundle: {', '.join(callers[:3])}{more}."
        )
    for result in results:
        kernels = [k.name for k in result.summary.kernels]
        only = kernels[0] if len(kernels) == 1 else None
        found += [_attributed(d.message, d.function or only) for d in result.warnings]
    if link:
        found += [link.warning] if link.warning else []
        found += [
            _attributed(d.message, d.function) for d in warnings(link.log) if _EXPECTED_OF_NVLINK not in d.message
        ]
    return tuple(dict.fromkeys(found))


def is_kept(folder: Path) -> bool:
    """Whether a folder holds what `keep_shards` and `keep_failed_shards` write and nothing else."""
    return all(
        _KEPT_NAME.fullmatch(file.name) and file.is_file() and not file.is_symlink() for file in folder.iterdir()
    )


def keep_shards(folder: Path, shards: Iterable[tuple[Ptx, ShardResult]]) -> None:
    """Writes every shard's PTX, module and log to a folder, numbered in the order of the link.

    Raises:
        ParcubinError: they cannot be written.
    """
    for number, (ptx, result) in enumerate(shards):
        _keep(folder / f"{number:04}.ptx", ptx.text.encode())
        if isinstance(result.module, DeferredModule):
            _keep(folder / f"{number:04}.deferred", result.module.to_bytes())
        if isinstance(result.module, Assembly | RelocatableModule):
            _keep(folder / f"{number:04}.cubin", result.module.cubin)
            _keep(folder / f"{number:04}.log", result.log.encode())


def keep_failed_shards(folder: Path, jobs: Sequence[CompileShard]) -> None:
    """Writes the source of every shard that did not compile: what reproduces the failure.

    Raises:
        ParcubinError: they cannot be written.
    """
    for number, job in enumerate(jobs):
        is_llvm_ir = isinstance(job.source, Lowering)
        parts = job.source.parts if isinstance(job.source, Lowering) else (job.source,)
        for position, part in enumerate(parts):
            _keep(folder / f"failed-{number:04}-{position}.{'ll' if is_llvm_ir else 'ptx'}", part.text.encode())


def _keep(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise ParcubinError(f"Cannot write to {path.parent}: {error.strerror or error}.") from None


def _attributed(message: str, function: str | None) -> str:
    return f"{function}: {message}" if function and function not in message else message
