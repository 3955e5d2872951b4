"""The values that travel through the pipeline. All of them are immutable plain data and pickle."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Literal, get_args

from parcubin.errors import InputError, UsageError

Emit = Literal["cubin", "bundle", "relocatable", "ptx"]

FastCompile = Literal["0", "min", "mid", "max"]


@dataclass(frozen=True)
class Target:
    """A GPU architecture.

    Attributes:
        name: as ptxas spells it: `sm_80`, `sm_90a`, `sm_100f`.
    """

    name: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"sm_[1-9][0-9]{1,2}[af]?", self.name):
            raise UsageError(
                f"'{self.name}' is not a target. Targets are written as ptxas writes them: sm_80, sm_90a, sm_100f."
            )

    @cached_property
    def number(self) -> int:
        """The compute capability as one number: 90 for sm_90a."""
        return int(re.sub(r"\D", "", self.name))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class CompilationOptions:
    """What reaches the compilers. Each field names the command line option that sets it.

    Attributes:
        opt_level: `-O`: 0 to 3, for LLVM and for ptxas; 0 disables optimisation.
        llvm_opt_level: `--llvm-opt`: the level of LLVM's passes over the IR, 0 where it is optimised already. None is
            the level of `opt_level`, which LLVM's code generation has in any case.
        fast_compile: `--fast-compile`: how much ptxas leaves out to be done sooner, from "0", nothing, to "max"; takes
            the place of ptxas's optimisation level.
        line_info: `--lineinfo`: keep source line tables in the CUBIN.
        debug_info: `-g`: full debug info; the code is not optimised by ptxas then.
        max_registers: `--maxrregcount`: most registers a thread may use.
        fail_on_spill: `--fail-on-spill`: a register spill is a `RegisterSpillError`.
        keep_log: keep everything that the compilers print in the program's report.
        inlining_threshold: `--inline-threshold`: LLVM's inlining threshold; None is LLVM's own for the level.
        flush_to_zero: `--ftz`: flush single-precision denormals to zero (`nvvm-reflect-ftz`, `denormal-fp-math-f32`).
        ptxas_options: further options of ptxas, as its command line has them, for every shard; the driver takes none.
    """

    opt_level: int = 3
    llvm_opt_level: int | None = None
    fast_compile: FastCompile = "0"
    line_info: bool = False
    debug_info: bool = False
    max_registers: int | None = None
    fail_on_spill: bool = False
    keep_log: bool = False
    inlining_threshold: int | None = None
    flush_to_zero: bool = False
    ptxas_options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.opt_level not in (0, 1, 2, 3):
            raise UsageError(f"The optimisation level is 0, 1, 2 or 3, not {self.opt_level}.")
        if self.llvm_opt_level not in (None, 0, 1, 2, 3):
            raise UsageError(f"LLVM's optimisation level is 0, 1, 2 or 3, not {self.llvm_opt_level}.")
        if self.fast_compile not in get_args(FastCompile):
            raise UsageError(f"The fast-compile level is 0, min, mid or max, not {self.fast_compile}.")
        if self.fast_compile != "0" and self.debug_info:
            raise UsageError("With full debug info ptxas ignores the fast-compile level. Leave one of the two out.")
        if self.max_registers is not None and not 1 <= self.max_registers <= 255:
            raise UsageError(f"The register limit is between 1 and 255, not {self.max_registers}.")

    @property
    def pass_level(self) -> int:
        """The level of LLVM's passes over the IR."""
        return self.opt_level if self.llvm_opt_level is None else self.llvm_opt_level


class RelocatableKind(Enum):
    """How a relocatable module is compiled; the design of both is ptxas's.

    EXTENSIBLE_WHOLE_PROGRAM (`ptxas -ewp`): optimised as a whole program, can still be linked.
    PLAIN (`ptxas -c`): every function callable from outside, standard calling convention.
    """

    EXTENSIBLE_WHOLE_PROGRAM = "ewp"
    PLAIN = "c"


@dataclass(frozen=True)
class Ptx:
    """PTX text.

    Attributes:
        text: the PTX.
        name: what messages call it; never used as a path.
    """

    text: str
    name: str = "input"


@dataclass(frozen=True)
class LlvmIr:
    """Textual LLVM IR, as LLVM prints it.

    Attributes:
        text: the module.
        name: what messages call it.
    """

    text: str = field(repr=False)
    name: str = "input"


@dataclass(frozen=True)
class RelocatableModule:
    """A CUBIN that must still be linked.

    Attributes:
        cubin: the ELF image.
        kind: how it was compiled (which may differ from what was asked for when the provider has only one kind).
        name: what messages call it.
        log: the compiler's log, with ptxas's `-v` resource lines.
    """

    cubin: bytes = field(repr=False)
    kind: RelocatableKind
    name: str = "input"
    log: str = field(default="", repr=False)


_DEFERRED_MARK = b"// parcubin deferred module "


@dataclass(frozen=True)
class DeferredModule:
    """PTX standing in for a relocatable module because the delegate cannot produce one; compiled at the link."""

    ptx: Ptx

    def to_bytes(self) -> bytes:
        """The module as a file: PTX behind a comment with the format's version, so that nobody takes it for ELF."""
        return _DEFERRED_MARK + b"1\n" + self.ptx.text.encode("utf-8", errors="surrogateescape")

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "input") -> DeferredModule:
        """Reads what `to_bytes` made.

        Raises:
            InputError: it is none, or of a newer version.
        """
        mark, _, text = data.partition(b"\n")
        if not mark.startswith(_DEFERRED_MARK):
            raise InputError(f"{name} is not a deferred module.", input_name=name)
        if mark != _DEFERRED_MARK + b"1":
            version = mark[len(_DEFERRED_MARK) :][:20].decode(errors="replace")
            raise InputError(
                f"{name} is a deferred module of version '{version}', and this parcubin reads version 1.",
                input_name=name,
            )
        return cls(Ptx(text.decode("utf-8", errors="surrogateescape"), name))

    @staticmethod
    def is_in(data: bytes) -> bool:
        """Whether a file holds a deferred module, of any version."""
        return data.startswith(_DEFERRED_MARK)


@dataclass(frozen=True)
class DeviceLibrary:
    """A static library with device code, such as libcudadevrt.a; the linker takes what it needs of it.

    Attributes:
        archive: its content.
        name: what messages call it.
    """

    archive: bytes = field(repr=False)
    name: str = "library"


@dataclass(frozen=True)
class Assembly:
    """A compiled and linked CUBIN that the driver can load.

    Attributes:
        cubin: the ELF image (type ET_EXEC).
        log: the compiler's and linker's log, with ptxas's `-v` resource lines where the provider gives them.
    """

    cubin: bytes = field(repr=False)
    log: str = field(default="", repr=False)


LinkInput = RelocatableModule | DeferredModule | Ptx | DeviceLibrary


@dataclass(frozen=True)
class KernelInfo:
    """Resource usage of one kernel. None is what the file does not say.

    Attributes:
        name: the kernel's symbol.
        registers: registers a thread.
        shared_bytes: static shared memory, without the 1 KiB that the system reserves from sm_90 on.
        stack_bytes: stack frame a thread, bytes.
        spill_bytes: bytes of spill stores, from the compiler's log.
        code_bytes: size of the kernel's machine code.
        barriers: named barriers a block.
    """

    name: str
    registers: int | None
    shared_bytes: int | None
    stack_bytes: int | None
    spill_bytes: int | None
    code_bytes: int | None
    barriers: int | None = None


@dataclass(frozen=True)
class VariableInfo:
    """A variable that the host can name in a CUBIN.

    Attributes:
        name: its symbol.
        space: "global" or "constant".
        size: bytes.
    """

    name: str
    space: Literal["global", "constant"]
    size: int
