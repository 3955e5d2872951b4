"""Bundles: several CUBINs and an index from kernels and variables to the CUBIN that holds them.

On disk a bundle is a folder or an uncompressed `.zip` of

    index.json          format name and version, target, the files, and what is in each
    <digest>.cubin      named by the first 32 hexadecimal digits of its SHA-256, never by a symbol

Reading trusts nothing: sizes are checked before anything is read, contents against their digests, and the index
against the CUBINs.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from parcubin.errors import InputError, UsageError
from parcubin.files import write_files
from parcubin.inspect.cubin import read_cubin
from parcubin.model import Assembly, KernelInfo, Target, VariableInfo

FORMAT = "parcubin-bundle"
VERSION = 1
INDEX = "index.json"

_CUBIN_NAME = re.compile(r"[0-9a-f]{32}\.cubin")
_MAX_INDEX_BYTES = 16 * 2**20  # 20,000 kernels with names of 600 characters
_MAX_CUBIN_BYTES = 2**32
_USAGE_FIELDS = ("registers", "shared_bytes", "stack_bytes", "spill_bytes", "code_bytes", "barriers")


class CompiledProgram(Protocol):
    """What a bundle is made of."""

    @property
    def target(self) -> Target: ...
    @property
    def assemblies(self) -> Sequence[Assembly]: ...
    @property
    def kernels(self) -> Mapping[str, KernelInfo]: ...


@dataclass(frozen=True)
class Bundle:
    """Several assemblies and what is in them.

    Attributes:
        target: what they were compiled for.
        assemblies: file name and CUBIN of each.
        kernels: resource usage by kernel.
        variables: the variables that the host can name.
        kernel_files: the file that holds each kernel.
        variable_files: the files that hold each variable: one, or several for constant data that was copied.
    """

    target: Target
    assemblies: tuple[tuple[str, bytes], ...] = field(repr=False)
    kernels: Mapping[str, KernelInfo] = field(repr=False)
    variables: Mapping[str, VariableInfo] = field(repr=False)
    kernel_files: Mapping[str, str] = field(repr=False)
    variable_files: Mapping[str, tuple[str, ...]] = field(repr=False)

    @classmethod
    def of(cls, program: CompiledProgram) -> Bundle:
        """The bundle of a compiled program. A weak kernel that several assemblies hold is taken from the first."""
        assemblies: dict[str, bytes] = {}
        kernels: dict[str, KernelInfo] = {}
        variables: dict[str, VariableInfo] = {}
        kernel_files: dict[str, str] = {}
        variable_files: dict[str, tuple[str, ...]] = {}
        for assembly in program.assemblies:
            name = _file_name(assembly.cubin)
            if name in assemblies:
                continue
            assemblies[name] = assembly.cubin
            info = read_cubin(assembly.cubin, "an assembly")
            for kernel in info.kernels.values():
                kernels.setdefault(kernel.name, program.kernels.get(kernel.name, kernel))
                kernel_files.setdefault(kernel.name, name)
            for variable in info.variables.values():
                variables.setdefault(variable.name, variable)
                variable_files[variable.name] = (*variable_files.get(variable.name, ()), name)
        return cls(program.target, tuple(assemblies.items()), kernels, variables, kernel_files, variable_files)


def write_bundle(bundle: Bundle, path: str | os.PathLike[str]) -> None:
    """Writes a bundle: a `.zip`, or, under any other name, a folder. It appears whole or not at all.

    A bundle that exists there is replaced.

    Raises:
        UsageError: there is a folder that holds anything but a bundle, or a file where the folder should go.
        ParcubinError: it cannot be written.
    """
    files = {INDEX: _index(bundle), **dict(bundle.assemblies)}
    write_files(Path(path), files, replaceable=is_bundle_folder)


def read_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Reads a bundle, folder or `.zip`.

    Raises:
        InputError: it is not there, not a bundle, damaged, or written by a newer version. Arbitrary bytes are safe.
    """
    path = Path(path)
    try:
        if path.is_dir():
            return _read(lambda name, limit: _read_regular_file(path / name, limit))
        if path.exists() and not path.is_file():
            raise _FormatError("it is no file")
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            return _read(_archive_reader(archive, os.fstat(file.fileno()).st_size))
    except _FormatError as error:
        reason = str(error)
    except OSError as error:
        raise InputError(f"Cannot read '{path}': {error.strerror or error}.", input_name=str(path)) from None
    except (InputError, zipfile.BadZipFile) as error:
        reason = str(error).rstrip(".")
    except (ValueError, LookupError, RuntimeError, EOFError, OverflowError, struct.error) as error:
        reason = f"its archive is damaged ({error})"  # what zipfile raises for damaged archives
    raise InputError(f"'{path}' is not a readable bundle: {reason}.", input_name=str(path))


class _FormatError(Exception):
    """Says what is wrong with the bundle."""


Reader = Callable[[str, int], bytes]
"""Gives the contents of a file of the bundle, by name, if it has at most so many bytes."""


def _file_name(cubin: bytes) -> str:
    return f"{hashlib.sha256(cubin).hexdigest()[:32]}.cubin"


def _index(bundle: Bundle) -> bytes:
    numbers = {name: number for number, (name, _) in enumerate(bundle.assemblies)}
    index = {
        "format": FORMAT,
        "version": VERSION,
        "target": bundle.target.name,
        "assemblies": [{"file": name, "bytes": len(cubin)} for name, cubin in bundle.assemblies],
        "kernels": {
            name: {"assembly": numbers[bundle.kernel_files[name]], **{f: getattr(info, f) for f in _USAGE_FIELDS}}
            for name, info in sorted(bundle.kernels.items())
        },
        "variables": {
            name: {
                "assemblies": [numbers[file] for file in bundle.variable_files[name]],
                "space": info.space,
                "bytes": info.size,
            }
            for name, info in sorted(bundle.variables.items())
        },
    }
    return (json.dumps(index, indent=1) + "\n").encode()


def _read(read: Reader) -> Bundle:
    index = _parsed_index(read(INDEX, _MAX_INDEX_BYTES))
    try:
        target = Target(_member(index, "target", str))
    except UsageError as error:
        raise _FormatError(str(error).rstrip(".")) from None
    assemblies: dict[str, bytes] = {}
    for entry in _member(index, "assemblies", list):
        name, size = _member(entry, "file", str), _natural(_member(entry, "bytes", int))
        if not _CUBIN_NAME.fullmatch(name) or size > _MAX_CUBIN_BYTES or name in assemblies:
            raise _FormatError("its index lists a file that cannot be one of a bundle")
        cubin = read(name, size)
        if _file_name(cubin) != name:
            raise _FormatError(f"{name} was changed after the bundle was written")
        assemblies[name] = cubin
    files = list(assemblies)
    contents = {name: read_cubin(cubin, name) for name, cubin in assemblies.items()}

    kernels: dict[str, KernelInfo] = {}
    kernel_files: dict[str, str] = {}
    for name, entry in _member(index, "kernels", dict).items():
        file = _at(files, _member(entry, "assembly", int))
        if name not in contents[file].kernels:
            raise _FormatError(f"its index is wrong about the kernel {name!r}")
        usage = {field: _natural_or_none(_member(entry, field)) for field in _USAGE_FIELDS}
        kernels[name] = KernelInfo(name, **usage)
        kernel_files[name] = file

    variables: dict[str, VariableInfo] = {}
    variable_files: dict[str, tuple[str, ...]] = {}
    for name, entry in _member(index, "variables", dict).items():
        holders = tuple(_at(files, number) for number in _member(entry, "assemblies", list))
        info = VariableInfo(name, _member(entry, "space", str), _natural(_member(entry, "bytes", int)))
        if not holders or any(contents[file].variables.get(name) != info for file in holders):
            raise _FormatError(f"its index is wrong about the variable {name!r}")
        variables[name] = info
        variable_files[name] = holders
    return Bundle(target, tuple(assemblies.items()), kernels, variables, kernel_files, variable_files)


def _parsed_index(data: bytes) -> dict[str, Any]:
    try:
        index = json.loads(data)
    except (ValueError, RecursionError):
        raise _FormatError(f"{INDEX} is not JSON") from None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise _FormatError(f"{INDEX} does not describe a bundle")
    version = _natural(_member(index, "version", int))
    if version > VERSION:
        raise _FormatError(f"its format version is {version}, and this parcubin knows up to {VERSION}; use a newer one")
    return cast(dict[str, Any], index)


def _member(container: Any, key: str, kind: type | None = None) -> Any:
    if not isinstance(container, dict) or key not in container:
        raise _FormatError(f"its index lacks '{key}'")
    value = container[key]
    if kind is not None and type(value) is not kind:
        raise _FormatError(f"'{key}' in its index is not what it should be")
    return value


def _natural(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise _FormatError("its index holds something else where a number should be")
    return value


def _natural_or_none(value: Any) -> int | None:
    return None if value is None else _natural(value)


def _at(files: list[str], number: Any) -> str:
    position = _natural(number)
    if position >= len(files):
        raise _FormatError("its index refers to an assembly that it does not list")
    return files[position]


def _read_regular_file(path: Path, limit: int) -> bytes:
    """Reads a file that is no link, pipe or device and has at most `limit` bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        reason = "a link" if error.errno == errno.ELOOP else (error.strerror or str(error))
        raise _FormatError(f"{path.name}: {reason}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _FormatError(f"{path.name} is not a regular file")
        if status.st_size > limit:
            raise _FormatError(f"{path.name} is larger than it should be")
        return file.read(limit)


def _archive_reader(archive: zipfile.ZipFile, archive_bytes: int) -> Reader:
    """Reads uncompressed entries; together they are no larger than the archive, so they cannot overlap much."""
    entries = archive.infolist()
    by_name = {entry.filename: entry for entry in entries}
    if len(by_name) < len(entries):
        raise _FormatError("its archive holds a name twice")
    unknown = [name for name in by_name if name != INDEX and not _CUBIN_NAME.fullmatch(name)]
    if unknown:
        raise _FormatError(f"its archive holds {unknown[0]!r}, which is no part of a bundle")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise _FormatError("its archive is compressed; unpack it and use the folder")
    if sum(entry.file_size for entry in entries) > archive_bytes:
        raise _FormatError("its archive claims to hold more than it does")

    def read(name: str, limit: int) -> bytes:
        entry = by_name.get(name)
        if entry is None:
            raise _FormatError(f"{name} is missing")
        if entry.file_size > limit or entry.compress_size > archive_bytes:
            raise _FormatError(f"{name} is larger than it should be")
        return archive.read(entry)

    return read


def is_bundle_folder(path: Path) -> bool:
    """Whether a folder is a bundle and nothing else."""
    if any(entry.name != INDEX and not _CUBIN_NAME.fullmatch(entry.name) for entry in path.iterdir()):
        return False
    try:
        _parsed_index(_read_regular_file(path / INDEX, _MAX_INDEX_BYTES))
    except _FormatError:
        return False
    return True
