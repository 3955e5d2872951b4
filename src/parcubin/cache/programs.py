"""Whole programs as entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

from parcubin.cache.entry import Entry
from parcubin.model import Assembly, KernelInfo, Ptx, VariableInfo
from parcubin.program import Program


@dataclass(frozen=True)
class KeptProgram:
    """A program without what is this compile's alone.

    Attributes:
        kernels: as in `Program`.
        variables: as in `Program`.
        assemblies: as in `Program`.
        ptx: as in `Program`.
        image: the CUBIN, where there is one that is no assembly.
        count: kernels in the output, as the report has it.
        shards: number of shards.
        llvm: what LLVM calls itself.
        helper_calls: as in the report.
        warnings: what there is to know of the output.
        logs: as in the report.
    """

    kernels: tuple[KernelInfo, ...]
    variables: tuple[VariableInfo, ...]
    assemblies: tuple[Assembly, ...]
    ptx: tuple[Ptx, ...]
    image: bytes | None
    count: int
    shards: int
    llvm: str
    helper_calls: Mapping[str, tuple[str, ...]]
    warnings: tuple[str, ...]
    logs: tuple[str, ...]

    @classmethod
    def of(cls, program: Program, *, llvm: str, warnings: Sequence[str]) -> KeptProgram:
        """What is kept of a program."""
        report = program.report
        is_assembly = len(program.assemblies) == 1 and program._image == program.assemblies[0].cubin
        return cls(
            kernels=tuple(program.kernels.values()),
            variables=tuple(program.variables.values()),
            assemblies=program.assemblies,
            ptx=program.ptx,
            image=None if is_assembly else program._image,
            count=report.kernels,
            shards=report.shards,
            llvm=llvm,
            helper_calls=report.helper_calls,
            warnings=tuple(warnings),
            logs=report.logs,
        )

    def entry(self) -> Entry:
        facts = {
            "kernels": [astuple(kernel) for kernel in self.kernels],
            "variables": [astuple(variable) for variable in self.variables],
            "logs": len(self.logs),
            "assemblies": len(self.assemblies),
            "ptx": [ptx.name for ptx in self.ptx],
            "image": self.image is not None,
            "count": self.count,
            "shards": self.shards,
            "llvm": self.llvm,
            "helper_calls": self.helper_calls,
            "warnings": self.warnings,
        }
        blobs = [log.encode("utf-8", "surrogateescape") for log in self.logs]
        for assembly in self.assemblies:
            blobs += [assembly.cubin, assembly.log.encode("utf-8", "surrogateescape")]
        blobs += [ptx.text.encode("utf-8", "surrogateescape") for ptx in self.ptx]
        if self.image is not None:
            blobs.append(self.image)
        return Entry(facts, tuple(blobs))

    @classmethod
    def read(cls, entry: Entry) -> KeptProgram:
        """Reads what `entry` made.

        Raises:
            ValueError, KeyError, TypeError, IndexError: it is something else.
        """
        facts, blobs = entry.facts, list(reversed(entry.blobs))
        logs = tuple(_text(blobs.pop()) for _ in range(facts["logs"]))
        kept = cls(
            kernels=tuple(KernelInfo(*values) for values in facts["kernels"]),
            variables=tuple(VariableInfo(*values) for values in facts["variables"]),
            assemblies=tuple(Assembly(blobs.pop(), _text(blobs.pop())) for _ in range(facts["assemblies"])),
            ptx=tuple(Ptx(_text(blobs.pop()), name) for name in facts["ptx"]),
            image=blobs.pop() if facts["image"] else None,
            count=facts["count"],
            shards=facts["shards"],
            llvm=facts["llvm"],
            helper_calls={kernel: tuple(calls) for kernel, calls in dict(facts["helper_calls"]).items()},
            warnings=tuple(facts["warnings"]),
            logs=logs,
        )
        if blobs:
            raise ValueError("an entry does not say what it should")
        return kept


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
