"""Keys: everything that reaches an output is in them, and nothing that does not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest

from parcubin.cache import key as keys
from parcubin.cache.fingerprint import file_fingerprint
from parcubin.cache.key import (
    ASSEMBLING_OPTIONS,
    LOWERING_OPTIONS,
    REPORT_OPTIONS,
    Toolchain,
    libdevice_key,
    link_key,
    lowering_key,
    module_key,
    printing_key,
    ptx_hash,
    text_without_comments,
)
from parcubin.cache.request import Request
from parcubin.lower.external import ExternalLlvm
from parcubin.lower.llvmlite import LlvmliteLlvm
from parcubin.lower.lowering import lower
from parcubin.model import (
    CompilationOptions,
    DeferredModule,
    DeviceLibrary,
    LlvmIr,
    Ptx,
    RelocatableKind,
    RelocatableModule,
    Target,
)
from parcubin.providers.selection import select
from parcubin.providers.subprocess import SubprocessProvider
from parcubin.toolchain.llvm_tools import LlvmTools
from parcubin.toolchain.version import Tool, Version
from parcubin.workers.jobs import CompileShard, LinkShards, Lowering, PrintModule, ReadLibdevice
from tests.pipeline.samples import kernel, module

TOOLS = Toolchain("llvm", "provider")
DEFAULT = CompilationOptions()
PROVIDER = SubprocessProvider(Tool("ptxas", "/nowhere", Version(13, 5, 37)))
PTX = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"

OTHER_OPTIONS: dict[str, Any] = {
    "opt_level": 1,
    "llvm_opt_level": 2,
    "fast_compile": "max",
    "line_info": True,
    "debug_info": True,
    "max_registers": 32,
    "fail_on_spill": True,
    "keep_log": True,
    "inlining_threshold": 7,
    "flush_to_zero": True,
    "ptxas_options": ("--allow-expensive-optimizations", "true"),
}


def lowering(**changes: Any) -> Lowering:
    return replace(
        Lowering(
            llvm=LlvmliteLlvm(),
            parts=(LlvmIr(module(kernel("k")), "a"), LlvmIr(module(kernel("l")), "b")),
            target=Target("sm_80"),
            options=DEFAULT,
            ptx_version=88,
            keep=frozenset({"k", "l"}),
            libdevice=None,
        ),
        **changes,
    )


def shard(**changes: Any) -> CompileShard:
    return replace(CompileShard("k", Ptx(PTX), Target("sm_80"), DEFAULT, PROVIDER, "module"), **changes)


def link(**changes: Any) -> LinkShards:
    modules = (
        RelocatableModule(b"one", RelocatableKind.PLAIN, "one", "log"),
        DeferredModule(Ptx("two", "two")),
        DeviceLibrary(b"three", "three"),
    )
    return replace(LinkShards(PROVIDER, Target("sm_80"), modules, DEFAULT, ("k", "l"), ("v",), False), **changes)


def shard_key(job: CompileShard, tools: Toolchain = TOOLS) -> str:
    assert isinstance(job.source, Ptx)
    return module_key(job, ptx_hash(job.source.text, job.options), tools)


def test_every_option_is_somewhere_and_known_here() -> None:
    names = {field.name for field in fields(CompilationOptions)}
    assert names == LOWERING_OPTIONS | ASSEMBLING_OPTIONS | REPORT_OPTIONS
    assert not REPORT_OPTIONS & (LOWERING_OPTIONS | ASSEMBLING_OPTIONS)
    assert names == OTHER_OPTIONS.keys()


@pytest.mark.parametrize("name", OTHER_OPTIONS)
def test_an_option_changes_the_keys_that_it_reaches_and_no_others(name: str) -> None:
    other = replace(DEFAULT, **{name: OTHER_OPTIONS[name]})
    assert (lowering_key(lowering(), TOOLS) != lowering_key(lowering(options=other), TOOLS)) == (
        name in LOWERING_OPTIONS
    )
    assert (shard_key(shard()) != shard_key(shard(options=other))) == (name in ASSEMBLING_OPTIONS)
    assert (link_key(link(), TOOLS) != link_key(link(options=other), TOOLS)) == (name in ASSEMBLING_OPTIONS)


class Watched(CompilationOptions):
    """Options that note which of them are read."""

    def __getattribute__(self, name: str) -> Any:
        if name in OTHER_OPTIONS:
            READ.add(name)
        return super().__getattribute__(name)


READ: set[str] = set()


@pytest.mark.parametrize("debug_info", [False, True])
def test_lowering_reads_no_other_options(debug_info: bool) -> None:
    options = Watched(debug_info=debug_info, inlining_threshold=100, flush_to_zero=True)
    READ.clear()
    lower(**lowering(options=options).arguments(), name="shard")
    assert READ
    assert READ <= LOWERING_OPTIONS


@pytest.mark.parametrize("output", ["assembly", "module"])
def test_assembling_and_linking_read_no_other_options(output: Any) -> None:
    selection = select(needs_link=True)
    options = Watched(max_registers=32, line_info=True)
    READ.clear()
    job = shard(options=options, provider=selection.provider, output=output)
    result = job.run()
    if output == "module":
        assert isinstance(result.module, RelocatableModule)
        link(provider=selection.provider, modules=(result.module,), options=options, kernels=("k",), variables=()).run()
    assert READ
    assert READ <= ASSEMBLING_OPTIONS


@dataclass(frozen=True)
class WithOneMore(CompileShard):
    new: int = 0


def test_a_new_field_cannot_be_forgotten() -> None:
    job = shard()
    with pytest.raises(KeyError, match="new"):
        shard_key(WithOneMore(**{field.name: getattr(job, field.name) for field in fields(job)}))


OTHERS: list[tuple[Callable[..., Any], Callable[[Any], str], dict[str, Any]]] = [
    (
        lowering,
        lambda job: lowering_key(job, TOOLS),
        {
            "llvm": None,
            "parts": [(LlvmIr(module(kernel("k")), "a"),), (LlvmIr(module(kernel("l"))), LlvmIr(module(kernel("k"))))],
            "target": [Target("sm_90")],
            "options": [replace(DEFAULT, opt_level=1)],
            "ptx_version": [87],
            "keep": [frozenset({"k"})],
            "libdevice": [LlvmIr(module(kernel("sin"))), LlvmIr(module(kernel("cos")))],
        },
    ),
    (
        shard,
        shard_key,
        {
            "name": None,
            "source": [Ptx(PTX.replace("ret", "exit"))],
            "target": [Target("sm_80a"), Target("sm_90")],
            "options": [replace(DEFAULT, opt_level=1)],
            "provider": [None],
            "output": ["assembly"],
            "must_be_plain": ["a reason", "another"],
            "sole_constants": [True],
            "other_pointers": [True],
            "extensible_only": [True],
        },
    ),
    (
        link,
        lambda job: link_key(job, TOOLS),
        {
            "provider": None,
            "target": [Target("sm_90")],
            "modules": [
                link().modules[:2],
                link().modules[::-1],
                (RelocatableModule(b"one", RelocatableKind.EXTENSIBLE_WHOLE_PROGRAM), *link().modules[1:]),
                (RelocatableModule(b"On", RelocatableKind.PLAIN), *link().modules[1:]),
                (link().modules[0], DeferredModule(Ptx("three")), DeviceLibrary(b"two")),
            ],
            "options": [replace(DEFAULT, opt_level=1)],
            "kernels": [("k",)],
            "variables": [()],
            "relocatable": [True],
        },
    ),
    (
        lambda **changes: replace(PrintModule(b"text", "name", LlvmliteLlvm()), **changes),
        lambda job: printing_key(job, TOOLS),
        {"source": [b"other"], "name": None, "llvm": None},
    ),
    (
        lambda **changes: replace(Request((b"1", b"2"), Target("sm_80"), DEFAULT, "cubin", True), **changes),
        lambda request: request.program_key(TOOLS, None),
        {
            "inputs": [(b"1",), (b"1", b"3"), (b"1", b"2", b"2"), (b"12",)],
            "target": [Target("sm_90")],
            "options": [replace(DEFAULT, **{name: value}) for name, value in OTHER_OPTIONS.items()],
            "output": ["bundle", "relocatable", "ptx"],
            "split": [False],
            "in_parts_only": [True],
        },
    ),
]


@pytest.mark.parametrize(("make", "key", "others"), OTHERS, ids=["ptx", "module", "link", "printed", "program"])
def test_every_field_is_in_the_key(
    make: Callable[..., Any], key: Callable[[Any], str], others: dict[str, list[Any] | None]
) -> None:
    assert others.keys() == {field.name for field in fields(make())}
    found = [key(make())]
    found += [key(make(**{name: value})) for name, values in others.items() for value in values or ()]
    assert len(set(found)) == len(found)


def test_the_toolchain_is_in_the_keys(tmp_path: Path) -> None:
    for other in (Toolchain("other", "provider"), Toolchain("llvm", "other")):
        assert shard_key(shard(), other) != shard_key(shard()) or other.provider == "provider"
        assert link_key(link(), other) != link_key(link(), TOOLS) or other.provider == "provider"
        assert lowering_key(lowering(), other) != lowering_key(lowering(), TOOLS) or other.llvm == "llvm"
    # The same PTX from another LLVM need not be compiled again.
    assert shard_key(shard(), Toolchain("other", "provider")) == shard_key(shard())
    tool = tmp_path / "ptxas"
    found = set()
    for content in (b"one", b"two", bytes(5 << 20), bytes(5 << 20) + b"\1", b"\1" + bytes(5 << 20)):
        tool.write_bytes(content)
        found.add(Toolchain.of(LlvmliteLlvm(), PROVIDER, [Tool("ptxas", str(tool), Version(13, 5, 37))]).provider)
    found.add(Toolchain.of(LlvmliteLlvm(), None, []).provider)
    found.add(Toolchain.of(LlvmliteLlvm(), PROVIDER, []).provider)
    newer = SubprocessProvider(Tool("ptxas", "/nowhere", Version(13, 5, 38)))
    found.add(Toolchain.of(LlvmliteLlvm(), newer, []).provider)
    assert len(found) == 8


@pytest.mark.parametrize(("content", "counts"), [("#!/bin/sh\n", True), ("\x7fELF", False)])
def test_the_version_of_a_script_is_in_the_key(content: str, counts: bool, tmp_path: Path) -> None:
    for name in ("opt", "llc"):
        (tmp_path / name).write_text(content)
    found = {
        Toolchain.of(ExternalLlvm(LlvmTools(str(tmp_path), version, False, frozenset(), frozenset())), None, []).llvm
        for version in ("22.1.0", "22.1.8")
    }
    assert len(found) == 1 + counts


def test_where_a_tool_lies_is_not_in_the_key(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"tool")
    (tmp_path / "b").write_bytes(b"tool")
    assert file_fingerprint(tmp_path / "a") == file_fingerprint(tmp_path / "b")


def test_the_content_of_libdevice_is_in_the_key(tmp_path: Path) -> None:
    found = set()
    for content, name in ((b"one", "sin"), (b"two", "sin"), (b"one", "cos")):
        (tmp_path / "libdevice").write_bytes(content)
        job = ReadLibdevice(tmp_path / "libdevice", frozenset({name}), LlvmliteLlvm())
        found.add(libdevice_key(job, TOOLS))
    assert len(found) == 3


def test_names_are_not_in_the_keys() -> None:
    parts = tuple(LlvmIr(part.text, "other") for part in lowering().parts)
    assert lowering_key(lowering(parts=parts), TOOLS) == lowering_key(lowering(), TOOLS)
    assert shard_key(shard(name="other", source=Ptx(PTX, "other"))) == shard_key(shard())
    modules = (
        RelocatableModule(b"one", RelocatableKind.PLAIN, "other", "other"),
        DeferredModule(Ptx("two", "other")),
        DeviceLibrary(b"three", "other"),
    )
    assert link_key(link(modules=modules), TOOLS) == link_key(link(), TOOLS)


def test_the_order_of_the_inputs_is_not_in_the_key() -> None:
    one, other = (
        Request(inputs, Target("sm_80"), DEFAULT, "cubin", True).program_key(TOOLS, None)
        for inputs in ((b"1", b"2"), (b"2", b"1"))
    )
    assert one == other


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("; ModuleID = 'a'\nsource_filename = \"a.cu\"\ndefine void @f() { ; x\n}\n", "\ndefine void @f() {\n}\n"),
        ('@a = c"x;y" ; z\n', '@a = c"x;y"\n'),
        ('; "quoted"\n@a = c"x;y" ; "z\n  ; w\n@b = c"1;2"\n', '\n@a = c"x;y"\n@b = c"1;2"\n'),
        ('; a " b\n@a = c"x"\n', '\n@a = c"x"\n'),
    ],
)
def test_comments_of_llvm_ir_are_not_in_the_key(text: str, same: str) -> None:
    assert text_without_comments(text) == same == text_without_comments(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('@a = c"x;y"\n', '@a = c"x;z"\n'),
        ('@a = c"x\n;y"\n', '@a = c"x\n;z"\n'),
        ('@a = c"x\nsource_filename = 1\n"\n', '@a = c"x\nsource_filename = 2\n"\n'),
        ('; "\n@a = c"x;y"\n', '; "\n@a = c"x;z"\n'),
        ('@"a;b" = global i32 0\n', '@"a;c" = global i32 0\n'),
    ],
)
def test_what_looks_like_a_comment_is(one: str, other: str) -> None:
    assert text_without_comments(one) != text_without_comments(other)


def test_comments_of_ptx_count_where_ptxas_keeps_the_text() -> None:
    commented = PTX.replace("ret;", '// a comment; "\nret; /* another\n */')
    assert ptx_hash(commented, DEFAULT) != ptx_hash(PTX.replace("ret", "exit"), DEFAULT)
    with_lines = ({"line_info": True}, {"debug_info": True}, {"ptxas_options": ("-lineinfo",)})
    for options in (replace(DEFAULT, **option) for option in with_lines):
        assert ptx_hash(commented, options) != ptx_hash(commented.replace("a comment", "another"), options)
    one, other = (PTX.replace("ret;", f".loc 1 1 1\nret; // {word}") for word in ("one", "other"))
    assert ptx_hash(one, DEFAULT) != ptx_hash(other, DEFAULT)
    one, other = (PTX.replace("ret;", f"ret; // {word}\n/* {word} */") for word in ("one", "other"))
    assert ptx_hash(one, DEFAULT) == ptx_hash(other, DEFAULT)
    assert ptx_hash(one, DEFAULT) != ptx_hash(one.replace("/*", "\n/*"), DEFAULT)  # messages name lines
    strings = [PTX.replace("ret;", f'.pragma "{text}"; ret;') for text in ("a//b", "a//c", "a/*b*/", "a/*c*/")]
    assert len({ptx_hash(text, DEFAULT) for text in strings}) == 4


def test_an_edited_parcubin_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = shard_key(shard())
    monkeypatch.setattr(keys, "own_fingerprint", lambda: "edited")
    edited = shard_key(shard())
    monkeypatch.setattr(keys, "FORMAT", keys.FORMAT + 1)
    assert len({before, edited, shard_key(shard())}) == 3


def variations(source: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """Keys of modules that differ in one option, one byte, one version; and what each is, to tell those that drew the
    same."""
    base = module(*(kernel(f"k{i}", f"  store i32 {i}, ptr %p\n") for i in range(3)))
    places = [place for place, character in enumerate(base) if character.isalnum()]
    for _ in range(count):
        tools, options, text, target, version = TOOLS, DEFAULT, base, "sm_90a", 88
        kind = source.choice(("byte", "byte", "byte", "options", "tools", "target", "version", "ptx"))
        if kind in ("byte", "ptx"):
            at = source.choice(places)
            text = text[:at] + source.choice("abcdefghij0123456789;") + text[at + 1 :]
        elif kind == "options":
            options = CompilationOptions(
                opt_level=source.randrange(4),
                inlining_threshold=source.randrange(1000),
                flush_to_zero=source.random() < 0.5,
            )
        elif kind == "tools":
            tools = Toolchain(f"LLVM 22.1.{source.randrange(5000)}", "ptxas 13.5.37")
        elif kind == "target":
            target = f"sm_{source.randrange(30, 130)}{source.choice(['', 'a', 'f'])}"
        else:
            version = source.randrange(30, 99)
        if kind == "ptx":
            options = replace(DEFAULT, max_registers=source.randrange(1, 256), line_info=True)
            job = shard(source=Ptx(text), options=options, output=source.choice(("module", "assembly")))
            yield shard_key(job), repr((job, text))
        else:
            job_ = lowering(parts=(LlvmIr(text),), options=options, target=Target(target), ptx_version=version)
            what = _meaning(text), options, target, version, tools
            yield lowering_key(job_, tools), repr(what)


def _meaning(text: str) -> str:
    """Without comments, line by line: the base has no strings but that of its first line."""
    first, *lines = text.split("\n")
    pieces = [line.split(";")[0].rstrip(" \t") if ";" in line else line for line in lines]
    return "\n".join([first, *(piece for piece, line in zip(pieces, lines, strict=True) if piece or not line)])


def test_ten_thousand_variations_never_share_an_entry() -> None:
    made: dict[str, str] = {}
    for key, what in variations(random.Random(7), 10_000):
        assert made.setdefault(key, what) == what
    assert len(made) > 5_000
