"""Flushing single-precision denormals to zero."""

from __future__ import annotations

import re

from parcubin.errors import InputError
from parcubin.split.llvm_text import NAME

_ATTRIBUTE = '"denormal-fp-math-f32"="preserve-sign"'


def with_flush_to_zero(text: str) -> str:
    """The module with single-precision denormals flushed: the function attribute that LLVM's NVPTX backend reads and
    the module flag that answers libdevice's `__nvvm_reflect("__CUDA_FTZ")` (LLVM, NVPTX usage guide)."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("define "):
            end = _parameters_end(line)
            rest = re.match(r"(?: (?:local_)?unnamed_addr)?(?: addrspace\(\d+\))?", line[end:])
            end += rest.end() if rest else 0
            line = f"{line[:end]} {_ATTRIBUTE}{line[end:]}"
        lines.append(line)
    # An attribute that the function has already, in its attribute group, would win.
    text = re.sub(r'"denormal-fp-math-f32"="[^"]*"', _ATTRIBUTE, "\n".join(lines))
    flag = '!{i32 4, !"nvvm-reflect-ftz", i32 1}'
    text, found = re.subn(r'!\{i32 \d+, !"nvvm-reflect-ftz", i32 \d+\}', flag, text)
    if found:
        return text
    last = max((int(n) for n in re.findall(r"^!(\d+) = ", text, re.M)), default=0)
    node = f"!{last + 1}"
    text, found = re.subn(r"^(!llvm\.module\.flags = !\{)(.+)\}$", rf"\1\2, {node}}}", text, flags=re.M)
    if not found:
        text = re.sub(r"^!llvm\.module\.flags = .*\n", "", text, flags=re.M) + f"!llvm.module.flags = !{{{node}}}\n"
    return f"{text}{node} = {flag}\n"


def _parameters_end(header: str) -> int:
    depth = 0
    name = re.search(rf"@{NAME}\(", header)
    assert name is not None
    for token in re.finditer(r'"[^"]*"|[()]', header[name.end() - 1 :]):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0:
            return name.end() - 1 + token.end()
    raise InputError(f"The parameters of a function do not end: {header[:120]}")
