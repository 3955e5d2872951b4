"""Checks around a link that the linkers do not make reliably themselves.

nvJitLink reports success when a symbol is defined twice or with two sizes, and both nvJitLink and nvlink drop, without
a word, inputs that are not relocatable (our measurements with 12.4 to 13.5). So the inputs are checked before a link,
and the output after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parcubin.errors import InputError, LinkCheckError, UnresolvedSymbolError
from parcubin.inspect.checks import check_after_link, check_before_link
from parcubin.inspect.cubin import Binding, CubinInfo, CubinKind, Symbol, SymbolKind, read_cubin
from parcubin.inspect.ptx import SYSTEM_CALLS, PtxSummary, scan_ptx
from parcubin.model import DeviceLibrary, KernelInfo, LinkInput, Ptx, RelocatableModule
from parcubin.providers.dynamic_alignment import check_alignments, dynamic_alignments, loses_alignment
from parcubin.providers.link_inputs import undeferred


def check_inputs(inputs: Sequence[LinkInput]) -> list[CubinInfo]:
    """What each input of a link defines and refers to.

    Raises:
        DuplicateSymbolError: two inputs define a symbol strongly.
        LinkCheckError: inputs disagree about a symbol.
        InputError: an input is not a relocatable module, or there is none.
        PtxSyntaxError: an input is not PTX at all.
    """
    if not inputs:
        raise InputError("There is nothing to link.")
    modules = [module for i in inputs if not isinstance(module := undeferred(i), DeviceLibrary)]
    if not modules:
        raise InputError("There is nothing to link but libraries.")
    infos = [_info(module) for module in modules]
    check_before_link([(module.name, info) for module, info in zip(modules, infos, strict=True)])
    return infos


def unresolved(inputs: Sequence[LinkInput], log: str) -> UnresolvedSymbolError | None:
    """The error for symbols that no input defines, for linkers whose log does not name them. None where libraries may
    define them."""
    modules = [undeferred(i) for i in inputs]
    if any(isinstance(module, DeviceLibrary) for module in modules):
        return None
    infos = [(module.name, _info(module)) for module in modules if not isinstance(module, DeviceLibrary)]
    known = SYSTEM_CALLS.union(s.name for _, info in infos for s in info.defined)
    missing: dict[str, str] = {}
    for where, info in infos:
        for name in sorted(s.name for s in info.undefined if s.name not in known and s.kind in ("function", "global")):
            missing.setdefault(name, where)
    if not missing:
        return None
    what = ", ".join(f"{name} (used in {where})" for name, where in missing.items())
    return UnresolvedSymbolError(f"Symbols are used that nothing defines: {what}.", symbols=list(missing), log=log)


def check_output(
    cubin: bytes, inputs: Sequence[CubinInfo], *, relocatable: bool, tool: str, release: tuple[int, int], log: str
) -> None:
    """Checks that a link's output is of the right type, holds every kernel that went in, and aligns dynamic shared
    memory.

    Raises:
        LinkCheckError: it does not.
    """
    wanted = CubinKind.PLAIN if relocatable else CubinKind.ASSEMBLY
    what = "a relocatable module" if relocatable else "a loadable CUBIN"
    try:
        info = read_cubin(cubin, "the linked output")
    except InputError as error:
        raise LinkCheckError(f"{tool} reported success but did not write {what}: {error}", log=log) from None
    if info.kind is not wanted:
        raise LinkCheckError(f"{tool} reported success but did not write {what}.", log=log)
    check_after_link(info, [k for i in inputs for k in i.kernels], [])
    if not relocatable and loses_alignment(release):
        check_alignments(info, inputs)


def _info(module: RelocatableModule | Ptx) -> CubinInfo:
    if isinstance(module, Ptx):
        return _ptx_info(scan_ptx(module.text, module.name), dynamic_alignments(module.text))
    info = read_cubin(module.cubin, module.name)
    if info.kind is CubinKind.ASSEMBLY:
        raise InputError(
            f"{module.name} is not a relocatable module: it was already linked and cannot be linked again.",
            input_name=module.name,
        )
    return info


def _ptx_info(summary: PtxSummary, dynamic: Mapping[str, int]) -> CubinInfo:
    """What PTX will define and refer to once it is compiled."""
    bindings: dict[str, Binding] = {"visible": "global", "weak": "weak", "common": "common", "local": "local"}
    spaces: dict[str, SymbolKind] = {"global": "global", "const": "constant", "shared": "shared"}
    return CubinInfo(
        kind=CubinKind.PLAIN,
        sm=0,
        kernels={k.name: KernelInfo(k.name, None, None, None, None, None) for k in summary.kernels},
        variables={},
        defined=(
            *(Symbol(k.name, "kernel", "weak" if k.linkage == "weak" else "global", 0) for k in summary.kernels),
            *(Symbol(f.name, "function", bindings[f.linkage], 0) for f in summary.functions),
            *(
                Symbol(v.name, spaces[v.space], bindings[v.linkage], v.size or 0)
                for v in summary.variables
                if v.linkage != "extern"
            ),
        ),
        undefined=(
            *(
                Symbol(name, "function", "global", 0)
                for name in summary.externs
                if name not in {v.name for v in summary.variables}
            ),
            *(Symbol(name, "shared", "global", 0, alignment) for name, alignment in dynamic.items()),
        ),
    )
