"""Every error that parcubin raises, by cause.

Errors cross process boundaries (a worker raises, the caller catches), so all of them pickle with their attributes.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes 10 ms to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class ParcubinError(Exception):
    """Base of all errors raised by parcubin.

    Attributes:
        message: one paragraph that says what went wrong and what to do.
        kernels: names of the kernels concerned; empty when the fault is not a kernel's.
        log: the compiler's own log; empty when no compiler was involved.
        exit_status: of the command line: 1 input could not be compiled, 2 wrong usage, 3 no usable toolchain.
    """

    exit_status = 1

    def __init__(self, message: str, *, kernels: Sequence[str] = (), log: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.kernels = tuple(kernels)
        self.log = log

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.__dict__)


def _rebuild(cls: type[ParcubinError], attributes: dict[str, Any]) -> ParcubinError:
    error = cls.__new__(cls)
    Exception.__init__(error, attributes["message"])
    error.__dict__.update(attributes)
    return error


class UsageError(ParcubinError):
    """The call itself is wrong: an unknown option value, a target name that is not one."""

    exit_status = 2


class ToolchainError(ParcubinError):
    """No usable toolchain for what was asked. The message holds the decision log."""

    exit_status = 3


class NotInPartsError(ParcubinError):
    """The program was to be compiled in parts only if that pays and loses nothing, which is not so."""


class UnavailableError(ToolchainError):
    """The provider does not support the operation."""


class InputError(ParcubinError):
    """An input cannot be read or is not what it should be: no file, empty, unparsable, for another machine.

    Attributes:
        input_name: the input's name (a path, or a description of an in-memory input).
        line: 1-based line of the input, when known.
    """

    def __init__(
        self,
        message: str,
        *,
        input_name: str = "",
        line: int | None = None,
        kernels: Sequence[str] = (),
        log: str = "",
    ) -> None:
        super().__init__(message, kernels=kernels, log=log)
        self.input_name = input_name
        self.line = line


class SeveralInputsError(InputError):
    """Several inputs cannot be compiled.

    Attributes:
        errors: one error for each.
    """

    def __init__(self, errors: Sequence[ParcubinError]) -> None:
        super().__init__(
            f"{len(errors)} inputs cannot be compiled:\n" + "\n".join(f"  {error}" for error in errors),
            kernels=[k for e in errors for k in e.kernels],
        )
        self.errors = tuple(errors)


class DuplicateSymbolError(InputError):
    """Two inputs define the same symbol strongly."""


class UnresolvedSymbolError(InputError):
    """Symbols that are used and defined nowhere.

    Attributes:
        symbols: the names, all of them.
    """

    def __init__(
        self,
        message: str,
        *,
        symbols: Sequence[str],
        input_name: str = "",
        line: int | None = None,
        kernels: Sequence[str] = (),
        log: str = "",
    ) -> None:
        super().__init__(message, input_name=input_name, line=line, kernels=kernels, log=log)
        self.symbols = tuple(symbols)


class CompileError(ParcubinError):
    """A compiler or linker refused its input; the subclasses say why, the log is attached."""


class TargetUnsupportedError(CompileError):
    """The toolchain does not know the target (usually: the target is too new for it)."""


class TargetMismatchError(CompileError):
    """The PTX is written for a newer target than the one it is compiled for, or for another one alone (`sm_90a`)."""


class RegisterAllocationError(CompileError):
    """The kernel cannot be compiled within the register limit.

    Attributes:
        function_limit: when kernels call functions that use more registers than their launch bounds allow: the most
            registers that the functions may use; None otherwise.
    """

    def __init__(
        self, message: str, *, function_limit: int | None = None, kernels: Sequence[str] = (), log: str = ""
    ) -> None:
        super().__init__(message, kernels=kernels, log=log)
        self.function_limit = function_limit


class RegisterSpillError(CompileError):
    """A kernel spills registers and the caller asked that this be an error."""


class PtxVersionError(CompileError):
    """The PTX ISA version of the input is newer than the toolchain's.

    Attributes:
        supported: newest version that the toolchain knows, 90 for 9.0; None when it does not say.
    """

    def __init__(
        self, message: str, *, supported: int | None = None, kernels: Sequence[str] = (), log: str = ""
    ) -> None:
        super().__init__(message, kernels=kernels, log=log)
        self.supported = supported


class PtxSyntaxError(CompileError):
    """The PTX does not parse.

    Attributes:
        line: 1-based line of the PTX text, when the compiler says it.
    """

    def __init__(self, message: str, *, line: int | None = None, kernels: Sequence[str] = (), log: str = "") -> None:
        super().__init__(message, kernels=kernels, log=log)
        self.line = line


class InternalCompilerError(CompileError):
    """A compiler failed internally: it crashed, aborted or reported an internal error."""


class CompilationTimeoutError(CompileError):
    """A time limit ended the work.

    Attributes:
        seconds: the limit.
        total: whether it was the limit of the whole compile; False for that of one shard.
    """

    def __init__(
        self, message: str, *, seconds: float, total: bool, kernels: Sequence[str] = (), log: str = ""
    ) -> None:
        super().__init__(message, kernels=kernels, log=log)
        self.seconds = seconds
        self.total = total


class OutOfMemoryError(CompileError):
    """A compiler ran out of memory, or the system ended it because memory ran out."""


class LinkCheckError(CompileError):
    """The linked output lacks a kernel or variable that went in, or symbols disagree about size or attributes."""


class WorkerError(ParcubinError):
    """A worker process died or could not be started."""


class ProcessCrashedError(WorkerError):
    """A worker, or a process that it started, died while it ran a job.

    Attributes:
        signal: the signal that ended it; None when it exited.
    """

    def __init__(self, message: str, *, signal: int | None, log: str) -> None:
        super().__init__(message, log=log)
        self.signal = signal
