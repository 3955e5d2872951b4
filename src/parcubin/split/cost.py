"""What compiling takes, predicted from text: CPU microseconds on the machine of `benchmarks/data/kernel_costs.json.xz`.

The weights are what `benchmarks/fit_cost.py` fits to measured times; docs/architecture.md has their error. Costs are
whole numbers, so that sums do not depend on the order of what is added.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

LLVM_FUNCTION = (("\n  ", 50.0), ("!dbg ", 67.0))
"""Microseconds for each occurrence in the text of a function of LLVM IR: instructions, and their source locations."""

LLVM_COPY = ((" add ", 270.0), (" fdiv ", 1500.0))
"""Likewise, in each copy of it that is inlined. Additions of integers make addresses for the most part, and tell code
that does something from wrappers around it."""

LLVM_BACK_EDGE, LLVM_LIBDEVICE = 3900.0, 830.0
"""Likewise, for each loop, which LLVM and ptxas unroll, and for each call of a function of libdevice."""

LLVM_KERNEL, LLVM_DATA = 1000, 0.19
"""Microseconds for an empty kernel, and for a character of initial values (1,000 kernels, 400,000 numbers)."""

PTX_CHARACTER = 1.7
"""Microseconds for a character of a function of PTX. What its text holds says hardly more than its length."""

PTX_KERNEL, PTX_DATA = 500, 0.08
"""As for LLVM IR."""

INLINED_COST = 50_000
"""Functions whose code costs more are not inlined in several places."""

_LABEL = re.compile(r'\n([-\w$.]+|"[^"\n]*"):', re.A)
_TARGET = re.compile(r'label %([-\w$.]+|"[^"\n]*")', re.A)


def llvm_function_cost(text: str) -> int:
    """What a function costs each shard that holds it."""
    return _weighted(text, LLVM_FUNCTION)


def llvm_copy_cost(text: str) -> int:
    """What a function's code costs wherever it is inlined, and in a kernel."""
    return _weighted(text, LLVM_COPY) + round(LLVM_BACK_EDGE * back_edges(text))


def llvm_declaration_copy_cost(name: str) -> int:
    """What a function that the module only declares costs wherever it is called."""
    return round(LLVM_LIBDEVICE) if name.startswith("__nv_") else 0


def back_edges(text: str) -> int:
    """Branches to where a function of LLVM IR has been already."""
    if "label %" not in text:
        return 0
    places = {label[1]: label.start() for label in _LABEL.finditer(text)}
    return sum(places.get(target[1], len(text)) < target.start() for target in _TARGET.finditer(text))


def _weighted(text: str, weights: Sequence[tuple[str, float]]) -> int:
    return round(sum(weight * text.count(what) for what, weight in weights))


def inlined_costs(own: Sequence[int], calls: Sequence[Sequence[tuple[int, int]]], never: Sequence[bool]) -> list[int]:
    """What every function's code costs, with that of the functions that are inlined into it.

    Args:
        own: the cost of a copy of each function.
        calls: for each function, those that it calls and how often.
        never: functions that are not inlined.

    Returns:
        For each function the cost, or 0 for those that are inlined wherever they are called. A function that reaches
        itself, or calls one that does, is not.
    """
    total = list(own)
    callers: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for caller, callees in enumerate(calls):
        for callee, times in callees:
            callers[callee].append((caller, times))
    left = [len(callees) for callees in calls]
    ready = [node for node, count in enumerate(left) if not count]
    for node in ready:
        inlined = not never[node] and total[node] <= INLINED_COST
        for caller, times in callers[node]:
            total[caller] += times * total[node] if inlined else 0
            left[caller] -= 1
            if not left[caller]:
                ready.append(caller)
        if inlined:
            total[node] = 0
    return total
