"""The cost model: measures what kernels take to compile, fits the weights of `parcubin.split.cost`, plans with them.

    python -m benchmarks.fit_cost measure     compiles every kernel of the corpus alone, and the shards
    python -m benchmarks.fit_cost             fits the weights to what was measured, and prints their error
    python -m benchmarks.fit_cost plan        compiles the shards, and prints how they fill 2 and 16 workers

Times are CPU seconds with llvmlite and ptxas, the least of several runs. Errors are of kernels, and of shards, that the
fit had not seen (5 parts, each predicted by a fit of the others), next to those of a model that knows the length of the
text alone.
"""

from __future__ import annotations

import json
import lzma
import platform
import re
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.generated_kernels import TARGET, generated_module
from parcubin import CompilationOptions, Compiler, ParcubinError
from parcubin.lower.libdevice import part_of_libdevice
from parcubin.lower.llvmlite import LlvmliteLlvm
from parcubin.split import cost, grouping
from parcubin.split.llvm_ir import LlvmOutline, outline_llvm_ir
from parcubin.split.llvm_shard import LlvmPart
from parcubin.split.outline import SymbolKind
from parcubin.split.plan import plan_shards
from parcubin.split.ptx import PtxOutline, outline_ptx
from parcubin.split.ptx_shard import PtxPart, PtxShard
from parcubin.toolchain.locate import find_libdevice
from parcubin.workers.jobs import CompileShard, Lowering

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(__file__).parent / "data" / "kernel_costs.json.xz"
PTX_VERSION = 90
RUNS = 6
GENERATED = "generated.ll"
FILES = {"inductor.ll": "sm_90a", "cub.ll": "sm_80", "cub.ptx": "sm_80"}
PLANNED = ("inductor.ll", "cub.ll", "cub.ptx")

Outline = LlvmOutline | PtxOutline
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass
class Row:
    """What compiling some kernels as a shard takes.

    Attributes:
        input: a file of the corpus, or `GENERATED`.
        kernels: their names.
        seconds: CPU seconds by stage, of the fastest run.
        peak_memory: bytes, of the largest run.
    """

    input: str
    kernels: tuple[str, ...]
    seconds: dict[str, float]
    peak_memory: int

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def family(self) -> str:
        return re.sub(r"^xt/.*\.", "xla.", self.input)


def inputs() -> Iterator[tuple[str, str, bytes]]:
    """Name, target and content of every input."""
    for file, target in FILES.items():
        yield file, target, lzma.decompress((ROOT / "corpus" / f"{file}.xz").read_bytes())
    yield GENERATED, TARGET, generated_module().encode()
    with tarfile.open(ROOT / "corpus" / "xla-transformer.tar.xz") as archive:
        for member in sorted(archive.getmembers(), key=lambda m: m.name):
            if member.isfile() and (content := archive.extractfile(member)):
                yield member.name, TARGET, content.read()


def outline_of(name: str, data: bytes) -> Outline:
    return outline_ptx(data, name) if name.endswith(".ptx") else outline_llvm_ir(data.decode(), name)


def reached(outline: Outline, kernels: Iterable[str]) -> frozenset[str]:
    """What the kernels need defined."""
    pending = [s.name for s in outline.symbols.values() if outline.plain_name(s.name) in set(kernels)]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in found and outline.symbols[name].defined:
            found.add(name)
            pending += outline.symbols[name].references
    return frozenset(found)


@cache
def libdevice() -> LlvmOutline | None:
    found = find_libdevice()
    if found is None:
        return None
    return outline_llvm_ir(LlvmliteLlvm().print_module(Path(found.path).read_bytes(), "libdevice"))


def job_of(compiler: Compiler, outline: Outline, kernels: tuple[str, ...]) -> CompileShard:
    define = reached(outline, kernels)
    options = CompilationOptions(line_info=outline.name == "inductor.ll")
    source: PtxShard | Lowering
    if isinstance(outline, PtxOutline):
        source = PtxShard(kernels[0], (PtxPart(outline, define, frozenset(), {}),), frozenset())
    else:
        part = LlvmPart(outline, define, frozenset(), {})
        source = Lowering(
            LlvmliteLlvm(),
            (part,),
            compiler.target,
            options,
            PTX_VERSION,
            frozenset(kernels),
            part_of_libdevice([part], libdevice()),
        )
    selection = compiler.select_provider("bundle")
    assert selection is not None
    return CompileShard(kernels[0], source, compiler.target, options, selection.provider, "assembly")


def measured(compiler: Compiler, outline: Outline, kernels: tuple[str, ...]) -> Row:
    group = compiler._pool.group()
    result = group.submit(job_of(compiler, outline, kernels)).result()
    return Row(outline.name, kernels, result.seconds, group.peak_memory)


def shards_of(outline: Outline) -> list[tuple[tuple[str, ...], int]]:
    """Kernels and predicted cost of each shard of a bundle."""
    return [(shard.kernels, shard.cost) for shard in plan_shards([outline], "bundle").shards if shard.kernels]


def measure() -> None:
    """Compiles every kernel alone and every shard, `RUNS` times, and writes `DATA`."""
    rows: dict[tuple[str, tuple[str, ...]], Row] = {}
    compilers = {target: Compiler(target, jobs=1) for target in {TARGET, *FILES.values()}}
    for _ in range(RUNS):
        for name, target, data in inputs():
            outline = outline_of(name, data)
            with mock.patch.object(grouping, "ALONE_COST", -1):
                alone = shards_of(outline)
            for kernels, _ in dict.fromkeys(alone + shards_of(outline)):
                try:
                    row = measured(compilers[target], outline, kernels)
                except ParcubinError as error:
                    print(f"{name}, {kernels[0]}: {error}")
                    continue
                best = rows.setdefault((name, kernels), row)
                if row.total < best.total:
                    best.seconds = row.seconds
                best.peak_memory = max(best.peak_memory, row.peak_memory)
    for compiler in compilers.values():
        compiler.close()
    write(list(rows.values()))


def write(rows: Sequence[Row]) -> None:
    processor = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    machine = {
        "cpu": processor[1] if processor else platform.machine(),
        "python": platform.python_version(),
        "llvmlite": version("llvmlite"),
        "ptxas": version("nvidia-cuda-nvcc"),
    }
    content = json.dumps({"machine": machine, "rows": [asdict(row) for row in rows]})
    DATA.write_bytes(lzma.compress(content.encode(), preset=9))


def read() -> list[Row]:
    content = json.loads(lzma.decompress(DATA.read_bytes()))
    print(", ".join(f"{key} {value}" for key, value in content["machine"].items()))
    return [Row(**{**row, "kernels": tuple(row["kernels"])}) for row in content["rows"]]


@dataclass(frozen=True)
class Counts:
    """What is counted in a module of LLVM IR: by function and, with what is inlined, by kernel."""

    outline: LlvmOutline
    once: Mapping[str, Floats]
    copies: Mapping[str, Floats]
    length: Mapping[str, int]


def counts_of(outline: LlvmOutline) -> Counts:
    names = [s.name for s in outline.symbols.values() if s.kind is not SymbolKind.VARIABLE]
    texts = {name: outline._entities[name].text for name in names if outline.symbols[name].defined}
    once = {name: np.array([text.count(what) for what, _ in cost.LLVM_FUNCTION]) for name, text in texts.items()}
    own = [
        [
            *([texts[name].count(what) for what, _ in cost.LLVM_COPY] if name in texts else [0] * len(cost.LLVM_COPY)),
            cost.back_edges(texts[name]) if name in texts else 0,
            int(bool(cost.llvm_declaration_copy_cost(name)) and name not in texts),
        ]
        for name in names
    ]
    index = {name: i for i, name in enumerate(names)}
    symbols = [outline.symbols[name] for name in names]
    calls = [[(index[c], times) for c, times in s.calls.items() if c in index] for s in symbols]
    never = [s.never_inlined or s.kind is SymbolKind.KERNEL for s in symbols]
    columns = [cost.inlined_costs(column, calls, never) for column in zip(*own, strict=True)]
    return Counts(
        outline,
        once,
        {name: np.array(row) for name, row in zip(names, zip(*columns, strict=True), strict=True)},
        {name: len(text) for name, text in texts.items()},
    )


def llvm_features(counts: Counts, row: Row) -> tuple[list[float], float]:
    """What the model counts, and the length of the text."""
    define = [name for name in reached(counts.outline, row.kernels) if name in counts.once]
    kernels = [name for name in define if counts.outline.plain_name(name) in row.kernels]
    once = sum((counts.once[name] for name in define), np.zeros(len(cost.LLVM_FUNCTION)))
    copies = sum((counts.copies[name] for name in define), np.zeros(len(cost.LLVM_COPY) + 2))
    assert kernels
    return [*once, *copies], sum(counts.length[name] for name in define)


def least_squares(features: Floats, values: Floats, weights: Floats) -> Floats:
    """The weights, none negative, that fit best (Lawson and Hanson)."""
    scale = features.max(axis=0) + 1e-9
    a, b = features / scale * weights[:, None], values * weights
    used = np.zeros(a.shape[1], bool)
    found = np.zeros(a.shape[1])
    for _ in range(10 * a.shape[1]):
        gain = np.where(used, -np.inf, a.T @ (b - a @ found))
        if used.all() or gain.max() <= 1e-9:
            break
        used[gain.argmax()] = True
        while True:
            trial = np.zeros_like(found)
            trial[used] = np.linalg.lstsq(a[:, used], b, rcond=None)[0]
            negative = used & (trial <= 0)
            if not negative.any():
                break
            step = (found[negative] / (found[negative] - trial[negative])).min()
            found += step * (trial - found)
            used &= found > 1e-12
            found[~used] = 0
        found = trial
    result: Floats = found / scale
    return result


def predicted(features: Floats, values: Floats, weights: Floats) -> Floats:
    """What fits of four fifths predict for the other."""
    part = np.random.default_rng(0).integers(0, 5, len(values))
    result = np.zeros(len(values))
    for k in range(5):
        seen = part != k
        result[~seen] = features[~seen] @ least_squares(features[seen], values[seen], weights[seen])
    return result


def report(label: str, prediction: Floats, values: Floats) -> None:
    error = np.abs(prediction - values) / values
    ranks = [np.argsort(np.argsort(x)) - (len(x) - 1) / 2 for x in (prediction, values)]
    correlation = float(ranks[0] @ ranks[1] / (ranks[1] @ ranks[1]))
    print(
        f"    {label:12} {np.median(error):6.1%} {np.quantile(error, 0.9):6.1%} {correlation:6.2f} "
        f"{prediction.sum() / values.sum() - 1:+6.1%}"
    )


def fit(title: str, rows: Sequence[Row], features: Mapping[str, Floats], values: Floats, names: Sequence[str]) -> None:
    """Prints the errors of models, and the weights of the last."""
    several = np.array([len(row.kernels) > 1 for row in rows])
    generated = np.array([row.input == GENERATED for row in rows])
    weights = np.where(several, 3, 1) * np.where(generated, 0.3, 1) / (values + 0.05)
    print(f"\n{title}: {len(rows)} measured\n    {'':12} median  90 %   rank   total")
    models = {name: np.c_[np.ones(len(rows)), counts] for name, counts in features.items()}
    predictions = {name: predicted(model, values, weights) for name, model in models.items()}
    for family in sorted({row.family for row in rows}):
        for shards in (False, True):
            chosen = np.array([row.family == family for row in rows]) & (several == shards)
            if chosen.sum() > 2:
                print(f"  {family}, {chosen.sum()} {'shards' if shards else 'kernels alone'}")
                for name, prediction in predictions.items():
                    report(name, prediction[chosen], values[chosen])
    found = least_squares(list(models.values())[-1], values, weights)
    for name, weight in zip(["start of a compiler", *names], found, strict=True):
        print(f"  {weight * 1e6:10.1f} us  {name}")


def fit_all() -> None:
    rows = read()
    modules = {name: outline_of(name, data) for name, _, data in inputs()}
    counted = {name: counts_of(outline) for name, outline in modules.items() if isinstance(outline, LlvmOutline)}
    lowered = [
        row for row in rows if row.input.endswith(".ll") and not (row.input == GENERATED and len(row.kernels) > 1)
    ]
    features, lengths = zip(*(llvm_features(counted[row.input], row) for row in lowered), strict=True)
    known = np.array([len(row.kernels) * cost.LLVM_KERNEL * 1e-6 for row in lowered])
    names = [
        *(repr(what) for what, _ in cost.LLVM_FUNCTION),
        *(f"{what!r}, each copy" for what, _ in cost.LLVM_COPY),
        "back edge, each copy",
        "call of libdevice, each copy",
    ]
    values = np.array([row.total for row in lowered]) - known
    models = {"length": np.array(lengths, float)[:, None], "model": np.array(features)}
    fit("LLVM IR", lowered, models, values, names)

    ptx = [row for row in rows if row.input.endswith(".ptx")]
    length = [sum(len_of(modules[row.input], name) for name in reached(modules[row.input], row.kernels)) for row in ptx]
    values = np.array([row.total - len(row.kernels) * cost.PTX_KERNEL * 1e-6 for row in ptx])
    fit("PTX", ptx, {"length": np.array(length, float)[:, None]}, values, ["character"])


def len_of(outline: Outline, name: str) -> int:
    """Characters of a function of PTX."""
    assert isinstance(outline, PtxOutline)
    return sum(p.end - p.start for p in outline.pieces_of([name]) if p.variable is None)


def makespan(seconds: Sequence[float], workers: int) -> float:
    """When the last worker is done, if each takes the next shard when it has none."""
    free = [0.0] * workers
    for taken in seconds:
        free[free.index(min(free))] += taken
    return max(free)


def plan() -> None:
    """Compiles the shards three times each and prints the makespan, costliest first, of 2 and of 16 workers."""
    for name, target, data in inputs():
        if name not in PLANNED:
            continue
        outline = outline_of(name, data)
        planned = sorted(shards_of(outline), key=lambda shard: -shard[1])
        with Compiler(target, jobs=1) as compiler:
            runs = [[measured(compiler, outline, kernels).total for kernels, _ in planned] for _ in range(3)]
        seconds = [min(times) for times in zip(*runs, strict=True)]
        report_plan(name, [predicted_cost * 1e-6 for _, predicted_cost in planned], seconds)


def report_plan(name: str, predictions: Sequence[float], seconds: Sequence[float]) -> None:
    total = sum(seconds)
    print(
        f"{name}: {len(seconds)} shards, {total:.1f} s (predicted {sum(predictions):.1f}), longest {max(seconds):.2f} s"
    )
    report("shards", np.array(predictions), np.array(seconds))
    for workers in (2, 16):
        limit = max(max(seconds), total / workers)
        span = makespan(seconds, workers)
        print(f"    {workers} workers: {span:.2f} s, at least {limit:.2f} s: {span / limit - 1:+.1%}")


def main() -> None:
    {"measure": measure, "plan": plan}.get("".join(sys.argv[1:]), fit_all)()


if __name__ == "__main__":
    main()
