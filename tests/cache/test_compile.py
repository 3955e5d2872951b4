"""Compiles through a cache: the same output, and nothing is compiled twice."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import parcubin
from parcubin.cache.disk import DiskStore
from parcubin.compiler import Compiler
from parcubin.configuration import ToolPaths
from parcubin.errors import ParcubinError, UsageError, WorkerError
from parcubin.lower.external import ExternalLlvm
from parcubin.model import CompilationOptions, Emit
from parcubin.program import Program
from parcubin.split import grouping
from parcubin.toolchain import version
from parcubin.workers.jobs import AskVersions, CompileShard, LinkShards, PrintModule
from parcubin.workers.pool import JobGroup
from tests.command_line import parcubin as run
from tests.pipeline.samples import CONSTANT_TABLES, kernel, module

OUTPUTS: tuple[Emit, ...] = ("bundle", "cubin", "relocatable", "ptx")
KERNELS = [kernel(f"k{i}", f"  store i32 {i}, ptr %p\n") for i in range(6)]
PROGRAM = module(*KERNELS)
PTX = ".version 7.0\n.target sm_80\n.address_size 64\n" + "".join(
    f".visible .entry p{i}(.param .u64 a) {{ .reg .b32 r; mov.u32 r, {i}; ret; }}\n" for i in range(3)
)


@pytest.fixture(autouse=True)
def one_kernel_a_shard() -> Iterator[None]:
    with mock.patch.object(grouping, "ALONE_COST", -1):
        yield


@pytest.fixture
def ran() -> Iterator[list[Any]]:
    """The jobs that reached the workers."""
    jobs: list[Any] = []
    submit = JobGroup.submit

    def watched(group: JobGroup, job: Any, *arguments: Any, **named: Any) -> Any:
        jobs.append(job)
        return submit(group, job, *arguments, **named)

    with mock.patch.object(JobGroup, "submit", watched):
        yield jobs


def compiled(cache: Path | str, inputs: Any = PROGRAM, output: Emit = "cubin", **settings: Any) -> Program:
    options = settings.pop("options", None)
    call = {name: settings.pop(name) for name in ("keep", "keep_going") if name in settings}
    with Compiler("sm_90", jobs=1, cache=cache, **settings) as compiler:
        return compiler.compile(inputs, options=options, output=output, **call)


def content(program: Program) -> Any:
    """Everything of a program but what is said of the run."""
    return (
        program.kernels,
        program.variables,
        [a.cubin for a in program.assemblies],
        program.ptx,
        program._image,
        program.report.kernels,
        program.report.shards,
        program.report.provider,
        program.report.toolchain,
        program.report.helper_calls,
        program.report.warnings,
    )


def shards_of(jobs: list[Any]) -> list[CompileShard]:
    return [job for job in jobs if isinstance(job, CompileShard)]


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_second_run_starts_nothing_and_gives_the_same(tmp_path: Path, ran: list[Any], output: Emit) -> None:
    expected = compiled("off", output=output)
    first = compiled(tmp_path, output=output)
    ran.clear()
    with mock.patch("subprocess.Popen", side_effect=OSError("a process was started")):
        second = compiled(tmp_path, output=output)
    assert ran == []
    assert content(expected) == content(first) == content(second)
    assert (expected.report.cached, first.report.cached, second.report.cached) == (0, 0, second.report.shards)


@pytest.mark.parametrize("output", OUTPUTS)
def test_other_comments_names_order_and_workers_find_the_shards(tmp_path: Path, ran: list[Any], output: Emit) -> None:
    one, two = module(*KERNELS[:3]), module(*KERNELS[3:])
    first = compiled(tmp_path, [one, two], output)
    ran.clear()
    commented = f"; ModuleID = 'x'\nsource_filename = \"y\"\n{two}".replace("store", "; a comment\n  store")
    (tmp_path / "named.ll").write_text(commented)
    with (
        mock.patch("subprocess.Popen", side_effect=OSError("a process was started")),
        Compiler("sm_90", jobs=2, cache=tmp_path) as compiler,
    ):
        second = compiler.compile([tmp_path / "named.ll", one], output=output)
    assert ran == []
    assert content(first) == content(second)
    assert second.report.cached == second.report.shards == first.report.shards


@pytest.mark.parametrize(
    ("kernels", "most"),
    [
        ([*KERNELS[:2], kernel("k2", "  store i32 77, ptr %p\n"), *KERNELS[3:]], 2),
        ([*KERNELS, kernel("new", "  store i32 99, ptr %p\n")], 2),
        (KERNELS[1:], 2),
    ],
    ids=["changed", "added", "removed"],
)
@pytest.mark.parametrize("output", ["bundle", "cubin"])
def test_a_change_of_one_kernel_compiles_its_shard(
    tmp_path: Path, ran: list[Any], kernels: list[str], most: int, output: Emit
) -> None:
    compiled(tmp_path, output=output)
    ran.clear()
    program = compiled(tmp_path, module(*kernels), output)
    assert len(shards_of(ran)) <= most
    assert program.report.cached >= program.report.shards - most
    assert content(program) == content(compiled("off", module(*kernels), output))


def test_another_compiler_of_ptx_takes_the_ptx(tmp_path: Path, ran: list[Any]) -> None:
    first = compiled(tmp_path)
    with Compiler("sm_90", jobs=1) as compiler:
        selection = compiler.select_provider("cubin")
    assert selection is not None
    ptxas = tmp_path / "bin" / "ptxas"
    ptxas.parent.mkdir()
    ptxas.write_text(f'#!/bin/sh\nexec {selection.tools[0].path} "$@"\n')
    ptxas.chmod(0o755)
    ran.clear()
    second = compiled(tmp_path, paths=ToolPaths(ptxas=str(ptxas)))
    assert second.cubin == first.cubin
    assert second.report.cached == 0
    assert len(shards_of(ran)) == len(KERNELS)
    assert not any(hasattr(job.source, "parts") for job in shards_of(ran)), "something was lowered again"


def test_options_of_ptxas_alone_take_the_ptx(tmp_path: Path, ran: list[Any]) -> None:
    compiled(tmp_path)
    ran.clear()
    options = CompilationOptions(max_registers=32)
    program = compiled(tmp_path, options=options)
    assert not any(hasattr(job.source, "parts") for job in shards_of(ran))
    assert program.cubin == compiled("off", options=options).cubin


def test_ptx_and_bitcode_and_packed_inputs(tmp_path: Path, ran: list[Any]) -> None:
    import llvmlite.binding as llvm

    bitcode = llvm.parse_assembly(PROGRAM).as_bitcode()
    for inputs in (PTX, [bitcode, PTX], gzip.compress(bitcode)):
        first = compiled(tmp_path, inputs)
        ran.clear()
        second = compiled(tmp_path, inputs)
        assert ran == []
        assert content(first) == content(second) == content(compiled("off", inputs))
    ran.clear()
    compiled(tmp_path, [bitcode, module(kernel("other"))])
    assert shards_of(ran)
    assert not any(isinstance(job, PrintModule) for job in ran)


def test_line_tables_and_constants(tmp_path: Path, debug_info: str) -> None:
    for text, options in (
        (CONSTANT_TABLES, CompilationOptions()),
        (debug_info, CompilationOptions(line_info=True)),
        (debug_info, CompilationOptions(debug_info=True)),
    ):
        plain, first, second = (compiled(cache, text, options=options) for cache in ("off", tmp_path, tmp_path))
        assert content(plain) == content(first) == content(second)
        assert second.report.cached == second.report.shards


def test_a_cached_bundle_can_be_linked(tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_text(PROGRAM)
    compiled(tmp_path / "c", tmp_path / "a.ll", "bundle")
    with Compiler("sm_90", jobs=1, cache=tmp_path / "c") as compiler:
        bundle = compiler.compile(tmp_path / "a.ll", output="bundle")
        assert bundle.report.cached == bundle.report.shards
        (tmp_path / "a.ll").unlink()  # the program has what it needs
        linked = bundle.link()
    assert linked.cubin == compiled("off").cubin == bundle.link().cubin


FORKING = """
import os, sys
import parcubin
with parcubin.Compiler("sm_80", jobs=1, cache=sys.argv[1]) as compiler:
    compiler.compile(sys.argv[2])
    if os.fork() == 0:
        try:
            compiler.compile(sys.argv[2])
        except parcubin.ParcubinError as error:
            print(error, flush=True)
        os._exit(0)
    os.wait()
"""


def test_a_forked_child_takes_nothing_from_its_parents_cache(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKING, str(tmp_path), PTX]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "the process that this one was forked from" in printed


def test_a_closed_compiler_has_no_cache(tmp_path: Path) -> None:
    with Compiler("sm_80", cache=tmp_path, jobs=1) as compiler:
        compiler.compile(PTX)
        compiler.split(PTX)
    for use in (compiler.compile, compiler.split):
        with pytest.raises(WorkerError, match="The compiler is closed"):
            use(PTX)


def test_keep_writes_the_same_shards(tmp_path: Path) -> None:
    compiled(tmp_path / "c", keep=tmp_path / "cold")
    compiled(tmp_path / "c", keep=tmp_path / "warm")
    cold, warm = ({f.name: f.read_bytes() for f in (tmp_path / n).iterdir()} for n in ("cold", "warm"))
    assert cold
    assert cold == warm


def test_errors_are_not_kept(tmp_path: Path, ran: list[Any]) -> None:
    bad = PTX + ".visible .entry bad() { asm; }\n"
    messages = []
    for _ in range(2):
        ran.clear()
        with pytest.raises(ParcubinError) as caught:
            compiled(tmp_path, bad)
        messages.append(str(caught.value))
        assert shards_of(ran)
    assert messages[0] == messages[1]
    for _ in range(2):
        program = compiled(tmp_path, bad, keep_going=True)
        assert len(program.report.failures) == 1
        assert program.kernels.keys() == {"p0", "p1", "p2"}
    assert program.report.cached == 3
    with pytest.raises(ParcubinError):
        compiled(tmp_path, bad)


def test_an_unreadable_input_says_so(tmp_path: Path) -> None:
    for cache in ("off", tmp_path / "c"):
        with pytest.raises(parcubin.InputError, match="nowhere"):
            compiled(cache, [PROGRAM, tmp_path / "nowhere.ll"])
    program = compiled(tmp_path / "c", [PROGRAM, tmp_path / "nowhere.ll"], keep_going=True)
    assert len(program.report.failures) == 1


def test_unresolved_symbols_are_found_warm(tmp_path: Path) -> None:
    user = module(kernel("k", "  call void @missing()\n"), "declare void @missing()\n")
    messages = set()
    for cache in ("off", tmp_path, tmp_path):
        with pytest.raises(ParcubinError) as caught:
            compiled(cache, user)
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_one_option_of_the_report_is_honoured(tmp_path: Path) -> None:
    logs = [
        compiled(cache, options=CompilationOptions(keep_log=keep_log)).report.log
        for cache, keep_log in (("off", True), (tmp_path, False), (tmp_path, True), (tmp_path, True))
    ]
    assert logs[1] == ""
    assert logs[2] == logs[3] != ""
    assert re.sub(r"[\d.]+ ms", "", logs[0]) == re.sub(r"[\d.]+ ms", "", logs[2])  # the compilers' times


def test_deferred_modules(tmp_path: Path) -> None:
    """A stand-in for a library that cannot make relocatable modules: the newer one, told to be older."""
    from parcubin.providers.deferred import DeferredProvider
    from parcubin.providers.nvjitlink import NvJitLinkProvider
    from parcubin.providers.selection import Selection, select
    from parcubin.toolchain.version import Tool, Version

    library = next(tool for tool in select("nvjitlink", needs_link=True).tools if tool.name == "nvJitLink")
    old = Tool("nvJitLink", library.path, Version(13, 0, 0))
    selection = Selection(DeferredProvider(NvJitLinkProvider(old)), (), (), (old,))
    programs = []
    for cache in ("off", tmp_path, tmp_path):
        with Compiler("sm_90", jobs=1, cache=cache) as compiler:
            compiler._selections["cubin"] = selection
            programs.append(compiler.compile(PROGRAM, output="cubin"))
    assert content(programs[0]) == content(programs[1]) == content(programs[2])
    assert "compiled at the link" in " ".join(programs[2].report.warnings)
    assert programs[2].report.cached == programs[2].report.shards


def test_damaged_entries_are_compiled_again(tmp_path: Path) -> None:
    expected = compiled("off")
    compiled(tmp_path)
    for damage in (lambda data: data[: len(data) // 2], lambda data: data[:-1] + b"\xff", lambda _: b""):
        for file in DiskStore(tmp_path, max_bytes=1 << 30).files():
            Path(file.path).write_bytes(damage(Path(file.path).read_bytes()))
        program = compiled(tmp_path)
        assert program.report.cached == 0
        assert content(program) == content(expected)
    assert compiled(tmp_path).report.cached == len(KERNELS)


def test_a_cache_that_is_removed_under_a_compile_breaks_nothing(tmp_path: Path) -> None:
    expected = compiled("off")
    put = DiskStore.put

    def removed(store: DiskStore, key: str, data: bytes) -> None:
        shutil.rmtree(tmp_path / "c", ignore_errors=True)
        put(store, key, data)

    with mock.patch.object(DiskStore, "put", removed):
        assert content(compiled(tmp_path / "c")) == content(expected)


def test_a_cache_that_cannot_be_used_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c").chmod(0o777)
    program = compiled(tmp_path / "c")
    assert program.cubin == compiled("off").cubin
    assert "not private" in " ".join(program.report.warnings)
    assert list((tmp_path / "c").iterdir()) == []


def test_a_full_disk_is_a_warning(tmp_path: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with mock.patch.object(DiskStore, "_write", full):
        program = compiled(tmp_path)
    assert program.cubin == compiled("off").cubin
    assert "No space left on device" in " ".join(program.report.warnings)


def test_one_compile_a_key_across_threads(tmp_path: Path, ran: list[Any]) -> None:
    barrier = threading.Barrier(4)
    with Compiler("sm_90", jobs=2, cache=tmp_path) as compiler, ThreadPoolExecutor(4) as threads:

        def compile_(_: int) -> bytes:
            barrier.wait()
            return compiler.compile(PROGRAM, output="cubin").cubin

        cubins = set(threads.map(compile_, range(4)))
        ran_before = list(ran)
        compiler.compile(module(*KERNELS[::-1]), output="cubin")
    assert len(cubins) == 1
    assert len(shards_of(ran_before)) == len(KERNELS)
    assert len(ran) == len(ran_before)


def test_who_waits_for_another_compile_that_is_given_up_compiles_itself(tmp_path: Path) -> None:
    with Compiler("sm_90", jobs=1, cache=tmp_path) as compiler:
        hurried, patient = [], []

        def hurry() -> None:
            try:
                compiler.compile(PROGRAM, output="cubin", total_timeout=0.01)
            except ParcubinError as error:
                hurried.append(error)

        first = threading.Thread(target=hurry)
        first.start()
        patient.append(compiler.compile(PROGRAM, output="cubin"))
        first.join()
    assert patient[0].cubin == compiled("off").cubin


def test_memory_serves_without_a_folder(tmp_path: Path, ran: list[Any]) -> None:
    with Compiler("sm_90", jobs=1, cache=tmp_path) as compiler:
        compiler.compile(PROGRAM, output="cubin")
        shutil.rmtree(tmp_path)
        ran.clear()
        assert compiler.compile(PROGRAM, output="cubin").report.cached == len(KERNELS)
    assert ran == []


def test_another_llvm_lowers_itself(tmp_path: Path, external_llvm: ExternalLlvm) -> None:
    compiled(tmp_path)
    other = compiled(tmp_path, llvm=external_llvm.tools.folder)
    assert other.report.cached == 0 or other.cubin == compiled("off", llvm=external_llvm.tools.folder).cubin
    with mock.patch("subprocess.Popen", side_effect=OSError("a process was started")):
        again = compiled(tmp_path, llvm=external_llvm.tools.folder)
    assert content(again) == content(other)
    assert external_llvm.tools.folder in again.report.toolchain


def test_what_a_script_starts_is_asked_every_time(tmp_path: Path) -> None:
    """A wrapper of ptxas stays as it is when what it starts is replaced."""
    with Compiler("sm_90", jobs=1, provider="subprocess") as compiler:
        selection = compiler.select_provider("bundle")
    assert selection is not None
    real, wrapper = tmp_path / "real", tmp_path / "ptxas"
    wrapper.write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    started = f'#!/bin/sh\nexec {selection.tools[0].path} "$@"\n'
    said = rf"{selection.tools[0].path} --version | sed 's/\(V[0-9]*\.[0-9]*\)\.[0-9]*/\1.999/'"
    replaced = f'#!/bin/sh\nif [ "$1" = --version ]; then {said}; exit; fi\nexec {selection.tools[0].path} "$@"\n'
    reports = []
    for text in (started, replaced):
        real.write_text(text)
        real.chmod(0o755)
        version._executable_version.cache_clear()  # as in another process
        settings = {"provider": "subprocess", "paths": ToolPaths(ptxas=str(wrapper))}
        reports.append(compiled(tmp_path / "cache", PTX, "bundle", **settings).report)
    assert [".999" in report.toolchain for report in reports] == [False, True]
    assert [report.cached for report in reports] == [0, 0]


def test_versions_are_asked_once(tmp_path: Path, ran: list[Any]) -> None:
    compiled(tmp_path)
    ran.clear()
    compiled(tmp_path, module(kernel("other")))
    assert not any(isinstance(job, AskVersions) for job in ran)
    assert any(isinstance(job, CompileShard) for job in ran)
    assert sum(isinstance(job, LinkShards) for job in ran) == 1


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_text(PROGRAM)
    cache = tmp_path / "c"

    def compile_(*options: object) -> dict[str, Any]:
        result = run(
            "compile", tmp_path / "a.ll", "--arch", "sm_90", "-o", tmp_path / "a.cubin", "-q", "--json", *options
        )
        assert result.exit_code == 0, result.output
        printed: dict[str, Any] = json.loads(result.stdout)
        return printed

    assert compile_("--cache", cache)["cached"] == 0
    expected = (tmp_path / "a.cubin").read_bytes()
    assert compile_("--cache", cache)["cached"] == len(KERNELS)
    assert (tmp_path / "a.cubin").read_bytes() == expected
    assert compile_("--cache", cache, "--no-cache")["cached"] == 0
    assert compile_()["cached"] == 0  # these tests run with PARCUBIN_CACHE=off
    with mock.patch.dict(os.environ, PARCUBIN_CACHE=str(cache)):
        assert compile_()["cached"] == len(KERNELS)
        assert run("cache", "path").stdout == f"{cache}\n"
    stats = json.loads(run("cache", "stats", "--cache", cache, "--json").stdout)
    assert stats["entries"] > len(KERNELS)
    assert stats["bytes"] > 0
    assert run("cache", "verify", "--cache", cache).exit_code == 0
    files = list(DiskStore(cache, max_bytes=1).files())
    Path(files[0].path).write_bytes(b"damaged")
    assert run("cache", "verify", "--cache", cache).exit_code == 1
    assert run("cache", "verify", "--cache", cache).exit_code == 0
    cleared = run("cache", "clear", "--cache", cache, "--json")
    assert json.loads(cleared.stdout) == {"path": str(cache), "removed": stats["entries"] - 1}
    assert run("cache", "clear", "--cache", cache).output == ""
    assert json.loads(run("cache", "stats", "--cache", cache, "--json").stdout)["entries"] == 0
    assert run("cache", "stats").exit_code == 2


def test_without_a_home_the_default_folder_is_below_xdg_cache_home(tmp_path: Path) -> None:
    with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(tmp_path)):
        os.environ.pop("PARCUBIN_CACHE")
        assert run("cache", "path").stdout == f"{tmp_path / 'parcubin'}\n"


def test_wrong_settings() -> None:
    with pytest.raises(UsageError):
        Compiler("sm_90", cache="")
    with pytest.raises(UsageError):
        Compiler("sm_90", cache_size=0)


def test_no_compiler_is_run_by_a_second_command_line(tmp_path: Path) -> None:
    """Seen from outside: every program that is started is written down."""
    (tmp_path / "a.ll").write_text(PROGRAM)
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "def note(event, arguments):\n"
        "    if event in ('subprocess.Popen', 'os.exec', 'os.posix_spawn', 'os.fork', 'os.forkpty', 'ctypes.dlopen'):\n"
        f"        open({str(tmp_path / 'notes')!r}, 'a').write(event + ' ' + repr(arguments[:2]) + '\\n')\n"
        "sys.addaudithook(note)\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
        "PARCUBIN_CACHE": str(tmp_path / "c"),
    }
    command = [sys.executable, "-m", "parcubin", "compile", str(tmp_path / "a.ll"), "--arch", "sm_90", "-q"]
    subprocess.run([*command, "-o", str(tmp_path / "1.cubin")], env=environment, check=True)
    assert re.search("ptxas|parcubin.workers", (tmp_path / "notes").read_text())
    (tmp_path / "notes").write_text("")
    subprocess.run([*command, "-o", str(tmp_path / "2.cubin")], env=environment, check=True)
    assert "subprocess" not in (tmp_path / "notes").read_text()
    assert not re.search("ptxas|nvJitLink|llvm|posix_spawn|fork|exec", (tmp_path / "notes").read_text())
    assert (tmp_path / "1.cubin").read_bytes() == (tmp_path / "2.cubin").read_bytes()
