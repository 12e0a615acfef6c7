"""Machine code of kernels on disk: one file for each kernel, its sources, the CPU and the types of its arguments.

The name of a file says all that its content depends on. So what is found is current, there is no index to keep right,
and processes that compile at the same time write either the same or different files. (Numba's own cache looks only at
the source file of the kernel itself, and two processes can mix up the numbers that its index gives to files.)
"""

import hashlib
import pickle
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core import caching, compiler, config, serialize

from winnow.arrays.notices import report_compilation, report_not_kept
from winnow.arrays.sources import sources_digest

_PYTHON = sys.implementation.cache_tag
_VERSIONS = (numba.__version__, llvmlite.__version__, np.__version__)
_OPTIONS = (str(config.OPT), config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT)


class MachineCode(caching._Cache):  # type: ignore[misc]
    """The files of one kernel, as numba's dispatcher asks for them."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.kernel = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self.sources = content_hash(sources_digest(function.__module__), *_VERSIONS)
        self.folders = tuple(folders_of(function))
        self.files: set[Path] = set()  # that this process has read or written

    @property
    def cache_path(self) -> str:
        return str(self.folders[0])

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Returns the kernel for these types, or None; then numba compiles it and has it saved."""
        target_context.refresh()
        codegen = target_context.codegen()
        name = self._file_name(signature, codegen)
        for folder in self.folders:
            try:
                content = pickle.loads((folder / name).read_bytes())
            except (OSError, EOFError, pickle.UnpicklingError):  # not there, or cut short when the machine went down
                continue
            self.files.add(folder / name)
            return compiler.CompileResult._rebuild(target_context, *content)
        report_compilation(f"{self.kernel}{signature}", codegen.magic_tuple()[1], self._why_missing())
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        if compiled.library.has_dynamic_globals:  # it holds addresses of this process
            return
        name = self._file_name(signature, compiled.codegen)
        content = serialize.dumps(compiled._reduce())
        for folder in self.folders:
            try:
                write_whole(folder / name, content)
            except OSError:  # read-only, or full
                continue
            self.files.add(folder / name)
            self._remove_outdated(folder)
            return
        report_not_kept(self.folders)

    def flush(self) -> None:
        for folder in self.folders:
            for file in self._files(folder):
                file.unlink(missing_ok=True)

    def enable(self) -> None:
        """Kernels are always kept on disk."""

    def disable(self) -> None:
        raise NotImplementedError("kernels are always kept on disk")

    def is_kept(self, codegen: Any) -> bool:
        """Says whether there is machine code of the present sources for the CPU, for any types."""
        start = self.file_start(codegen)
        return any(file.name.startswith(start) for folder in self.folders for file in self._files(folder))

    def file_start(self, codegen: Any) -> str:
        """Returns how the names of the kernel's files for the present sources and this CPU begin."""
        return f"{self.kernel}-{self.sources}.{_PYTHON}.{content_hash(*codegen.magic_tuple(), *_OPTIONS)}."

    def _file_name(self, signature: Any, codegen: Any) -> str:
        return f"{self.file_start(codegen)}{content_hash(signature)}.nbc"

    def _files(self, folder: Path) -> Iterator[Path]:
        return folder.glob(f"{self.kernel}-*.{_PYTHON}.*.nbc")

    def _why_missing(self) -> str:
        files = [file.name for folder in self.folders for file in self._files(folder)]
        if not files:
            return "not compiled yet"
        current = any(name.startswith(f"{self.kernel}-{self.sources}.") for name in files)
        return "compiled for another CPU or other types" if current else "sources or versions changed"

    def _remove_outdated(self, folder: Path) -> None:
        """A folder belongs to one place of sources: what other sources left there is of no use."""
        for file in self._files(folder):
            if not file.name.startswith(f"{self.kernel}-{self.sources}."):
                file.unlink(missing_ok=True)


def folders_of(function: Callable[..., object]) -> Iterator[Path]:
    """Yields where machine code may lie, in numba's order: NUMBA_CACHE_DIR, beside the source, the user's cache."""
    file = function.__code__.co_filename
    locators = [caching.InTreeCacheLocator, caching.UserWideCacheLocator]
    if config.CACHE_DIR:
        locators.insert(0, caching.UserProvidedCacheLocator)
    return (Path(locator(function, file).get_cache_path()) for locator in locators)


def content_hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def write_whole(file: Path, content: bytes) -> None:
    """Write all of it or nothing; others may read the file, or write it, too."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{uuid.uuid4().hex}")
    try:
        draft.write_bytes(content)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
