"""The cache in memory: what it computes, how often, and what it keeps."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from parcubin.errors import PtxSyntaxError
from parcubin.model import (
    Assembly,
    CompilationOptions,
    DeferredModule,
    LinkInput,
    Ptx,
    RelocatableKind,
    RelocatableModule,
    Target,
)
from parcubin.providers import caching
from parcubin.providers.caching import CachingProvider
from parcubin.providers.nvjitlink import NvJitLinkProvider
from parcubin.toolchain.version import Tool, Version
from tests.providers.samples import EWP, PLAIN, SM_80

DEFAULT = CompilationOptions()


@dataclass(frozen=True)
class Counting:
    """A provider that records what it is asked for, and can be made slow or failing."""

    version: str = "1.2.3"
    relocatable: bool = True
    calls: list[tuple[object, ...]] = field(default_factory=list, compare=False)
    linked: list[Sequence[LinkInput]] = field(default_factory=list, compare=False)
    gate: threading.Event = field(default_factory=threading.Event, compare=False)

    def __post_init__(self) -> None:
        self.gate.set()

    name = "counting"
    supports_compile_and_link = True
    supports_link_to_relocatable_module = True
    compiles_whole_program = True

    @property
    def identity(self) -> str:
        return f"counting {self.version}"

    @property
    def supports_compile_to_relocatable_module(self) -> bool:
        return self.relocatable

    def compile(self, target: Target, ptx: Ptx, options: CompilationOptions) -> Assembly:
        self.calls.append((target, ptx.text, options))
        self.gate.wait()
        if ptx.text.startswith("bad"):
            raise PtxSyntaxError("bad", kernels=[ptx.name])
        return Assembly(f"{target} {ptx.text} {options}".encode(), "log")

    def compile_to_relocatable_module(
        self, target: Target, ptx: Ptx, options: CompilationOptions, kind: RelocatableKind
    ) -> RelocatableModule | DeferredModule:
        self.calls.append((target, ptx.text, options, kind))
        return RelocatableModule(ptx.text.encode(), kind, ptx.name)

    def compile_and_link(self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions) -> Assembly:
        del target, options
        self.linked.append(inputs)
        return Assembly(b"linked")

    def link_to_relocatable_module(
        self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions
    ) -> RelocatableModule:
        del target, options
        self.linked.append(inputs)
        return RelocatableModule(b"joined", PLAIN)

    def latest_ptx_isa_version(self) -> int:
        return 90


def test_one_compile_however_many_threads_ask() -> None:
    delegate = Counting()
    provider = CachingProvider(delegate)
    delegate.gate.clear()
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(provider.compile, SM_80, Ptx("text", f"asked {i}"), DEFAULT) for i in range(8)]
        delegate.gate.set()
        results = {id(future.result()) for future in futures}
    assert len(results) == 1
    assert len(delegate.calls) == 1


def test_everything_that_reaches_the_output_is_in_the_key() -> None:
    delegate = Counting()
    provider = CachingProvider(delegate)
    options = [
        DEFAULT,
        CompilationOptions(opt_level=0),
        CompilationOptions(fast_compile="max"),
        CompilationOptions(llvm_opt_level=0),
        CompilationOptions(line_info=True),
        CompilationOptions(debug_info=True),
        CompilationOptions(max_registers=32),
        CompilationOptions(fail_on_spill=True),
        CompilationOptions(keep_log=True),
        CompilationOptions(inlining_threshold=1),
        CompilationOptions(flush_to_zero=True),
        CompilationOptions(ptxas_options=("--fmad=false",)),
    ]
    for _ in range(2):
        for option in options:
            provider.compile(SM_80, Ptx("text"), option)
        provider.compile(Target("sm_90"), Ptx("text"), DEFAULT)
        provider.compile(Target("sm_90a"), Ptx("text"), DEFAULT)
        provider.compile(SM_80, Ptx("text "), DEFAULT)
        provider.compile_to_relocatable_module(SM_80, Ptx("text"), DEFAULT, PLAIN)
        provider.compile_to_relocatable_module(SM_80, Ptx("text"), DEFAULT, EWP)
    assert len(delegate.calls) == len(set(delegate.calls)) == len(options) + 5


def test_the_name_is_not_in_the_key_but_in_the_result() -> None:
    delegate = Counting()
    provider = CachingProvider(delegate)
    modules = [provider.compile_to_relocatable_module(SM_80, Ptx("text", name), DEFAULT, EWP) for name in ("a", "b")]
    assert [m.name for m in modules if isinstance(m, RelocatableModule)] == ["a", "b"]
    assert len(delegate.calls) == 1


def test_failures_are_not_kept() -> None:
    delegate = Counting()
    provider = CachingProvider(delegate)
    for _ in range(2):
        with pytest.raises(PtxSyntaxError):
            provider.compile(SM_80, Ptx("bad"), DEFAULT)
    assert len(delegate.calls) == 2


def test_a_failure_reaches_everyone_who_waits_for_it() -> None:
    delegate = Counting()
    provider = CachingProvider(delegate)
    delegate.gate.clear()
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(provider.compile, SM_80, Ptx("bad"), DEFAULT) for _ in range(4)]
        delegate.gate.set()
        errors = [future.exception() for future in futures]
    assert all(isinstance(error, PtxSyntaxError) for error in errors)


def test_an_interrupted_compile_is_made_again_by_who_waited() -> None:
    waiting = threading.Event()
    entered = threading.Event()

    class Interrupted(Counting):
        def compile(self, target: Target, ptx: Ptx, options: CompilationOptions) -> Assembly:
            if not self.calls:
                self.calls.append(())
                entered.set()
                waiting.wait()
                raise KeyboardInterrupt
            return super().compile(target, ptx, options)

    provider = CachingProvider(Interrupted())
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(provider.compile, SM_80, Ptx("text"), DEFAULT)
        entered.wait()
        second = pool.submit(provider.compile, SM_80, Ptx("text"), DEFAULT)
        waiting.set()
        assert isinstance(first.exception(), KeyboardInterrupt)
        assert second.result().cubin


def test_links_compile_their_ptx_through_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "largest_alignment_first", list)  # the stand-in makes no CUBINs
    delegate = Counting()
    provider = CachingProvider(delegate)
    known = provider.compile_to_relocatable_module(SM_80, Ptx("one"), DEFAULT, PLAIN)
    for _ in range(2):
        provider.compile_and_link(SM_80, [Ptx("one"), Ptx("two")], DEFAULT)
    assert delegate.linked[0] == [known, RelocatableModule(b"two", PLAIN)]
    assert len(delegate.linked) == 2
    assert len(delegate.calls) == 2


def test_a_delegate_without_relocatable_modules_gets_the_ptx() -> None:
    delegate = Counting(relocatable=False)
    CachingProvider(delegate).compile_and_link(SM_80, [Ptx("one"), Ptx("two")], DEFAULT)
    assert delegate.linked == [[Ptx("one"), Ptx("two")]]


def test_the_least_recently_used_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "CAPACITY_BYTES", 2500)
    delegate = Counting()
    provider = CachingProvider(delegate)

    def compiles(text: str) -> bool:
        """Whether the delegate was asked."""
        before = len(delegate.calls)
        provider.compile_to_relocatable_module(SM_80, Ptx(text * 1000), DEFAULT, PLAIN)
        return len(delegate.calls) > before

    assert compiles("a")
    assert compiles("b")
    assert not compiles("a")
    assert compiles("c")  # "b" goes
    assert not compiles("a")
    assert compiles("b")


def test_a_copy_starts_empty() -> None:
    provider = CachingProvider(NvJitLinkProvider(Tool("nvJitLink", "/nowhere", Version(13, 0))))
    copy = pickle.loads(pickle.dumps(provider))
    assert copy == provider
    assert copy._cache is not provider._cache
