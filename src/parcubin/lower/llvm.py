"""LLVM, through llvmlite: parsing, printing and lowering. Runs in worker processes only, since LLVM can abort."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from parcubin.errors import InputError
from parcubin.lower.dialect import in_llvm_22
from parcubin.lower.libdevice import libdevice_functions
from parcubin.lower.targets import check_target
from parcubin.model import CompilationOptions, Target
from parcubin.split.llvm_global import Global
from parcubin.split.llvm_text import plain_name, symbols_in

TRIPLE = "nvptx64-nvidia-cuda"
BITCODE_MAGICS = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")

_PARSE_ERROR = re.compile(r"<string>:(\d+):\d+: error: (.*)")
_ALIAS = re.compile(r"^@.* = .*\balias ", re.M)
_POINTER_TO_SHARED = "ptr addrspace(3)"
_LOCAL = ("internal", "private")
_DISCARDABLE = ("linkonce_any", "linkonce_odr", "available_externally")
_FLUSH_TO_ZERO = '"denormal-fp-math-f32"="preserve-sign"'
_CALL_NUMBER = re.compile(r"(// callseq |\bprototype_)(\d+)(?=[, :;\n])")
_DEBUG_TARGET = re.compile(r"^(\.target [^\n]*), debug$", re.M)


@dataclass(frozen=True)
class LoweredShard:
    """PTX of one shard.

    Attributes:
        ptx: the text.
        seconds: CPU seconds of parse, optimize and emit.
    """

    ptx: str
    seconds: dict[str, float]


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def llvm_version() -> str:
    """The version of LLVM and of llvmlite, as it goes into reports."""
    import llvmlite

    return f"LLVM {'.'.join(map(str, _llvm().llvm_version_info))} (llvmlite {llvmlite.__version__})"


def start() -> None:
    """Loads LLVM, so that the first shard does not wait for it."""
    _llvm()


def print_module(source: bytes, name: str) -> str:
    """Parses textual LLVM IR or bitcode and prints it.

    Raises:
        InputError: LLVM cannot parse it, or the module does not verify; says the line where LLVM says one.
    """
    module = _parse(source, name)
    _verify(module, name)
    return str(module)


def lower(
    parts: Sequence[tuple[str, str]],
    *,
    target: Target,
    options: CompilationOptions,
    ptx_version: int,
    keep: Set[str],
    libdevice: Path | None,
    name: str,
) -> LoweredShard:
    """Lowers a shard to PTX.

    Args:
        parts: name and textual LLVM IR of one module for each input that the shard takes from; linked into one.
        target: the architecture.
        options: optimisation level, inlining threshold, flush-to-zero, debug info.
        ptx_version: PTX ISA version to emit, 90 for 9.0.
        keep: kernels and functions that stay visible; all others become internal, and so does shared memory.
        libdevice: NVIDIA's device library; None when it was not found.
        name: what messages call the shard.

    Raises:
        InputError: the IR does not parse or verify, does not define what must be kept, or needs libdevice and there
            is none.
        TargetUnsupportedError: LLVM does not know the target, or cannot emit PTX of that version for it.
    """
    llvm = _llvm()
    clock = time.process_time()
    seconds = {}
    machine = _target_machine(target, options.opt_level, ptx_version)
    module = _prepared(parts, str(machine.target_data), options, keep, libdevice, name)
    seconds["parse"] = time.process_time() - clock

    clock = time.process_time()
    tuning = llvm.create_pipeline_tuning_options(speed_level=options.opt_level)
    if options.inlining_threshold is not None:
        tuning.inlining_threshold = options.inlining_threshold
    builder = llvm.create_pass_builder(machine, tuning)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    for analyses in (passes, builder):
        analyses.close()  # before the module that they refer to
    seconds["optimize"] = time.process_time() - clock

    clock = time.process_time()
    ptx = _with_own_call_numbers(machine.emit_assembly(module))
    seconds["emit"] = time.process_time() - clock
    if not options.debug_info:
        # ptxas refuses to optimise what says `debug`, and LLVM says it for line tables too.
        ptx = _DEBUG_TARGET.sub(r"\1", ptx, count=1)
    return LoweredShard(ptx, seconds)


def print_shard(
    parts: Sequence[tuple[str, str]],
    *,
    target: Target,
    options: CompilationOptions,
    ptx_version: int,
    keep: Set[str],
    libdevice: Path | None,
    name: str,
) -> str:
    """The module that `lower` would optimise, as text. Arguments and errors are those of `lower`."""
    machine = _target_machine(target, options.opt_level, ptx_version)
    return str(_prepared(parts, str(machine.target_data), options, keep, libdevice, name))


def _prepared(
    parts: Sequence[tuple[str, str]],
    data_layout: str,
    options: CompilationOptions,
    keep: Set[str],
    libdevice: Path | None,
    name: str,
) -> Any:
    """One module of all parts with what they need of libdevice, in which only what is kept is visible."""
    context = _llvm().create_context()

    def parsed(text: str, what: str) -> Any:
        module = _parse_into(context, with_flush_to_zero(text) if options.flush_to_zero else text, what)
        module.triple, module.data_layout = TRIPLE, data_layout
        _make_visible(module, keep)
        return module

    module, *others = [parsed(text, part) for part, text in parts]
    _link(module, others, name)
    needed = frozenset(n for f in module.functions if f.is_declaration and (n := _name(f)).startswith("__nv_"))
    if needed:
        _link(module, [parsed(libdevice_functions(libdevice, needed, name), "libdevice")], name)
    defined = {_name(f) for f in module.functions if not f.is_declaration}
    if any(_ALIAS.search(text) for _, text in parts):
        text, aliases = _with_internal_aliases(module, keep)
        module = _parse_into(context, text, name)
        defined |= aliases
    if missing := sorted(keep - defined):
        raise InputError(f"{name} lacks {', '.join(missing)}.", kernels=missing)
    _make_internal(module, keep)
    _verify(module, name)
    return module


def _with_own_call_numbers(ptx: str) -> str:
    """Numbers calls from 0. LLVM counts them through the life of the process (NVPTXISelLowering.cpp,
    GlobalUniqueCallSite), in comments, which reach the CUBIN with the line tables, and in names of call prototypes."""
    numbers: dict[str, int] = {}
    return _CALL_NUMBER.sub(lambda m: f"{m[1]}{numbers.setdefault(m[2], len(numbers))}", ptx)


def with_flush_to_zero(text: str) -> str:
    """The module with single-precision denormals flushed: the function attribute that LLVM's NVPTX backend reads and
    the module flag that answers libdevice's `__nvvm_reflect("__CUDA_FTZ")` (LLVM, NVPTX usage guide)."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("define "):
            end = _parameters_end(line)
            rest = re.match(r"(?: (?:local_)?unnamed_addr)?(?: addrspace\(\d+\))?", line[end:])
            end += rest.end() if rest else 0
            line = f"{line[:end]} {_FLUSH_TO_ZERO}{line[end:]}"
        lines.append(line)
    # An attribute that the function has already, in its attribute group, would win.
    text = re.sub(r'"denormal-fp-math-f32"="[^"]*"', _FLUSH_TO_ZERO, "\n".join(lines))
    flag = '!{i32 4, !"nvvm-reflect-ftz", i32 1}'
    text, found = re.subn(r'!\{i32 \d+, !"nvvm-reflect-ftz", i32 \d+\}', flag, text)
    if found:
        return text
    last = max((int(n) for n in re.findall(r"^!(\d+) = ", text, re.M)), default=0)
    node = f"!{last + 1}"
    text, found = re.subn(r"^(!llvm\.module\.flags = !\{)(.+)\}$", rf"\1\2, {node}}}", text, flags=re.M)
    if not found:
        text = re.sub(r"^!llvm\.module\.flags = .*\n", "", text, flags=re.M) + f"!llvm.module.flags = !{{{node}}}\n"
    return f"{text}{node} = {flag}\n"


def _parameters_end(header: str) -> int:
    depth = 0
    name = re.search(r'@(?:"[^"]*"|[-\w$.]+)\(', header)
    assert name is not None
    for token in re.finditer(r'"[^"]*"|[()]', header[name.end() - 1 :]):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0:
            return name.end() - 1 + token.end()
    raise InputError(f"The parameters of a function do not end: {header[:120]}")


@cache
def _target_machine(target: Target, opt_level: int, ptx_version: int) -> Any:
    check_target(target, ptx_version, llvm_version())
    return (
        _llvm()
        .Target.from_triple(TRIPLE)
        .create_target_machine(cpu=target.name, features=f"+ptx{ptx_version}", opt=opt_level)
    )


def _make_visible(module: Any, keep: Set[str]) -> None:
    """Makes sure that LLVM neither renames nor drops what must stay."""
    for function in module.functions:
        if _name(function) in keep and not function.is_declaration:
            if function.linkage.name in _LOCAL:
                function.linkage = "external"
            elif function.linkage.name in _DISCARDABLE:
                function.linkage = "weak_odr"


def _make_internal(module: Any, keep: Set[str]) -> None:
    """Makes everything internal of which each shard has a copy: functions and shared memory."""
    for symbol in (*module.functions, *module.global_variables):
        if symbol.is_declaration or _name(symbol) in keep:
            continue
        if symbol.is_function or str(symbol.type) == _POINTER_TO_SHARED:
            symbol.visibility = "default"  # internal symbols may have no other
            symbol.linkage = "internal"


def _with_internal_aliases(module: Any, keep: Set[str]) -> tuple[str, frozenset[str]]:
    """The text of the module with all aliases internal but those that must stay, and the names of those. llvmlite gives
    no access to aliases. LLVM makes an alias as visible in PTX as what it names.

    Raises:
        InputError: an alias must stay that names what is internal.
    """
    lines = str(module).split("\n")
    kept: set[str] = set()
    for number, line in enumerate(lines):
        if _ALIAS.match(line):
            alias = Global.parse(line)
            name = plain_name(alias.name)
            if name in keep:
                kept.add(name)
                aliasees = {plain_name(symbol) for symbol in symbols_in(alias.rest)}
                if hidden := sorted(aliasees - keep):
                    raise InputError(
                        f"{name} cannot stay callable: it is an alias of {', '.join(hidden)}, which is internal, and PTX "
                        "has no such aliases. Make that external."
                    )
            lines[number] = alias.definition("external" if name in keep else "internal")
    return "\n".join(lines), frozenset(kept)


def _name(symbol: Any) -> str:
    """The symbol's name, without the `\\01` that says that an object file has it as it is; empty when it is not text,
    which no kernel's can be."""
    try:
        name: str = symbol.name
    except UnicodeDecodeError:
        return ""
    return name.removeprefix("\1")


def _parse(source: str | bytes, name: str) -> Any:
    """A module in a context of its own, so that nothing of one shard reaches another. The context lives as long as the
    module."""
    llvm = _llvm()
    return _parse_into(llvm.create_context(), source, name)


def _parse_into(context: Any, source: str | bytes, name: str) -> Any:
    llvm = _llvm()
    try:
        if isinstance(source, bytes) and source.startswith(BITCODE_MAGICS):
            return llvm.parse_bitcode(source, context)
        text = source if isinstance(source, str) else source.decode()
        try:
            return llvm.parse_assembly(text, context)
        except RuntimeError:
            if (translated := in_llvm_22(text)) == text:
                raise
            return llvm.parse_assembly(translated, context)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is neither bitcode nor text: {error}.", input_name=name) from None
    except RuntimeError as error:
        where = _PARSE_ERROR.search(str(error))
        line = int(where[1]) if where else None
        what = where[2] if where else str(error).split("\n", 1)[-1].strip()
        at = f" at line {line}" if line else ""
        raise InputError(
            f"{llvm_version()} cannot parse {name}{at}: {what}.", input_name=name, line=line, log=str(error)
        ) from None


def _link(module: Any, others: Sequence[Any], name: str) -> None:
    for other in others:
        try:
            module.link_in(other)
        except RuntimeError as error:
            raise InputError(f"The modules of {name} do not link: {error}", log=str(error)) from None


def _verify(module: Any, name: str) -> None:
    try:
        module.verify()
    except RuntimeError as error:
        what = str(error).strip().split("\n", 1)[0]
        raise InputError(f"{name} is not valid LLVM IR: {what}.", input_name=name, log=str(error)) from None
