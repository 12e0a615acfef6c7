"""How the kernels of this package are compiled: cached on disk, without the GIL.

Kernels that run in inner loops call no others, have a single exit and take few arrays (structured ones): otherwise
numba counts references at every call, which was measured at 100 to 200 ns a call against 20 ns of work.
A kernel's cache knows only its own file: after a change to one, delete `__pycache__` of the modules that call it.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

from numba import njit
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Records: TypeAlias = NDArray[Any]  # of a structured dtype; numba reads and writes their fields as attributes


def kernel(function: Function) -> Function:
    """Compile once per machine; later processes load the machine code from the cache."""
    return cast(Function, njit(cache=True, nogil=True)(function))
