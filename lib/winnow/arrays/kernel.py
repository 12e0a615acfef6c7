"""How kernels are compiled: one decorator, so that all have the same options and machine code that is never stale.

Kernels that run in inner loops call no others, have a single exit and take few arrays (structured ones): otherwise
numba counts references at every call, which was measured at 100 to 200 ns a call against 20 ns of work.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from winnow.arrays.machine_code import MachineCode

F = TypeVar("F", bound=Callable[..., object])

KERNELS: list[Any] = []  # numba's dispatchers of all kernels in the modules that are imported


def kernel(function: F) -> F:
    """Compile `function` without the interpreter lock; its machine code is kept on disk for the next process."""
    if function.__closure__:
        raise TypeError(
            f"kernel {function.__qualname__} has a closure, which its source does not tell; define it in a module"
        )
    compiled = njit(nogil=True)(function)
    compiled._cache = MachineCode(function)
    KERNELS.append(compiled)
    return cast("F", compiled)


def inlined(function: F) -> F:
    """Compile `function` into the kernels that call it; a call that hands on many pointers would cost too much."""
    return cast("F", njit(nogil=True, forceinline=True)(function))
