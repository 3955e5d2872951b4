"""Device functions held to what the launch bounds of the kernels that call them allow.

A function that is compiled so that it can be called from outside, or through a pointer, may use more registers than a
kernel with launch bounds, and compilers refuse such a kernel. In a whole program ptxas limits the functions by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from parcubin.errors import RegisterAllocationError

ResultT = TypeVar("ResultT")


def within_launch_bounds(compile_with: Callable[[int | None], ResultT]) -> ResultT:
    """Compiles, and where kernels call functions that use too many registers, again with a limit for functions.

    Args:
        compile_with: compiles, given the most registers that a device function may use; None for no limit.

    Raises:
        RegisterAllocationError: there is no such limit that helps.
    """
    limit: int | None = None
    while True:
        try:
            return compile_with(limit)
        except RegisterAllocationError as error:
            if error.function_limit is None or (limit is not None and error.function_limit >= limit):
                raise
            limit = error.function_limit
