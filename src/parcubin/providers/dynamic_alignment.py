"""Alignment of dynamic shared memory in code that is compiled the `-c` way.

Dynamic shared memory starts behind a kernel's static shared memory. Before 13.1 neither `ptxas -c` nor a linker keeps
its alignment: it starts at the next multiple of 16 bytes, whatever the PTX says (our measurement, 12.9 and 13.0; whole
programs and `-ewp` modules are right). So for such releases all static shared memory is rounded up to the alignment,
and ends at a multiple of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from parcubin.errors import LinkCheckError
from parcubin.inspect.cubin import CubinInfo, CubinKind
from parcubin.inspect.shared_symbols import with_alignments
from parcubin.model import LinkInput, Ptx
from parcubin.providers.link_inputs import undeferred
from parcubin.ptx_syntax import VariableDeclaration, variable_declaration, without_comments

_FIRST_RELEASE_THAT_KEEPS_IT = (13, 1)
_KEPT_IN_ANY = 16
"""Bytes."""

_DYNAMIC = re.compile(r"\.extern\s+\.shared\b")
_DECLARATION = re.compile(r"(?:\.(?:visible|weak|extern)\s+)?\.shared\b(?<![\w$%]\.shared)[^;{}()=]*;")
_ALIGNMENT = re.compile(r"\s*\.align\s+(\w+)")


def loses_alignment(release: tuple[int, int]) -> bool:
    """Whether tools of a release lose alignments larger than 16 bytes."""
    return release < _FIRST_RELEASE_THAT_KEEPS_IT


def with_room(inputs: Sequence[LinkInput], release: tuple[int, int]) -> list[LinkInput]:
    """The inputs of a link, with static shared memory in the PTX among them rounded up where the tool's release needs
    it. Lines stay where they are, and shared memory that other modules may name keeps its size."""
    modules = [undeferred(i) for i in inputs]
    alignment = max((_largest(m.text) for m in modules if isinstance(m, Ptx)), default=_KEPT_IN_ANY)
    if alignment <= _KEPT_IN_ANY or not loses_alignment(release):
        return list(inputs)
    return [Ptx(_with_room(m.text, alignment), m.name) if isinstance(m, Ptx) else m for m in modules]


def with_room_in_module(ptx: Ptx, release: tuple[int, int]) -> Ptx:
    """`with_room` for a module that is linked later."""
    (only,) = with_room([ptx], release)
    assert isinstance(only, Ptx)
    return only


def dynamic_alignments(text: str) -> dict[str, int]:
    """The alignments, in bytes, of the dynamic shared memory of PTX, by name."""
    if not _DYNAMIC.search(text):
        return {}
    found = {}
    for match, declaration in _declarations(without_comments(_encoded(text))):
        alignment = max(_alignment(match[0]), _KEPT_IN_ANY)
        if declaration.linkage == "extern":
            found.update({d.name: alignment for d in declaration.declarators if d.size is None})
    return found


def with_alignments_of(cubin: bytes, ptx: Ptx) -> bytes:
    """A plain module with the alignments that its PTX says, for newer linkers and for the check after a link. ptxas
    writes them from 13.1 on."""
    alignments = dynamic_alignments(ptx.text)
    return with_alignments(cubin, alignments) if alignments else cubin


def check_alignments(output: CubinInfo, inputs: Iterable[CubinInfo]) -> None:
    """Checks what a linker that loses alignments made.

    Raises:
        LinkCheckError: a kernel has static shared memory of another module in front of its own dynamic one, which is
            not aligned.
    """
    for module in inputs:
        for kernel, alignment in module.dynamic_alignments.items() if module.kind is CubinKind.PLAIN else ():
            if alignment and (output.kernels[kernel].shared_bytes or 0) % alignment:
                raise LinkCheckError(
                    f"The dynamic shared memory of kernel {kernel} must be aligned to {alignment} bytes, but CUDA "
                    "before 13.1 links it behind the shared memory of functions of other modules and aligns it to "
                    f"{_KEPT_IN_ANY}. Use CUDA 13.1 or newer, or compile these functions in the kernel's module.",
                    kernels=[kernel],
                )


def _largest(text: str) -> int:
    return max(dynamic_alignments(text).values(), default=0)


def _with_room(text: str, alignment: int) -> str:
    data = _encoded(text)
    pieces: list[bytes] = []
    position = 0
    for match, declaration in _declarations(without_comments(data)):
        variables = declaration.declarators
        if declaration.linkage != "local" or not all(v.size for v in variables):
            continue
        modifiers = " ".join(
            _ALIGNMENT.sub("", match[0][declaration.keyword + len(".shared") : variables[0].start]).split()
        )
        larger = []
        for variable in variables:
            assert variable.size is not None
            count = int(variable.dimensions[0].rstrip("U"), 0) if variable.dimensions else 1
            element = variable.size // count
            room = next(n for n in range(count, count + alignment) if n * element % alignment == 0)
            larger.append(variable.name + "".join(f"[{n}]" for n in (room, *variable.dimensions[1:])))
        lines = "\n" * match[0].count("\n")
        written = f".shared .align {max(alignment, _alignment(match[0]))} {modifiers} {', '.join(larger)};{lines}"
        pieces += [data[position : match.start()], written.encode("ascii")]
        position = match.end()
    return (b"".join(pieces) + data[position:]).decode("utf-8", "surrogateescape")


def _declarations(code: str) -> Iterator[tuple[re.Match[str], VariableDeclaration]]:
    """The declarations of shared memory, in functions too."""
    for match in _DECLARATION.finditer(code):
        declaration = variable_declaration(match[0])
        if declaration is not None and declaration.complete:
            yield match, declaration


def _alignment(declaration: str) -> int:
    match = _ALIGNMENT.search(declaration)
    return int(match[1].rstrip("U"), 0) if match else 0


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
