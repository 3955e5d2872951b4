"""Names for generated symbols: what the formats allow, unusual ones among them."""

from __future__ import annotations

import re
from random import Random

from tests.generated.description import Format

_LLVM_LOCAL = (
    "{}",
    "{}.llvm.17",
    "{}.isra.0",
    "{} with spaces",
    "{} = {{ ; }}",
    '{} "quoted"',
    "{}\\back",
    "{}(i32)",
    "{}::<impl @T>::new",
    "é{}ü",
    "日本{}",
    "{}\n\t",
    "-{}",
    ".{}",
    "${}",
    "_$_{}",
    "{}$x",
    "!{}",
    "#{}",
    "@{}",
)
_LLVM_WORDS = ("i32", "ptr", "float", "label", "void", "define", "declare", "global", "call", "to", "asm", "addrspace")
"""What `{}` stands for is a name that is unique, and words of the language stand alone."""

_PTX = ("{}", "_{}", "${}", "%{}", "{}$", "_$_{}", "__{}__2", "{}_param_0", "_ZN3{}E", "{}" + "x" * 90)
_PTX_WORDS = ("i32", "f", "entry", "func", "param", "u32", "in", "out", "visible", "global", "file")
"""Names that registers, labels and parameters of the rendered code have are not among them. ptxas 13.5 takes directives
without their dot for names."""

CONSTANT_DATA = ("$str${}", "__unnamed_{}", "__const_$_f{}_$_t", "switch_$_table_$_{}", "anon_$_{}", "_$_str_$_{}")
"""What compilers call tables that are copied; `{}` is a number."""

_C = ("{}", "_{}", "_Z2{}Pi", "__{}", "{}__2")


def draw_name(random: Random, format_: Format, stem: str, taken: set[str], *, for_host: bool, local: bool) -> str:
    """A name that no other symbol has.

    Args:
        stem: what is unique in the name.
        taken: all names so far; the new one is added.
        for_host: the host must be able to name it.
        local: it has internal linkage, in LLVM IR, where LLVM writes another name if PTX does not have it.
    """
    if for_host:
        name = random.choice(_C).format(stem)
    elif format_ == "ll" and local:
        name = random.choice(_LLVM_WORDS) if random.random() < 0.15 else random.choice(_LLVM_LOCAL).format(stem)
    elif format_ == "ll":
        name = random.choice((*_C, "${}", "{}$x")).format(stem)
    else:
        name = random.choice(_PTX_WORDS) if random.random() < 0.1 else random.choice(_PTX).format(stem)
    if random.random() < 0.3 or name in taken:
        name = stem
    assert name not in taken
    taken.add(name)
    return name


def spelled(name: str, *, needlessly: bool = False) -> str:
    """A name as LLVM prints it.

    Args:
        needlessly: with quotes in any case, which it does not.
    """
    if not needlessly and re.fullmatch(r"[-a-zA-Z._][-\w.]*", name, re.ASCII):
        return name
    return '"' + "".join(_escaped(byte) for byte in name.encode()) + '"'


def _escaped(byte: int) -> str:
    return chr(byte) if 0x20 <= byte < 0x7F and chr(byte) not in '"\\' else f"\\{byte:02X}"
