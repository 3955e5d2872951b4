"""What an output was made of, in make's format, for build systems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import parcubin
from parcubin.errors import ToolchainError, UsageError
from parcubin.files import write_file

if TYPE_CHECKING:
    from parcubin.compiler import Compiler
    from parcubin.model import Emit


def write_depfile(path: Path, output: str, dependencies: Iterable[str]) -> None:
    """Writes the rule for an output.

    Raises:
        UsageError: a path has a line break.
        ParcubinError: it cannot be written.
    """
    write_file(path, rule(output, dependencies).encode("utf-8", "surrogateescape"))


def rule(output: str, dependencies: Iterable[str]) -> str:
    """The rule for an output. Every dependency is a target, too, so that make goes on when one is gone, as with the
    compiler option `-MP`.

    Args:
        output: the target, as the build system calls it.
        dependencies: paths.

    Raises:
        UsageError: a path has a line break, which make cannot express.
    """
    names = [_escaped(path) for path in dict.fromkeys(dependencies)]
    rules = [f"{_escaped(output)}: \\\n" + " \\\n".join(f"  {name}" for name in names)]
    return "\n\n".join([*rules, *(f"{name}:" for name in names)]) + "\n"


def dependencies(inputs: Sequence[Path], compiler: Compiler, output: Emit) -> list[str]:
    """The inputs as they were given, and everything of the toolchain whose change can change the output: libdevice, the
    compilers and linkers, LLVM, parcubin.

    Args:
        inputs: the inputs.
        compiler: what compiled them.
        output: what it made of them.
    """
    files = [str(path) for path in inputs]
    if compiler._libdevice is not None:
        files.append(str(compiler._libdevice))
    try:
        selection = compiler.select_provider(output)
    except ToolchainError:  # what is one shard needs no linker
        selection = compiler.select_provider("bundle")
    if selection:
        files += [tool.path for tool in selection.tools]
    files += map(str, compiler._llvm.files())
    files.append(str(Path(parcubin.__file__)))
    return files


def _escaped(path: str) -> str:
    if "\n" in path:
        raise UsageError(f"{path!r} has a line break, which a dependency file cannot express.")
    return path.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")
