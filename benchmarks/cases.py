"""What is compiled: files of the corpus, and the options that every contender gets."""

from __future__ import annotations

import lzma
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from parcubin import Compiler
from parcubin.split import grouping

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "corpus"
XLA = "xla-transformer"

_KERNEL = {
    ".ll": re.compile(r'^define [^@\n]*\bptx_kernel\b[^@\n]*@(?:"([^"\n]+)"|([-\w$.]+))', re.MULTILINE),
    ".ptx": re.compile(r"()\.entry\s+([\w$%]+)"),
}


@dataclass(frozen=True)
class Case:
    """Inputs that make one program.

    Attributes:
        key: its name on the command line.
        title: its name in tables.
        files: of the corpus, without `.xz`; `XLA` stands for the PTX of its 75 modules.
        arch: the target.
        line_info: whether line tables are kept.
    """

    key: str
    title: str
    files: tuple[str, ...]
    arch: str
    line_info: bool = False


CASES = (
    Case("inductor", "inductor.ll", ("inductor.ll",), "sm_90a", line_info=True),
    Case("cub", "cub.ll", ("cub.ll",), "sm_80"),
    Case("cub-ptx", "cub.ptx", ("cub.ptx",), "sm_90"),
    Case("cub-ptx-sm_80", "cub.ptx", ("cub.ptx",), "sm_80"),
    # 30 of its 75 modules of LLVM IR are in a form that LLVM 22 cannot parse, so it takes part as PTX.
    Case("xla", "XLA, 75 modules of PTX", (XLA,), "sm_90a"),
    Case("all", "all together", ("inductor.ll", "cub.ll", XLA), "sm_90a", line_info=True),
)


@dataclass(frozen=True)
class Inputs:
    """A case's files on disk.

    Attributes:
        case: the case.
        files: its inputs.
        kernels: the names of all kernels.
    """

    case: Case
    files: tuple[Path, ...]
    kernels: frozenset[str]

    @property
    def has_llvm_ir(self) -> bool:
        return any(path.suffix == ".ll" for path in self.files)

    @property
    def is_llvm_ir(self) -> bool:
        return all(path.suffix == ".ll" for path in self.files)


def unpack(case: Case, folder: Path) -> Inputs:
    """Writes a case's inputs to a folder."""
    files = tuple(path for name in case.files for path in _unpacked(name, folder))
    return Inputs(case, files, kernels_of(files))


def kernels_of(files: Iterable[Path]) -> frozenset[str]:
    """The names of all kernels of LLVM IR and PTX, by their text."""
    return frozenset(
        quoted or plain for path in files for quoted, plain in _KERNEL[path.suffix].findall(path.read_text())
    )


def write_single_kernels(inputs: Inputs, folder: Path) -> tuple[Path, ...]:
    """Writes a module for each kernel, with what it reaches, to a new folder. Kernels that share a variable which must
    not be copied stay together."""
    folder.mkdir()
    with mock.patch.object(grouping, "ALONE_COST", -1), Compiler(inputs.case.arch) as compiler:
        shards = compiler.split(list(inputs.files), output="bundle")
    paths = []
    for number, shard in enumerate(shards):
        paths.append(folder / f"{number:04}.{shard.format}")
        paths[-1].write_text(shard.text)
    return tuple(paths)


def _unpacked(name: str, folder: Path) -> Iterator[Path]:
    if name == XLA:
        with tarfile.open(CORPUS / f"{XLA}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        yield from sorted((folder / "xt").glob("*.ptx"))
    else:
        path = folder / name
        path.write_bytes(lzma.decompress((CORPUS / f"{name}.xz").read_bytes()))
        yield path
