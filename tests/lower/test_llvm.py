"""Lowering of LLVM IR to PTX: options, targets, libdevice, and what becomes of LLVM's own failures."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from cuda.pathfinder import find_bitcode_lib

import parcubin
from parcubin.errors import InputError, InternalCompilerError, TargetUnsupportedError, UnresolvedSymbolError
from parcubin.lower.interface import Llvm
from parcubin.lower.libdevice import libdevice_functions, mentioned_in
from parcubin.lower.llvmlite import LlvmliteLlvm
from parcubin.lower.lowering import lower
from parcubin.lower.targets import FIRST_PTX_VERSIONS, LATEST_PTX_VERSION
from parcubin.model import CompilationOptions, Target
from parcubin.providers.subprocess import SubprocessProvider
from parcubin.toolchain.version import Tool, Version
from parcubin.workers.jobs import AskVersions
from tests.inspect.cuda_tools import Tools
from tests.split.samples import HEADER, call, function, kernel, load

LIBDEVICE = Path(find_bitcode_lib("device"))

lowering: Llvm = LlvmliteLlvm()


@pytest.fixture(autouse=True, params=["llvmlite", "external"])
def llvm_of_test(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test here is run with both."""
    if request.param == "external":
        external = request.getfixturevalue("external_llvm")
        monkeypatch.setitem(globals(), "lowering", external)
        monkeypatch.setenv("PARCUBIN_LLVM", external.tools.folder)


def ptx(
    *texts: str,
    keep: str = "k",
    target: str = "sm_90",
    ptx_version: int = 80,
    libdevice: Path | None = LIBDEVICE,
    options: CompilationOptions | None = None,
) -> str:
    """Lowers modules as one shard."""
    parts = [(f"part {number}", HEADER + text) for number, text in enumerate(texts)]
    return lower(
        lowering,
        parts,
        target=Target(target),
        options=options or CompilationOptions(),
        ptx_version=ptx_version,
        keep=frozenset(keep.split()),
        libdevice=libdevice_functions(libdevice, mentioned_in("".join(texts).encode()), lowering)
        if libdevice
        else None,
        name="the shard",
    ).ptx


@pytest.mark.parametrize(("version", "target"), [(80, "sm_90"), (90, "sm_120f"), (70, "sm_80")])
def test_target_and_version(version: int, target: str) -> None:
    text = ptx(kernel("k"), target=target, ptx_version=version)
    assert re.search(rf"^\.version {version // 10}\.{version % 10}\n\.target {target}\n", text, re.M)


ARITHMETIC = kernel(
    "k",
    "  %x = load float, ptr %p\n  %y = fadd float %x, 1.0\n  %z = fdiv float %y, %x\n  store float %z, ptr %p\n",
)


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize(
    "attributes",
    ["", '#0 = { "denormal-fp-math-f32"="ieee" }', '#0 = { "denormal-fp-math-f32"="ieee,ieee" nounwind }'],
)
def test_flush_to_zero(level: int, attributes: str) -> None:
    text = ARITHMETIC.replace(") {", ") #0 {") + f"attributes {attributes}\n" if attributes else ARITHMETIC
    options = CompilationOptions(opt_level=level, flush_to_zero=True)
    assert re.findall(r"\b(?:add|div)\.\S*", ptx(text, options=options)) == ["add.rn.ftz.f32", "div.rn.ftz.f32"]
    kept = ptx(text, options=CompilationOptions(opt_level=level))
    assert re.findall(r"\b(?:add|div)\.\S*", kept) == ["add.rn.f32", "div.rn.f32"]


def test_flush_to_zero_whatever_the_header_holds() -> None:
    header = (
        'define internal float @"f (x) {"(float %x, ptr align 4 "a(b" %p) local_unnamed_addr addrspace(0) #0 '
        'section "s (" align 8 {'
    )
    text = header + "\n  %y = fadd float %x, 1.0\n  ret float %y\n}\n\nattributes #0 = { noinline }\n"
    text += kernel(
        "k", '  %x = load float, ptr %p\n  %y = call float @"f (x) {"(float %x, ptr %p)\n  store float %y, ptr %p\n'
    )
    assert "add.rn.ftz.f32" in ptx(text, options=CompilationOptions(flush_to_zero=True))


REFLECT = (
    '@name = private unnamed_addr addrspace(1) constant [11 x i8] c"__CUDA_FTZ\\00"\n'
    '@arch = private unnamed_addr addrspace(1) constant [12 x i8] c"__CUDA_ARCH\\00"\n'
    "declare i32 @__nvvm_reflect(ptr)\n"
    + kernel(
        "k",
        "  %f = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(1) @name to ptr))\n"
        "  %a = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(1) @arch to ptr))\n"
        "  store volatile i32 %f, ptr %p\n  store volatile i32 %a, ptr %p\n",
    )
)


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize(
    "flag",
    [
        "",
        '!llvm.module.flags = !{!0}\n!0 = !{i32 4, !"nvvm-reflect-ftz", i32 0}\n',
        '!llvm.module.flags = !{!1}\n!1 = !{i32 1, !"other", i32 5}\n',
        "!llvm.module.flags = !{}\n",
    ],
)
def test_reflection(level: int, flag: str) -> None:
    for flush in (False, True):
        text = ptx(REFLECT + flag, options=CompilationOptions(opt_level=level, flush_to_zero=flush))
        assert "__nvvm_reflect" not in text.split(".visible .entry")[1]
        assert re.findall(r"st\.volatile\S* \t\[%\w+\], (\d+);", text) == [str(int(flush)), "900"]


def test_libdevice_follows_flush_to_zero() -> None:
    text = "declare float @__nv_logf(float)\n" + kernel(
        "k", "  %x = load float, ptr %p\n  %y = call float @__nv_logf(float %x)\n  store float %y, ptr %p\n"
    )
    assert ".ftz" not in ptx(text)
    flushed = ptx(text, options=CompilationOptions(flush_to_zero=True))
    assert re.search(r"\bfma\.rn\.ftz\.f32", flushed)
    assert not re.search(r"\b(?:fma|mul|add)(?:\.rn)?\.f32", flushed)


def test_only_what_is_needed_of_libdevice_is_linked() -> None:
    text = "declare double @__nv_sin(double)\n" + kernel(
        "k", "  %x = load double, ptr %p\n  %y = call double @__nv_sin(double %x)\n  store double %y, ptr %p\n"
    )
    lowered = ptx(text, options=CompilationOptions(opt_level=0))
    assert set(re.findall(r"\.func .*?(__\w+)", lowered, re.S)) <= {"__nv_sin", "__internal_trig_reduction_slowpathd"}
    assert "__cudart_sin_cos_coeffs" in lowered
    assert "__cudart_i2opi_f" not in lowered


def test_functions_of_libdevice_have_addresses() -> None:
    text = "declare float @__nv_sinf(float)\n" + kernel("k", "  store ptr @__nv_sinf, ptr %p\n")
    assert re.search(r"\.func +\(.*?\) __nv_sinf\(", ptx(text), re.S)


def test_what_libdevice_lacks_is_named() -> None:
    text = "declare float @__nv_unheard_of(float)\n" + kernel("k", "  %y = call float @__nv_unheard_of(float 1.0)\n")
    with pytest.raises(
        UnresolvedSymbolError, match=r"the shard calls __nv_unheard_of, which libdevice lacks"
    ) as caught:
        ptx(text)
    assert caught.value.symbols == ("__nv_unheard_of",)
    with pytest.raises(InputError, match=r"no libdevice\.10\.bc was found"):
        ptx(text, libdevice=None)


@pytest.mark.parametrize(
    ("threshold", "inlined"), [(0, False), (225, True), (None, True), (275, True), (1 << 20, True)]
)
def test_inlining_threshold(threshold: int | None, inlined: bool) -> None:
    """llvmlite 0.50 takes the lowest eight bits of it: 19 of 275, and none of 2 to the 20th."""
    stores = "  store volatile i32 %x, ptr @v\n" * 600
    text = (
        f"@v = global i32 0\n{function('f', body=f'{stores}  ret i32 %x', words='')}{call('k', '@f')}{call('l', '@f')}"
    )
    lowered = ptx(text, keep="k l", options=CompilationOptions(inlining_threshold=threshold))
    assert ("call.uni" not in lowered) is inlined


def test_optimisation_levels() -> None:
    text = function("f", words="") + call("k", "@f")
    assert "call" in ptx(text, options=CompilationOptions(opt_level=0))
    for level in (1, 2, 3):
        assert "call" not in ptx(text, options=CompilationOptions(opt_level=level))


def test_what_is_not_kept_is_internal_whatever_it_was() -> None:
    linkages = ("", "hidden", "protected", "weak", "weak_odr", "linkonce_odr", "available_externally", "internal")
    text = "".join(function(f"f{n}", n + 3, linkage=linkage) for n, linkage in enumerate(linkages))
    text += "@a = alias i32 (i32), ptr @f0\n@w = weak alias i32 (i32), ptr @f3\n"
    text += "@s = hidden addrspace(3) global [4 x i32] undef\n"
    calls = "".join(
        f"  %v{n} = call i32 @{callee}(i32 %x)\n  store volatile i32 %v{n}, ptr %p\n"
        for n, callee in enumerate((*(f"f{n}" for n in range(len(linkages))), "a", "w"))
    )
    lowered = ptx(text + kernel("k", f"  %x = load volatile i32, ptr addrspace(3) @s\n{calls}"))
    assert re.findall(r"^\.(?:visible|weak).*", lowered, re.M) == [".visible .entry k("]
    assert len(set(re.findall(r"call\.uni \(retval0\), (\w+)", lowered))) == len(linkages)
    assert ".shared" in lowered


@pytest.mark.parametrize("linkage", ["internal", "private", "linkonce", "linkonce_odr", "weak", "hidden"])
def test_what_is_kept_is_there(linkage: str) -> None:
    lowered = ptx(kernel("k", words=f"{linkage} ") + function("f", linkage=linkage), keep="k f")
    assert re.search(r"^\.(?:visible|weak) \.entry k\(", lowered, re.M)
    assert re.search(r"^\.(?:visible|weak) \.func .*f\(", lowered, re.M)


def test_aliases_that_are_kept() -> None:
    text = (
        kernel("k") + function("f", linkage="") + "@a = hidden alias i32 (i32), ptr @f\n@b = alias i32 (i32), ptr @f\n"
    )
    lowered = ptx(text, keep="k f a")
    assert re.search(r"^\.visible \.func .* a$", lowered, re.M)
    assert re.findall(r"^\.alias .*", lowered, re.M) == [".alias a, f;"]
    with pytest.raises(InputError, match="a cannot stay callable: it is an alias of f, which is internal"):
        ptx(text, keep="k a")


def test_what_must_be_kept_and_is_missing_is_an_error() -> None:
    with pytest.raises(InputError, match="the shard lacks unheard_of") as caught:
        ptx(kernel("k"), keep="k unheard_of")
    assert caught.value.kernels == ("unheard_of",)


def test_several_parts_are_linked() -> None:
    text = ptx("declare i32 @f(i32)\n" + call("k", "@f"), function("f", 5, linkage=""))
    assert re.search(r"mul\.lo\.s32|mul\.lo\.b32|mad", text)
    assert "extern" not in text


@pytest.mark.parametrize(
    ("declarations", "alignment"),
    [
        (("[0 x i8], align 4", "[0 x i32], align 128"), 128),
        (("[0 x i8], align 128", "[0 x i8], align 4"), 128),
        (("[0 x i8], align 4", "[0 x { i64, i64 }]", "[0 x i8], align 8"), 16),
        (("[0 x i8], align 2", "[0 x i8], align 2"), 2),
    ],
)
def test_dynamic_shared_memory_has_the_alignment_that_any_part_needs(
    declarations: tuple[str, ...], alignment: int
) -> None:
    """LLVM's linker takes the first's."""
    parts = [
        f"@memory = external addrspace(3) global {declaration}\n" + load(f"k{number}", "@memory", 3)
        for number, declaration in enumerate(declarations)
    ]
    text = ptx(*parts, keep=" ".join(f"k{number}" for number in range(len(parts))))
    assert re.findall(r"\.extern \.shared \.align (\d+) \.b8 memory\[\];", text) == [str(alignment)]


@pytest.mark.parametrize(
    "header", ["", 'target datalayout = "e-i64:32-i128:32"\ntarget triple = "nvptx64-nvidia-gpulibs"\n']
)
def test_data_layout_and_triple_are_those_of_the_target(header: str) -> None:
    parts = [("one", header + kernel("k")), ("two", header + kernel("l"))]
    for texts in (parts, parts[:1]):
        linked = lowering.link(texts, "the shard")
        layout = re.search(r'^target datalayout = "(.*)"$', linked, re.M)
        assert layout is not None
        assert "i128:128" in layout[1]
        assert 'target triple = "nvptx64-nvidia-cuda"' in linked


def test_parts_that_do_not_link_are_an_error() -> None:
    with pytest.raises(InputError, match="symbol multiply defined"):
        ptx(kernel("k"), kernel("k"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (kernel("k").replace("ret void", "ret i32 1"), "part 0 at line .*: value doesn't match function result type"),
        (kernel("k").replace("  ret void\n", ""), "part 0 at line 5: function body requires at least one basic block"),
        (kernel("k") + "\n\0" + kernel("l"), "part 0 at line 9: there is a NUL character"),
        ("@v = internal global i32 0, align 3\n" + kernel("k"), "part 0 at line 4: alignment is not a power of two"),
        (
            kernel("k", "  %a = add i32 %b, 1\n  %b = add i32 %a, 1\n"),
            "the shard is not valid LLVM IR: Instruction does not",
        ),
    ],
)
def test_what_llvm_does_not_take_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ptx(text)


def test_a_failure_leaves_nothing_that_crashes_later() -> None:
    """LLVM crashes when a context is dropped before its modules, and the garbage collector knows no order."""
    for _ in range(20):
        with pytest.raises(InputError):
            ptx(kernel("k"), "@v = internal global i32 0, align 3\n")
        with pytest.raises(InputError):
            ptx(kernel("k"), kernel("k"))
        gc.collect()


def test_line_tables_are_no_reason_to_debug(debug_info: str) -> None:
    body = debug_info.partition("\n")[2]
    plain = ptx(body, keep="first second")
    assert ".target sm_90\n" in plain
    assert ".loc\t" in plain
    assert ".target sm_90, debug\n" in ptx(body, keep="first second", options=CompilationOptions(debug_info=True))


def test_debug_info_is_what_ptxas_takes(debug_info: str, tmp_path: Path) -> None:
    text = ptx(
        debug_info.partition("\n")[2], keep="first second", options=CompilationOptions(debug_info=True, opt_level=0)
    )
    cubin = Tools(tmp_path).assemble(text, "sm_90", "-g")
    (tmp_path / "debug.cubin").write_bytes(cubin)
    assert "DW_AT_name" in Tools(tmp_path).run("nvdisasm", "-g", "debug.cubin") or b"counter@x" in cubin


class NewerToolchain(SubprocessProvider):
    def latest_ptx_isa_version(self) -> int:
        return 999


def test_the_ptx_version_is_one_that_llvm_knows() -> None:
    """LLVM answers a version that it does not know with an old one."""
    newer = NewerToolchain(Tool("ptxas", "/nowhere/ptxas", Version(14, 0, 0)))
    newest, _ = AskVersions(newer, lowering).run()
    assert newest >= LATEST_PTX_VERSION
    directives = [f".version {version // 10}.{version % 10}\n" for version in (newest, newest + 5)]
    written = [ptx(kernel("k"), ptx_version=version) for version in (newest, newest + 5)]
    assert [d in text for d, text in zip(directives, written, strict=True)] == [True, False]


class TestTargets:
    def test_unknown_to_llvm(self) -> None:
        with pytest.raises(TargetUnsupportedError, match=r"LLVM \d+.* does not know the target sm_95.* sm_\d+f"):
            ptx(kernel("k"), target="sm_95")

    @pytest.mark.parametrize(
        ("target", "version", "needed"), [("sm_103", 86, "8.8"), ("sm_90a", 78, "8.0"), ("sm_88", 88, "9.0")]
    )
    def test_too_new_for_the_toolchains_ptx(self, target: str, version: int, needed: str) -> None:
        with pytest.raises(TargetUnsupportedError, match=rf"{target} needs PTX ISA {needed}"):
            ptx(kernel("k"), target=target, ptx_version=version)

    def test_the_table_is_that_of_llvm(self) -> None:
        """LLVM ends the process where the version is too old, so each answer takes a process: a few targets do."""
        script = (
            "import sys, llvmlite.binding as llvm; llvm.initialize_all_targets(); llvm.initialize_all_asmprinters()\n"
            "m = llvm.parse_assembly('target triple = \"nvptx64-nvidia-cuda\"\\ndefine void @f() { ret void }')\n"
            "t = llvm.Target.from_triple('nvptx64-nvidia-cuda')\n"
            "for cpu, ptx in zip(sys.argv[1::2], sys.argv[2::2]):\n"
            "    words = t.create_target_machine(cpu=cpu, features='+ptx' + ptx).emit_assembly(m).split()\n"
            "    print(words[words.index('.version') + 1], words[words.index('.target') + 1])\n"
        )
        arguments = [argument for name, first in FIRST_PTX_VERSIONS.items() for argument in (name, str(first))]
        run = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
        assert "not a recognized" not in run.stderr
        expected = [f"{first // 10}.{first % 10} {name}" for name, first in FIRST_PTX_VERSIONS.items()]
        assert run.stdout.splitlines() == expected
        for name, before in (("sm_90a", 78), ("sm_103", 87), ("sm_110", 88), ("sm_120", 86)):
            run = subprocess.run([sys.executable, "-c", script, name, str(before)], capture_output=True, text=True)
            assert "does not support target" in run.stderr

    def test_all_in_the_table_pass(self) -> None:
        for name in FIRST_PTX_VERSIONS:
            lowering.check_target(Target(name), LATEST_PTX_VERSION)


def test_printing() -> None:
    text = lowering.print_module(b"define void @f() { ret void }", "input")
    assert "define void @f() {\n  ret void\n}\n" in text
    module = llvm.parse_assembly("define void @f() { ret void }", llvm.create_context())
    assert "define void @f() {\n  ret void\n}\n" in lowering.print_module(module.as_bitcode(), "input")
    with pytest.raises(InputError, match="cannot parse input at line 2: expected"):
        lowering.print_module(b"\ndefine void f() { ret void }", "input")
    with pytest.raises(InputError, match="neither bitcode nor text"):
        lowering.print_module(b"\xff\xfe", "input")


UNSELECTABLE = kernel(
    "bad", "  %x = load fp128, ptr %p\n  %y = call fp128 @llvm.sqrt.f128(fp128 %x)\n  store fp128 %y, ptr %p\n"
)


def test_what_llvm_cannot_select_is_the_kernels_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM ends the process, which only a worker survives."""
    text = HEADER + kernel("good") + UNSELECTABLE + kernel("other") + "declare fp128 @llvm.sqrt.f128(fp128)\n"
    with parcubin.Compiler("sm_90", jobs=1) as compiler:
        with pytest.raises(InternalCompilerError) as caught:
            compiler.compile(text)
        assert "LLVM ERROR" in caught.value.log
        assert caught.value.kernels
        monkeypatch.setattr("parcubin.split.grouping.ALONE_COST", -1)
        program = compiler.compile(text, keep_going=True)
    assert program.kernels.keys() == {"good", "other"}
    assert [error.kernels for error in program.report.failures] == [("bad",)]


def test_diagnostics_of_llvm_stay_in_the_worker(capfd: pytest.CaptureFixture[str]) -> None:
    loop = (
        "  br label %loop\nloop:\n  %i = phi i32 [ 0, %0 ], [ %n, %loop ]\n  store volatile i32 %i, ptr %p\n"
        "  %n = add i32 %i, 1\n  %v = load volatile i32, ptr %p\n  %c = icmp slt i32 %n, %v\n"
        "  br i1 %c, label %loop, label %end, !llvm.loop !0\nend:\n"
    )
    metadata = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.vectorize.enable", i1 true}\n'
    capfd.readouterr()
    with parcubin.Compiler("sm_90", jobs=1) as compiler:
        compiler.compile(HEADER + kernel("k", loop) + metadata)
    assert capfd.readouterr() == ("", "")
    script = (
        "import sys; from parcubin.lower.llvmlite import LlvmliteLlvm; from parcubin.lower.lowering import lower\n"
        "from parcubin.model import *\n"
        "lower(LlvmliteLlvm(), [('p', sys.argv[1])], target=Target('sm_90'), options=CompilationOptions(),"
        " ptx_version=80, keep={'k'}, libdevice=None, name='s')"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, HEADER + kernel("k", loop) + metadata],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "loop not vectorized" in run.stderr  # there is something to keep
