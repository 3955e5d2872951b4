"""What `compile` takes, and what it makes of it."""

from __future__ import annotations

import gzip
import lzma
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import llvmlite.binding as llvm
import llvmlite.ir
import pytest

import parcubin
from parcubin.bundle import read_bundle
from parcubin.inspect.cubin import CubinKind, read_cubin
from parcubin.model import Emit
from parcubin.sources import Input
from tests.inspect.cuda_tools import Tools
from tests.pipeline.samples import CONSTANT_TABLES, HEADER, arithmetic_kernel, kernel, module

PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry from_ptx(.param .u64 p) { ret; }
"""


@pytest.fixture(scope="module")
def compiler() -> Iterator[parcubin.Compiler]:
    with parcubin.Compiler("sm_80", jobs=2) as compiler:
        yield compiler


def as_bitcode(text: str) -> bytes:
    bitcode: bytes = llvm.parse_assembly(text).as_bitcode()
    return bitcode


def as_llvmlite_ir(_: str) -> llvmlite.ir.Module:
    built = llvmlite.ir.Module(name="m")
    pointer = llvmlite.ir.PointerType()
    function = llvmlite.ir.Function(built, llvmlite.ir.FunctionType(llvmlite.ir.VoidType(), [pointer]), "k")
    function.calling_convention = "ptx_kernel"
    llvmlite.ir.IRBuilder(function.append_basic_block()).ret_void()
    return built


@pytest.mark.parametrize(
    "convert",
    [
        str,
        str.encode,
        as_bitcode,
        llvm.parse_assembly,
        as_llvmlite_ir,
        lambda text: gzip.compress(text.encode()),
        lambda text: lzma.compress(as_bitcode(text)),
        # Hand-written: indented, on few lines, with comments at odd places.
        lambda _: HEADER + "  define ptx_kernel void @k(ptr %p) { ; a comment with { and @k(\n ret void }",
        lambda text: text.replace("@k(", '@"k"('),
        lambda text: text.replace("\n", "\r\n"),
    ],
    ids=["str", "bytes", "bitcode", "ModuleRef", "llvmlite.ir", "gz", "xz", "by hand", "quotes", "crlf"],
)
def test_every_form_of_input(compiler: parcubin.Compiler, convert: Callable[[str], Input]) -> None:
    program = compiler.compile(convert(module(kernel("k"))))
    assert list(program.kernels) == ["k"]
    assert read_cubin(program.cubin).kernels.keys() == {"k"}


def test_content_decides_and_not_the_name(compiler: parcubin.Compiler, tmp_path: Path) -> None:
    files = {
        "a.ptx": as_bitcode(module(kernel("from_bitcode"))),
        "b.bc": PTX.encode(),
        "c": module(kernel("k")).encode(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    program = compiler.compile([tmp_path / name for name in files], output="cubin")
    assert set(program.kernels) == {"from_bitcode", "from_ptx", "k"}
    assert read_cubin(program.cubin).kind is CubinKind.ASSEMBLY


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of two or three small kernels."""
    monkeypatch.setattr("parcubin.split.grouping.MEAN_SHARD_COST", 400)


@pytest.mark.usefixtures("small_shards")
def test_several_shards_in_every_form_of_output(compiler: parcubin.Compiler, tmp_path: Path) -> None:
    names = [f"k{i}" for i in range(8)]
    text = module(*map(kernel, names))
    tools = Tools(tmp_path)

    bundle = compiler.compile(text)
    assert len(bundle.assemblies) == bundle.report.shards > 1
    with pytest.raises(parcubin.UsageError, match="link"):
        _ = bundle.cubin
    for path in (tmp_path / "bundle", tmp_path / "bundle.zip"):
        bundle.write(path)
        assert set(read_bundle(path).kernels) == set(names)

    linked = bundle.link()
    linked.write(tmp_path / "linked.cubin")
    assert (tmp_path / "linked.cubin").read_bytes() == linked.cubin
    assert set(tools.resource_usage(linked.cubin)) == set(names)
    assert linked.link() is linked

    ptx = compiler.compile(text, output="ptx")
    ptx.write(tmp_path / "ptx")
    parts = sorted((tmp_path / "ptx").iterdir())
    assert len(parts) == bundle.report.shards
    found = [name for part in parts for name in tools.resource_usage(tools.assemble(part.read_text(), "sm_80"))]
    assert sorted(found) == names
    whole = compiler.compile(text, output="ptx", split=False)
    assert len(whole.ptx) == 1
    whole.write(tmp_path / "whole.ptx")
    assert set(tools.resource_usage(tools.assemble((tmp_path / "whole.ptx").read_text(), "sm_80"))) == set(names)

    relocatable = compiler.compile(text, output="relocatable")
    assert read_cubin(relocatable.cubin).kind is CubinKind.PLAIN
    assert set(tools.resource_usage(tools.link([relocatable.cubin], "sm_80"))) == set(names)


def test_constants_and_counters_keep_one_definition(compiler: parcubin.Compiler) -> None:
    bundle = compiler.compile(CONSTANT_TABLES)
    assert len(bundle.assemblies) == 1, "kernels that share a variable stay together where nothing links them"
    assert set(bundle.variables) == {"table", "other", "counter"}
    linked = compiler.compile(CONSTANT_TABLES, output="cubin")
    assert set(linked.variables) == {"table", "other", "counter"}
    info = read_cubin(linked.cubin)
    assert sorted(s.name for s in info.defined if s.kind in ("constant", "global")) == ["counter", "other", "table"]


def test_device_functions_of_one_input_serve_another(compiler: parcubin.Compiler) -> None:
    library = module("define i32 @twice(i32 %x) {\n  %y = shl i32 %x, 1\n  ret i32 %y\n}\n")
    user = module("declare i32 @twice(i32)\n", kernel("k", "  %v = call i32 @twice(i32 21)\n  store i32 %v, ptr %p\n"))
    for output in ("bundle", "cubin"):
        assert list(compiler.compile([user, library], output=output).kernels) == ["k"]


def test_device_functions_of_ptx_serve_llvm_ir_in_a_link(compiler: parcubin.Compiler) -> None:
    library = """.version 7.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) twice(.param .b32 x)
{ .reg .b32 %a; ld.param.b32 %a, [x]; shl.b32 %a, %a, 1; st.param.b32 [r], %a; ret; }
"""
    user = module("declare i32 @twice(i32)\n", kernel("k", "  %v = call i32 @twice(i32 21)\n  store i32 %v, ptr %p\n"))
    assert "k" in compiler.compile([user, library], output="cubin").kernels


def test_relocatable_output_keeps_device_functions(compiler: parcubin.Compiler, tmp_path: Path) -> None:
    text = module("define i32 @twice(i32 %x) {\n  %y = shl i32 %x, 1\n  ret i32 %y\n}\n", kernel("k"))
    program = compiler.compile(text, output="relocatable")
    user = PTX.replace("from_ptx(.param .u64 p) { ret; }", "user(.param .u64 p)").replace(
        ".visible .entry",
        ".extern .func (.param .b32 r) twice(.param .b32 x);\n.visible .entry",
    )
    user += """{ .reg .b32 %a; .reg .b64 %p; ld.param.u64 %p, [p]; mov.b32 %a, 4;
{ .param .b32 x; .param .b32 r; st.param.b32 [x], %a; call.uni (r), twice, (x); ld.param.b32 %a, [r]; }
st.global.b32 [%p], %a; ret; }
"""
    tools = Tools(tmp_path)
    linked = tools.link([program.cubin, tools.assemble(user, "sm_80", "-c")], "sm_80")
    assert read_cubin(linked).kernels.keys() == {"k", "user"}


def test_options_reach_the_compilers(compiler: parcubin.Compiler) -> None:
    text = module(arithmetic_kernel("k", 50))
    plain = compiler.compile(text)
    debug = compiler.compile(text, options=parcubin.CompilationOptions(debug_info=True, opt_level=0))
    assert (debug.kernels["k"].code_bytes or 0) > (plain.kernels["k"].code_bytes or 0)
    limited = compiler.compile(text, options=parcubin.CompilationOptions(max_registers=24))
    assert (limited.kernels["k"].registers or 0) <= 24


def test_keep_writes_what_each_shard_went_through(compiler: parcubin.Compiler, tmp_path: Path) -> None:
    compiler.compile(module(kernel("k")), keep=tmp_path / "kept")
    assert {p.name for p in (tmp_path / "kept").iterdir()} == {"0000.ptx", "0000.cubin", "0000.log"}
    assert ".entry k" in (tmp_path / "kept" / "0000.ptx").read_text()


def test_threads_share_a_compiler(compiler: parcubin.Compiler) -> None:
    found: dict[int, list[str]] = {}

    def work(i: int) -> None:
        found[i] = list(compiler.compile(module(kernel(f"k{i}"))).kernels)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: [f"k{i}"] for i in range(8)}


HOSTS = {
    "a script without a main guard": "print(list(parcubin.compile(TEXT, 'sm_80').kernels))",
    "a daemonic child": (
        "import multiprocessing\n"
        "def child(): print(list(parcubin.compile(TEXT, 'sm_80').kernels), flush=True)\n"
        "p = multiprocessing.get_context('fork').Process(target=child, daemon=True); p.start(); p.join()"
    ),
    "a thread that ends before the compiler": (
        "import threading\nbox = []\n"
        "t = threading.Thread(target=lambda: box.append(parcubin.Compiler('sm_80', jobs=1))); t.start(); t.join()\n"
        "print(list(box[0].compile(TEXT).kernels))"
    ),
    "a forked child that makes its own compiler": (
        "import os\nc = parcubin.Compiler('sm_80', jobs=1)\n"
        "if os.fork() == 0:\n"
        "    try: c.compile(TEXT)\n"
        "    except parcubin.ParcubinError: parcubin.compile(TEXT, 'sm_80')\n"
        "    raise SystemExit\n"
        "os.wait(); print(list(c.compile(TEXT).kernels))"
    ),
    "a compiler that another thread closes": (
        "import threading\ndef close(event): threading.Thread(target=c.close).start()\n"
        "c = parcubin.Compiler('sm_80', jobs=1, progress=close)\n"
        "try: c.compile([TEXT.replace('@k', f'@k{i}') for i in range(50)], keep_going=True)\n"
        "except parcubin.ParcubinError as e: print(['k'] if 'closed' in str(e) else e)"
    ),
    "a compiler that is never closed": "c = parcubin.Compiler('sm_80', jobs=1); print(list(c.compile(TEXT).kernels))",
    "a working folder with modules of the standard library's names": (
        "open('llvmlite.py', 'w').write('raise SystemExit(9)')\nprint(list(parcubin.compile(TEXT, 'sm_80').kernels))"
    ),
}


@pytest.mark.parametrize("host", HOSTS)
def test_hosts(host: str, tmp_path: Path) -> None:
    script = f"import parcubin\nTEXT = {module(kernel('k'))!r}\n{HOSTS[host]}\n"
    (tmp_path / "host.py").write_text(script)
    (tmp_path / "work").mkdir()
    result = subprocess.run(
        [sys.executable, "../host.py"], cwd=tmp_path / "work", capture_output=True, text=True, timeout=120, check=False
    )
    assert result.stdout.strip() == "['k']", result.stderr
    assert result.stderr == ""
    assert result.returncode == 0


@pytest.mark.parametrize("output", ["bundle", "cubin"])
@pytest.mark.parametrize("other", ["ll", "ptx"])
def test_the_name_of_a_host_variable_is_nothing_else(output: Emit, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver finds local variables, too."""
    monkeypatch.setattr("parcubin.split.grouping.ALONE_COST", -1)
    use = "  %q = load i32, ptr addrspace(1) @v\n  store i32 %q, ptr %p\n"
    host = module("@v = addrspace(1) externally_initialized global i32 1\n", kernel("a", use))
    local = {
        "ll": module(
            "@v = internal addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4]\n",
            kernel("b", use + "  store i32 0, ptr addrspace(1) @v\n"),
        ),
        "ptx": ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .b8 v[16] = {1};\n"
        ".visible .entry b(.param .u64 p)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\n"
        "ld.global.u32 %r1, [v];\nst.global.u32 [%rd1], %r1;\nret;\n}\n",
    }[other]
    program = parcubin.compile([host, local], "sm_90", output=output)
    images = [a.cubin for a in program.assemblies] if output == "bundle" else [program.cubin]
    sizes = [info.variables["v"].size for info in map(read_cubin, images) if "v" in info.variables]
    assert sizes == [4]
    assert {name: v.size for name, v in program.variables.items()} == {"v": 4}
