"""The ptxas that `parcubin-ptxas` stands in for."""

from __future__ import annotations

import os

from parcubin.errors import ParcubinError
from parcubin.toolchain.own_front import is_own_front

_NEIGHBOURS = ("nvlink", "fatbinary", "nvcc")
"""Tools of a toolkit that tell where it is, when they are links beside a link called ptxas."""


class NoRealPtxasError(Exception):
    """There is none; the text says what to do."""


def real_ptxas(invoked_as: str) -> str:
    """The path of the real ptxas: PARCUBIN_PTXAS; the one that is configured; that of the toolkit whose tools stand
    beside the link through which this program was started; what the machine has, as `toolchain.locate` finds it.

    Args:
        invoked_as: the path of the program that was started.

    Raises:
        NoRealPtxasError: there is none.
    """
    named = os.environ.get("PARCUBIN_PTXAS")
    if named and _is_ptxas(named):
        return os.path.abspath(named)  # noqa: PTH100 - pathlib takes longer to import than ptxas to start

    from parcubin.toolchain.locate import find

    try:
        named = named or _configured()
        if not named and (beside := _of_neighbours(invoked_as)):
            return beside
        found = find("ptxas", named)
    except ParcubinError as error:
        raise NoRealPtxasError(error.message) from None
    if found is None:
        raise NoRealPtxasError("there is no ptxas on this machine. Name it in PARCUBIN_PTXAS, or set CUDA_PATH.")
    return found.path


def _is_ptxas(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK) and not is_own_front(path)  # noqa: PTH113


def _configured() -> str | None:
    from parcubin.user_files import configuration_file

    if configuration_file().is_file():
        from parcubin.configuration import read_configuration

        return read_configuration().paths.ptxas
    return None


def _of_neighbours(invoked_as: str) -> str | None:
    folder, name = os.path.split(invoked_as)
    if name != "ptxas" or not folder:
        return None
    for neighbour in _NEIGHBOURS:
        path = os.path.join(folder, neighbour)  # noqa: PTH118
        if os.path.exists(path):  # noqa: PTH110
            ptxas = os.path.join(os.path.dirname(os.path.realpath(path)), "ptxas")  # noqa: PTH118, PTH120
            if _is_ptxas(ptxas):
                return ptxas
    return None
