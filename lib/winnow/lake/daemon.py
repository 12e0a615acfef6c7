"""The process that forks Spark's Python workers, with what they need imported once instead of in each of them."""

import gc
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any


def own_archives(path: list[str]) -> set[str]:
    """The archives on `path` that lie in the pyspark which is installed on it, as the same modules.

    Spark puts them first. A worker invalidates the import caches before each task, and Python then reads the directory
    of an archive again for every package that came from it: 0.2 s a task.
    """
    archives = {entry for entry in path if entry.endswith((".zip", ".jar"))}
    spec = PathFinder.find_spec("pyspark", [entry for entry in path if entry not in archives])
    if spec is None or spec.origin is None:
        return set()
    installed = Path(spec.origin).parent.resolve()
    return {entry for entry in archives if Path(entry).resolve().is_relative_to(installed)}


def kept_light(worker: Callable[..., int]) -> Callable[..., int]:
    """The same worker, for task after task.

    It is made to look for garbage after each of them: not in modules that came with it, which takes 0.1 s. And when a
    session ends, the JVM may be gone before the worker has said good-bye, which is no news.
    """
    modules = 0

    def run(*arguments: Any) -> int:
        nonlocal modules
        try:
            return worker(*arguments)
        except BrokenPipeError:
            return 1
        finally:
            if len(sys.modules) > modules:
                modules = len(sys.modules)
                gc.collect()
                gc.freeze()

    return run


if __name__ == "__main__":
    archives = own_archives(sys.path)
    sys.path[:] = [entry for entry in sys.path if entry not in archives]
    for archive in archives:
        sys.path_importer_cache.pop(archive, None)
    import pyspark.daemon

    import winnow.ingest.scan  # noqa: F401

    gc.freeze()  # so that workers share it
    pyspark.daemon.worker = kept_light(pyspark.daemon.worker)
    pyspark.daemon.manager()  # type: ignore[no-untyped-call]
