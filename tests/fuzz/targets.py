"""What is fuzzed: readers of data that others wrote. Of arbitrary bytes each makes a result or a `ParcubinError`.

A target does what the program does with such data, and checks what can be checked without knowing the right answer.
"""

from __future__ import annotations

import ast
import functools
import gzip
import importlib.util
import io
import json
import lzma
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from parcubin.bundle import Bundle, read_bundle, write_bundle
from parcubin.compiler import Compiler
from parcubin.errors import CompilationTimeoutError, ParcubinError
from parcubin.inspect.checks import check_before_link
from parcubin.inspect.cubin import CubinInfo, read_cubin, section_places
from parcubin.inspect.debug_strings import with_own_strings
from parcubin.inspect.ptx import drop_debug_target, scan_ptx
from parcubin.inspect.shared_symbols import has_static_memory, with_alignments, with_weak_static_memory
from parcubin.inspect.unresolved import unresolved_error, uses_of
from parcubin.lower.dialect import in_llvm_22
from parcubin.model import Emit, Target
from parcubin.modules import Module
from parcubin.references import references
from parcubin.sources import Source, SourceKind, read_source
from parcubin.split.llvm_ir import LlvmOutline, NotInPrintedFormError, outline_llvm_ir
from parcubin.split.llvm_shard import LlvmPart
from parcubin.split.outline import SymbolKind
from parcubin.split.plan import PlanKind, plan_shards
from parcubin.split.ptx import PtxOutline, outline_ptx
from parcubin.split.ptx_shard import PtxPart, render_ptx
from parcubin.toolchain.locate import find
from parcubin.toolchain.logs import check_spills, crash, diagnostics, failure, warnings

ROOT = Path(__file__).resolve().parent.parent.parent
SEEDS = Path(__file__).resolve().parent / "seeds"
_PLANS: tuple[PlanKind, ...] = ("bundle", "link", "relocatable")
_LARGEST_SEED = 20_000


@dataclass(frozen=True)
class FuzzTarget:
    """One reader.

    Attributes:
        name: what the command line and the folders of inputs call it.
        check: reads the data; raises what is no `ParcubinError` when something is wrong with the reader.
        seeds: valid inputs to start from.
        tokens: words of the format, which mutations put in.
        blown_up: whether inputs of a megabyte are tried, too, for time that grows with the square of the length.
        guided: whether the reader runs in this process, where its coverage can be seen.
    """

    name: str
    check: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    tokens: tuple[bytes, ...] = ()
    blown_up: bool = True
    guided: bool = True


def _check_llvm_ir(data: bytes) -> None:
    try:
        text = data.decode()
        outline = outline_llvm_ir(text)
    except (UnicodeDecodeError, NotInPrintedFormError):
        return
    _check_plans(outline, Source("input", SourceKind.LLVM_TEXT, data))


def _check_ptx(data: bytes) -> None:
    outline = outline_ptx(data)
    _check_plans(outline, Source("input", SourceKind.PTX, data))
    text = data.decode("utf-8", "surrogateescape")
    drop_debug_target(text)
    summary = scan_ptx(text)
    if summary.externs:
        unresolved_error(uses_of(summary.externs, text, summary, "input"))


def _check_plans(outline: LlvmOutline | PtxOutline, source: Source) -> None:
    """Plans and writes all shards: every kernel is in one, and what a shard holds is in its text."""
    references([Module(source, outline)], linked=True)
    kernels = sorted(
        outline.plain_name(s.name) for s in outline.symbols.values() if s.defined and s.kind is SymbolKind.KERNEL
    )
    for kind in _PLANS:
        plan = plan_shards([outline], kind)
        if outline.whole_reason is None:
            assert sorted(kernel for shard in plan.shards for kernel in shard.kernels) == kernels, "a kernel is lost"
        for shard in plan.shards[:20]:
            (part,) = shard.parts
            rename = {n: new for n, new in plan.rename[0].items() if n in part.define | part.declare}
            if isinstance(outline, LlvmOutline):
                text = LlvmPart(outline, part.define, part.declare, rename).text
            else:
                text = render_ptx([PtxPart(outline, part.define, part.declare, rename)], set(shard.exports)).text
            for name in part.define:
                assert name in text or rename.get(name, name) in text, "a definition is lost"


def _check_log(data: bytes) -> None:
    log, _, ptx = data.decode("utf-8", "replace").partition("\0")
    diagnostics(log)
    warnings(log, ptx)
    for error in (
        failure(log, tool="ptxas", target=Target("sm_90a"), input_name="input", ptx=ptx),
        crash(log, tool="ptxas", status="SIGSEGV", input_name="input", ptx=ptx),
    ):
        assert isinstance(error, ParcubinError)
        assert len(error.message) < 10_000 + 2 * len(log)
    check_spills(log, "input")


def _check_cubin(data: bytes) -> None:
    info: CubinInfo | None = None
    for read in (
        lambda: section_places(data),
        lambda: with_alignments(data, {"s": 128}),
        lambda: with_weak_static_memory(data),
        lambda: has_static_memory(data),
        lambda: with_own_strings(data, [data, data]),
    ):
        try:
            read()
        except ParcubinError:
            continue
    info = read_cubin(data)
    check_before_link([("one", info), ("two", info)])


def _check_archive(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bundle.zip")
        path.write_bytes(data)
        _check_bundle(read_bundle(path))


def _check_index(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, cubin in _bundle().assemblies:
            Path(folder, name).write_bytes(cubin)
        Path(folder, "index.json").write_bytes(data)
        _check_bundle(read_bundle(folder))


def _check_bundle(bundle: Bundle) -> None:
    """A bundle that can be read is whole: its kernels are in its CUBINs, and it can be written and read again."""
    cubins = dict(bundle.assemblies)
    for kernel, file in bundle.kernel_files.items():
        assert kernel in read_cubin(cubins[file]).kernels
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(bundle, Path(folder, "again"))
        assert read_bundle(Path(folder, "again")) == bundle


def _check_literals(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    assert in_llvm_22(text).count("\n") == text.count("\n")


def _check_source(data: bytes) -> None:
    source = read_source(data)
    source.check_encoding()


def _check_compile(data: bytes) -> None:
    """Compiles a module split and whole: what compiles whole compiles split, with the same kernels."""
    output: Emit = "cubin" if len(data) % 2 else "bundle"
    split, error = _compiled(data, output, split=True)
    whole, _ = _compiled(data, output, split=False)
    if split is not None and whole is not None:
        assert split == whole, "a kernel is lost"
    if split is None and whole is not None and not isinstance(error, CompilationTimeoutError):
        raise AssertionError(f"it compiles whole, and split not: {error}")


def _compiled(data: bytes, output: Emit, *, split: bool) -> tuple[list[str] | None, ParcubinError | None]:
    """The kernels of the program, or the error."""
    try:
        program = _compiler().compile(data, output=output, split=split, timeout=10)
    except ParcubinError as error:
        if not error.message or "A worker failed" in error.message:
            raise AssertionError(f"a worker raised what it should not: {error.log}") from None
        return None, error
    return sorted(program.kernels), None


@functools.cache
def _compiler() -> Compiler:
    return Compiler("sm_90", jobs=1)


def _can_compile() -> bool:
    return importlib.util.find_spec("llvmlite") is not None and find("ptxas") is not None


def _small_modules() -> tuple[bytes, ...]:
    return tuple(text for text in (*_texts(".ll"), *_texts(".ptx")) if len(text) < 8000)


@functools.cache
def _texts(suffix: str) -> tuple[bytes, ...]:
    files = [
        *sorted((ROOT / "tests" / "gpu" / "cuda").glob(f"*{suffix}")),
        *sorted((ROOT / "tests" / "data").glob(f"*{suffix}")),
        *sorted(SEEDS.glob(f"*{suffix}")),
    ]
    return tuple(file.read_bytes() for file in files if file.stat().st_size <= _LARGEST_SEED)


@functools.cache
def _cubins() -> tuple[bytes, ...]:
    files = [*sorted((ROOT / "tests" / "data" / "cubin-abi7").glob("*.cubin")), *sorted(SEEDS.glob("*.cubin"))]
    return tuple(file.read_bytes() for file in files)


@functools.cache
def _bundle() -> Bundle:
    cubins = [file.read_bytes() for file in sorted(SEEDS.glob("*.assembly.cubin"))]
    program: Any = SimpleNamespace(
        target=Target("sm_90a"), assemblies=[SimpleNamespace(cubin=cubin) for cubin in cubins], kernels={}
    )
    return Bundle.of(program)


def _archives() -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(_bundle(), Path(folder, "bundle.zip"))
        return (Path(folder, "bundle.zip").read_bytes(),)


def _indices() -> tuple[bytes, ...]:
    (archive,) = _archives()
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        index = json.loads(file.read("index.json"))
    return json.dumps(index).encode(), json.dumps(index, indent=1).encode()


def _logs() -> tuple[bytes, ...]:
    """The logs in the tests that read logs, taken from their text, since pytest may not be there."""
    tree = ast.parse((ROOT / "tests" / "toolchain" / "test_logs.py").read_text())
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return tuple(text.encode() for text in texts if "\n" in text and ":" in text)


def _sources() -> Iterator[bytes]:
    small = min(_texts(".ll"), key=len)
    yield from (small, gzip.compress(small), lzma.compress(small), min(_texts(".ptx"), key=len))
    yield b"// parcubin deferred module 1\n.version 7.0\n"
    yield b"BC\xc0\xde"


_LLVM_TOKENS = (
    *b'@k @"a b" @"\\00" %t %"q" $c ! !0 !{ !"s" #0 "s" ; : { } ( ) [ ] , = " \\ \\22 .'.split(),
    *b"define declare ptx_kernel void internal linkonce_odr available_externally extern_weak weak common".split(),
    *b"external global constant alias ifunc comdat addrspace(3) addrspace(4) externally_initialized".split(),
    b"@llvm.used = appending global [1 x ptr] [ptr @k]",
    b'section "llvm.metadata"',
    b"call void asm ",
    b"call void %f()",
    b"!nvvm.annotations = !{!0}",
    b"!callees",
    b"distinct !DISubprogram(",
    b"uselistorder ",
    b"target triple = ",
    b"attributes #0 = { noinline }",
    b"%t = type { ptr }",
    b"label %b",
    b"\nb:",
    b"\n}\n",
    b"\n",
    b"\xc3\xa9",
)

_PTX_TOKENS = (
    *b".version .target .address_size .file .loc .section .pragma .visible .weak .common .extern .entry".split(),
    *b".func .global .const .shared .local .param .align .b8 .u32 .b64 .v4 .texref .alias".split(),
    *b".callprototype .calltargets .attribute(.managed) .debug_str function_name inlined_at".split(),
    *b'call call.uni { } ( ) [ ] , ; = " //'.split(),
    *b"debug sm_90a /* */ 0x1 0b1 1 U $str __unnamed_1 _$_ %r1 mov.u64 ret bra".split(),
    b"\n",
    b" ",
    b"\xff",
)

_LOG_TOKENS = (
    b"ptxas info    : ",
    b"ptxas error   : ",
    b"ptxas fatal   : ",
    b"nvlink warning : ",
    b"ptxas input.ptx, line 5; error   : ",
    b"Compiling entry function 'k' for 'sm_90a'",
    b"Function properties for k",
    b"0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads",
    b"Used 4 registers, used 1 barriers, 16 bytes smem",
    b"Unresolved extern function 'f'",
    b"Multiple definition of 'k' in 'a', first defined in 'b'",
    b"Entry function 'k' with max regcount of 24 calls function 'f' with regcount of 99",
    b"current version is '8.5'",
    b"99999999999999999999",
    b"\n",
    b"\r",
    b"\x0c",
    b"\0",
    b"'",
    b".entry k(",
    b".func (",
    b"@E@",
)

_LITERAL_TOKENS = (
    *b"half bfloat float double f0x f0x3F800000 +inf -inf +qnan -nan(0x1) +snan(0x1) 0x1p 1.5e".split(),
    *b'0x1.8p-3 e999999 1.000000e-03 p-99999 . " ; @ % 0 9 ( ) , <4 x'.split(),
    b"\n",
)

_NUMBERS = (b"\xff\xff\xff\xff", b"\0\0\0\0\0\0\0\x80", b"\xff" * 8, b"\0" * 8, b"\1\0", b"\x40\0\0\0\0\0\0\0")

_JSON_TOKENS = (
    *b'{ } [ ] , : "" null true -1 1e999 99999999999999999999 "kernels" "assembly" "assemblies" "file" "bytes"'.split(),
    b'"../x"',
    b'"\\ud800"',
    b'"\\u0000"',
)

TARGETS: dict[str, FuzzTarget] = {
    target.name: target
    for target in (
        FuzzTarget("llvm-outline", _check_llvm_ir, lambda: _texts(".ll"), _LLVM_TOKENS),
        FuzzTarget("ptx-outline", _check_ptx, lambda: _texts(".ptx"), _PTX_TOKENS),
        FuzzTarget("logs", _check_log, _logs, _LOG_TOKENS),
        FuzzTarget("cubin", _check_cubin, _cubins, _NUMBERS),
        FuzzTarget("bundle-archive", _check_archive, _archives, (*_NUMBERS, b"PK\1\2", b"PK\3\4", b"PK\5\6")),
        FuzzTarget("bundle-index", _check_index, _indices, _JSON_TOKENS),
        FuzzTarget("literals", _check_literals, lambda: tuple(t[:4000] for t in _texts(".literals")), _LITERAL_TOKENS),
        *(
            [FuzzTarget("compile", _check_compile, _small_modules, _LLVM_TOKENS + _PTX_TOKENS, False, False)]
            if _can_compile()
            else []
        ),
        FuzzTarget("sources", _check_source, lambda: tuple(_sources()), (*_NUMBERS, b"\x1f\x8b\x08", b";", b"/*")),
    )
}
