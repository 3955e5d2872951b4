"""How parcubin's wall time falls with the number of cores, and how time and memory grow with the input."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import Inputs


@dataclass(frozen=True)
class Scaling:
    """parcubin's bundle on some cores, with as many jobs. Medians.

    Attributes:
        case: the case's title.
        jobs: workers and cores.
        wall_s: seconds.
        speedup: the wall time on the fewest cores by this one, of the same repetition.
    """

    case: str
    jobs: int
    wall_s: float
    speedup: float


@dataclass(frozen=True)
class Growth:
    """parcubin's bundle of an input, and of as much input several times over. Medians of ratios within a repetition.

    Attributes:
        case: the case's title.
        copies: how many times the work.
        bytes: size of all copies.
        wall_s: seconds that the copies took.
        wall_ratio: their wall time by that of one, and by their number: 1 when time grows as the work does.
        cpu_ratio: likewise for CPU time.
        memory_ratio: likewise for the peak memory of the main process.
    """

    case: str
    copies: int
    bytes: int
    wall_s: float
    wall_ratio: float
    cpu_ratio: float
    memory_ratio: float


def scaling_of(case: str, walls: Sequence[tuple[int, int, float]]) -> tuple[Scaling, ...]:
    """From (repetition, jobs, wall seconds)."""
    by_jobs: dict[int, dict[int, float]] = defaultdict(dict)
    for repetition, jobs, wall in walls:
        by_jobs[jobs][repetition] = wall
    fewest = by_jobs[min(by_jobs)]
    return tuple(
        Scaling(
            case=case,
            jobs=jobs,
            wall_s=statistics.median(own.values()),
            speedup=statistics.median(fewest[r] / wall for r, wall in own.items()),
        )
        for jobs, own in sorted(by_jobs.items())
    )


_LLVM_NAME = r'(?:"[^"\n]*"|[-\w$.]+)'
_LLVM_DEFINED = re.compile(rf"^(?:define [^@\n]*)?@({_LLVM_NAME})(?=\(| =)|^\$({_LLVM_NAME}) = comdat", re.MULTILINE)
_LLVM_TOKEN = re.compile(rf"([@$])({_LLVM_NAME})")
_PTX_DEFINED = re.compile(
    r"^[ \t]*(?:\.(?:visible|weak|common)\s+)?"
    r"(?:\.entry\s+|\.func\s*(?:\([^)]*\)\s*)?|\.(?:global|const|shared)\b[^;={\[\n]*?)([A-Za-z_$%][\w$]*)(?=\s*[(\[=;])",
    re.MULTILINE,
)
_PTX_TOKEN = re.compile(r"[A-Za-z_$%][\w$]*")


def renamed(text: str, suffix: str, *, is_ptx: bool) -> str:
    """A module with another name for everything that it defines."""
    if is_ptx:
        names = set(_PTX_DEFINED.findall(text))
        return _PTX_TOKEN.sub(lambda match: match[0] + suffix if match[0] in names else match[0], text)
    names = {symbol or comdat for symbol, comdat in _LLVM_DEFINED.findall(text)}
    names = {name for name in names if not name.strip('"').startswith("llvm.")}

    def new_name(match: re.Match[str]) -> str:
        sigil, name = match.groups()
        if name not in names:
            return match[0]
        return f'{sigil}{name[:-1]}{suffix}"' if name.startswith('"') else f"{sigil}{name}{suffix}"

    return _LLVM_TOKEN.sub(new_name, text)


def write_copies(inputs: Inputs, copies: int, folder: Path) -> tuple[Path, ...]:
    """Writes a case's files several times over, each time under other names."""
    paths = []
    for source in inputs.files:
        text = source.read_text()
        for copy in range(copies):
            path = folder / f"{source.stem}.copy{copy}{source.suffix}"
            path.write_text(renamed(text, f"_copy{copy}", is_ptx=source.suffix == ".ptx"))
            paths.append(path)
    return tuple(paths)
