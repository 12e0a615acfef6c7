"""How kernels are compiled: one decorator, so that all have the same options and a cache that is never stale."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` without the interpreter lock, kept on disk for the next process.

    Numba looks only at the file of the kernel itself when it decides whether the machine code on disk is current, but
    a kernel contains the code of every kernel it calls. So the stamp is that of all modules in the kernel's folder and
    in this one: an edit to any of them compiles anew.
    """
    compiled = njit(cache=True, nogil=True)(function)
    compiled._cache._cache_file._source_stamp = source_stamp(Path(function.__code__.co_filename).parent)
    return cast("F", compiled)


def inlined(function: F) -> F:
    """Compile `function` into the kernels that call it; a call that hands on many pointers would cost too much."""
    return cast("F", njit(nogil=True, forceinline=True)(function))


def source_stamp(folder: Path) -> tuple[float, int]:
    """When the modules of a folder and of this one were last changed, and their size."""
    modules = sorted({*folder.glob("*.py"), *Path(__file__).parent.glob("*.py")})
    stats = [module.stat() for module in modules]
    return max(stat.st_mtime for stat in stats), sum(stat.st_size for stat in stats)
