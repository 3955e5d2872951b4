"""Fuzzes one target in this process: `python -m tests.fuzz.one TARGET SECONDS SEED FINDINGS CORPUS [--plain]`."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.targets import FuzzTarget

_MEMORY = 4 << 30
_LONGEST = 65536
_BLOWN_UP_EVERY = 400
"""Of so many inputs one is also tried blown up to a megabyte."""


def fuzz_inputs(target: FuzzTarget, count: int, seed: int, findings: Path) -> None:
    """Tries so many mutated seeds, always the same for one `seed`. Inputs that show a fault go to `findings`."""
    from tests.fuzz.mutation import mutated

    rng = Random(seed)
    seeds = target.seeds()
    for number in range(1, count + 1):
        _try(target, mutated(rng, rng.choice(seeds), seeds, target.tokens), findings)
        if number % _BLOWN_UP_EVERY == 0:
            _try_blown_up(target, rng, rng.choice(seeds), findings)


def _fuzz_plainly(name: str, seconds: float, seed: int, findings: Path) -> None:
    from tests.fuzz.targets import TARGETS

    end = time.monotonic() + seconds
    turns = 0
    while time.monotonic() < end:
        turns += 1
        fuzz_inputs(TARGETS[name], _BLOWN_UP_EVERY, seed * 1_000_000 + turns, findings)
    print(f"stat::number_of_executed_units: {turns * _BLOWN_UP_EVERY}")


def _fuzz_guided(name: str, seconds: float, seed: int, findings: Path, corpus: Path) -> None:
    """Lets libFuzzer choose inputs by the code that they reach. What shows a fault is saved, and fuzzing goes on."""
    import atheris

    with atheris.instrument_imports(include=["parcubin"]):
        from tests.fuzz.mutation import mutated
        from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    rng = Random(seed)
    seeds = target.seeds()
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(data)
    dictionary = corpus.parent / f"{name}-{seed}.dict"
    escaped = ("".join(map("\\x{:02x}".format, token)) for token in target.tokens)
    dictionary.write_text("".join(f'"{token}"\n' for token in escaped))
    count = 0

    def test(data: bytes) -> None:
        nonlocal count
        count += 1
        _try(target, data, findings)
        if count % _BLOWN_UP_EVERY == 0:
            _try_blown_up(target, rng, data, findings)

    def mutate(data: bytes, limit: int, number: int) -> bytes:
        if number % 2:
            return mutated(Random(number), data, seeds, target.tokens, limit)
        changed: bytes = atheris.Mutate(data, limit)
        return changed

    options = [f"-max_total_time={max(1, int(seconds))}", f"-seed={seed}", f"-max_len={_LONGEST}"]
    options += [f"-dict={dictionary}", "-timeout=120", "-rss_limit_mb=4096", "-print_final_stats=1"]
    options += [f"-artifact_prefix={findings}/{name}/ended-the-process-"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], test, custom_mutator=mutate)
    atheris.Fuzz()


def _try(target: FuzzTarget, data: bytes, findings: Path) -> None:
    from tests.fuzz.harness import fault, save

    if found := fault(target, data):
        save(findings, target, data, found)


def _try_blown_up(target: FuzzTarget, rng: Random, data: bytes, findings: Path) -> None:
    from tests.fuzz.mutation import blown_up

    if target.blown_up:
        _try(target, blown_up(rng, data, target.tokens), findings)


def main() -> None:
    name, seconds, seed, findings, corpus = sys.argv[1:6]
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    Path(findings, name).mkdir(parents=True, exist_ok=True)
    if "--plain" in sys.argv[6:]:
        _fuzz_plainly(name, float(seconds), int(seed), Path(findings))
    else:
        _fuzz_guided(name, float(seconds), int(seed), Path(findings), Path(corpus))


if __name__ == "__main__":
    main()
