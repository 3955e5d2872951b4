"""LLVM, loaded once, and contexts of it for the modules of one shard."""

from __future__ import annotations

import re
from functools import cache
from types import TracebackType
from typing import Any, Self

from parcubin.errors import InputError
from parcubin.lower.dialect import in_llvm_22

_PARSE_ERROR = re.compile(r"<string>:(\d+):\d+: error: (.*)")


@cache
def llvm() -> Any:
    """llvmlite's binding, with all targets."""
    import llvmlite.binding

    llvmlite.binding.initialize_all_targets()
    llvmlite.binding.initialize_all_asmprinters()
    return llvmlite.binding


def llvm_version() -> str:
    """The version of LLVM and of llvmlite, as it goes into reports."""
    import llvmlite

    return f"LLVM {'.'.join(map(str, llvm().llvm_version_info))} (llvmlite {llvmlite.__version__})"


class LlvmContext:
    """A context for the modules of one shard, of which nothing reaches another.

    The modules end with it, before it: LLVM crashes when Python's garbage collector drops them the other way round.
    """

    def __init__(self) -> None:
        self._context = llvm().create_context()
        self._modules: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for module in self._modules:
            module.close()
        self._context.close()

    def parse(self, source: str | bytes, name: str) -> Any:
        """Parses textual LLVM IR, of LLVM 22 or newer, or bitcode.

        Raises:
            InputError: LLVM cannot parse it; says the line where LLVM says one.
        """
        try:
            module = self._parsed(source)
        except RuntimeError as error:
            where = _PARSE_ERROR.search(str(error))
            line = int(where[1]) if where else None
            what = where[2] if where else str(error).split("\n", 1)[-1].strip()
            at = f" at line {line}" if line else ""
            raise InputError(
                f"{llvm_version()} cannot parse {name}{at}: {what}.", input_name=name, line=line, log=str(error)
            ) from None
        self._modules.append(module)
        return module

    def _parsed(self, source: str | bytes) -> Any:
        if isinstance(source, bytes):
            return llvm().parse_bitcode(source, self._context)
        try:
            return llvm().parse_assembly(source, self._context)
        except RuntimeError:
            if (translated := in_llvm_22(source)) == source:
                raise
            return llvm().parse_assembly(translated, self._context)


def link(module: Any, other: Any, name: str) -> None:
    """Links a module into another; it is gone then.

    Raises:
        InputError: they do not link.
    """
    try:
        module.link_in(other)
    except RuntimeError as error:
        raise InputError(f"The modules of {name} do not link: {error}", log=str(error)) from None


def verify(module: Any, name: str) -> None:
    """Checks that a module is valid.

    Raises:
        InputError: it is not.
    """
    try:
        module.verify()
    except RuntimeError as error:
        what = str(error).strip().split("\n", 1)[0]
        raise InputError(f"{name} is not valid LLVM IR: {what}.", input_name=name, log=str(error)) from None
