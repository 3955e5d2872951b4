"""What the cache saves: the same input again, and one with a kernel changed, added or removed.

Each kind of run is made without a cache and with one that the first run filled, one after the other, so that both see
the same machine. Both outputs are compared, byte by byte.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import ROOT, Inputs
from benchmarks.measure import measure

_FUNCTION = {
    ".ll": re.compile(r"^define [^@\n]*\bptx_kernel\b[^@\n]*@(?P<name>[\w$.]+)\(.*?^\}\n", re.MULTILINE | re.DOTALL),
    ".ptx": re.compile(r"^\.visible \.entry (?P<name>[\w$]+)\(.*?^\}\n", re.MULTILINE | re.DOTALL),
}
_END = {".ll": "\n  ret void", ".ptx": "\n\tret;"}
_EFFECT = {".ll": "\n  store volatile i32 0, ptr null", ".ptx": "\n\tmembar.sys;"}
_DEBUG = re.compile(r",? !dbg !\d+")


@dataclass(frozen=True)
class Incremental:
    """One kind of run, beside the same one without a cache. Medians; ratios are taken within a repetition.

    Attributes:
        case: the case's title.
        run: what was compiled.
        plain_s: wall seconds without a cache.
        cached_s: wall seconds with it.
        ratio: of the two.
        compiled: shards that were compiled with it.
        shards: all shards.
    """

    case: str
    run: str
    plain_s: float
    cached_s: float
    ratio: float
    compiled: int
    shards: int


def incremental(inputs: Inputs, repetitions: int, folder: Path) -> tuple[Incremental, ...]:
    """Measures one case; the kernel in question is the one in the middle of the first file."""
    variants = _variants(inputs, folder)
    found: dict[str, list[tuple[float, float, int, int]]] = {name: [] for name in variants}
    for repetition in range(repetitions):
        cache = folder / f"cache-{repetition}"
        filled = folder / f"filled-{repetition}"
        for name, files in variants.items():
            plain = _run(inputs, files, folder / "plain.cubin", ["--no-cache"])
            if name != "first":  # each change is the only one since the first run
                shutil.rmtree(cache)
                shutil.copytree(filled, cache)
            cached = _run(inputs, files, folder / "cached.cubin", ["--cache", str(cache)])
            if name == "first":
                shutil.copytree(cache, filled)
            if (folder / "plain.cubin").read_bytes() != (folder / "cached.cubin").read_bytes():
                sys.exit(f"{inputs.case.title}, {name}: the output differs with the cache")
            found[name].append((plain[0], cached[0], cached[1], cached[2]))
            print(
                f"{inputs.case.title}, {name}: {plain[0]:.2f} s without, {cached[0]:.2f} s with, "
                f"{cached[1]} of {cached[2]} shards compiled",
                file=sys.stderr,
            )
        shutil.rmtree(cache)
        shutil.rmtree(filled)
    return tuple(
        Incremental(
            case=inputs.case.title,
            run=name,
            plain_s=statistics.median(plain for plain, _, _, _ in runs),
            cached_s=statistics.median(cached for _, cached, _, _ in runs),
            ratio=statistics.median(cached / plain for plain, cached, _, _ in runs),
            compiled=max(compiled for _, _, compiled, _ in runs),
            shards=runs[0][3],
        )
        for name, runs in found.items()
    )


def table(rows: Sequence[Incremental]) -> str:
    """The results, as Markdown."""
    lines = [
        "| input | run | without | with the cache | ratio | shards compiled |",
        "| --- | --- | --: | --: | --: | --: |",
    ]
    lines += [
        f"| {row.case} | {row.run} | {row.plain_s:.2f} s | {row.cached_s:.2f} s | {row.ratio:.1%} | "
        f"{row.compiled} of {row.shards} |"
        for row in rows
    ]
    return "\n".join(lines)


def _run(inputs: Inputs, files: Sequence[Path], output: Path, options: Sequence[str]) -> tuple[float, int, int]:
    """Wall seconds, shards compiled, and shards."""
    line_info = ["--lineinfo"] if inputs.case.line_info else []
    command = [
        sys.executable,
        "-m",
        "parcubin",
        "compile",
        *map(str, files),
        "--arch",
        inputs.case.arch,
        "--json",
        "-q",
    ]
    done = measure([*command, "-o", str(output), *line_info, *options], ROOT)
    if done.status:
        sys.exit(f"parcubin fails: {done.log}")
    report = json.loads(done.output)
    return done.wall_s, report["shards"] - report["cached"], report["shards"]


def _variants(inputs: Inputs, folder: Path) -> dict[str, tuple[Path, ...]]:
    first, *others = inputs.files
    text, kind = first.read_text(), first.suffix
    kernels = list(_FUNCTION[kind].finditer(text))
    kernel = kernels[len(kernels) // 2]
    body, name = kernel[0], kernel["name"]
    copy = _DEBUG.sub("", body.replace(name, f"{name}_copy"))
    changes: dict[str, Callable[[], str]] = {
        "one kernel changed": lambda: body.replace(_END[kind], _EFFECT[kind] + _END[kind], 1),
        "one kernel added": lambda: body + copy,
        "one kernel removed": lambda: "",
    }
    files = {"first": inputs.files, "again": inputs.files}
    for what, changed in changes.items():
        path = folder / f"{what.replace(' ', '-')}{kind}"
        path.write_text(text[: kernel.start()] + changed() + text[kernel.end() :])
        files[what] = (path, *others)
    return files
