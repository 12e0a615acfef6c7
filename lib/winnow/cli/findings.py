"""What `winnow doctor` looks at. A finding names what is, and where something is amiss the command that mends it."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from winnow.errors import WinnowError
from winnow.tables.lake import Lake

JAVA_VERSIONS = (17, 21)
CONNECT_PORT = 15002
_GIGABYTE = 10**9
_ROOMY = 5 * _GIGABYTE  # of free disk
_CORE = ("lxml", "numpy", "numba", "pyarrow")


class Finding(NamedTuple):
    what: str
    verdict: Literal["ok", "note", "broken"]
    words: str
    mends: str = ""


def findings(lake: Lake) -> Iterator[Finding]:
    """Yields all findings, those that others depend on first. What cannot even be looked at is one, too."""
    with_spark = _version("pyspark") is not None
    looks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("Python", _python),
        ("packages", _packages),
        ("kernels", _kernels),
        *([("Java", _java), ("jars", _jars)] if with_spark else []),
        ("disk", lambda: _disk(lake)),
        ("memory", _memory),
        ("ports", _ports),
        ("lake", lambda: _lake(lake)),
    ]
    for what, look in looks:
        try:
            yield from look()
        except WinnowError as error:
            yield Finding(what, "broken", error.message, error.hint)
        except Exception as error:
            yield Finding(what, "broken", f"{type(error).__name__}: {error}")


def _python() -> Iterator[Finding]:
    words = f"{sys.version.split()[0]} at {sys.executable}"
    is_new = sys.version_info >= (3, 11)
    yield Finding("Python", "ok" if is_new else "broken", words, "" if is_new else "Python 3.11 or newer is needed")


def _packages() -> Iterator[Finding]:
    lacking = [name for name in _CORE if _version(name) is None]
    if lacking:
        yield Finding(
            "packages", "broken", f"{', '.join(lacking)} is not installed", "pip install --force-reinstall winnow"
        )
    else:
        yield Finding("packages", "ok", f"winnow {_version('winnow')}; " + _versions(_CORE))
    yield from _spark_packages()


def _spark_packages() -> Iterator[Finding]:
    spark, client, pandas = (_version(name) for name in ("pyspark", "pyspark-client", "pandas"))
    if spark is None and client is None:
        mends = "pip install 'winnow[spark]', for all commands with a lake"
        yield Finding("Spark", "note", "not installed: winnow match, check, explain and Matcher work without", mends)
        return
    yield Finding(
        "Spark", "ok", _versions(("pyspark", "pyspark-client", "delta-spark", "great-expectations", "pandas"))
    )
    if spark and client and spark != client:
        words = f"pyspark {spark} and pyspark-client {client} overwrite each other's files"
        yield Finding("Spark", "broken", words, "pip uninstall pyspark-client; pip install --force-reinstall pyspark")
    if not (spark or client or "").startswith("4.1."):
        yield Finding("Spark", "broken", f"version {spark or client}, tested is 4.1", "pip install 'winnow[spark]'")
    if pandas and int(pandas.split(".")[0]) >= 3:
        words = f"pandas {pandas} turns NULL strings into 'nan' on PySpark 4.1"
        yield Finding("pandas", "broken", words, "pip install 'pandas<3'")


def _kernels() -> Iterator[Finding]:
    from winnow.tools.compile_kernels import are_compiled, compiled_kernels

    found = compiled_kernels()
    words = f"{found.compiled} of {found.kernels} are compiled for CPU {found.cpu}"
    if not are_compiled():
        yield Finding("kernels", "note", f"{words}; the first use compiles the others", "winnow setup-kernels")
    else:
        yield Finding("kernels", "ok", words)


def _java() -> Iterator[Finding]:
    from winnow.tables.jvm import JAVA_HINT, java_command, require_java

    require_java()
    command = str(java_command())
    told = subprocess.run([command, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    found = re.search(r'version "(\d+)', told)
    if found and int(found[1]) in JAVA_VERSIONS:
        yield Finding("Java", "ok", f"{found[1]} at {command}")
    else:
        said = f"version {found[1]}" if found else f"says {told.strip()[:80]!r}"
        yield Finding("Java", "broken", f"{command} is {said}; Spark 4.1 runs on 17 and 21", JAVA_HINT)


def _jars() -> Iterator[Finding]:
    from winnow.tables.jars import delta_jars, folder_of, s3_jars, session_jars

    session_jars()
    yield Finding("jars", "ok", f"Delta's are in {folder_of(delta_jars())}")
    if for_s3 := folder_of(s3_jars()):
        yield Finding("jars", "ok", f"those for S3 are in {for_s3}")


def _disk(lake: Lake) -> Iterator[Finding]:
    places = {tempfile.gettempdir(): "TMPDIR"}
    if lake.is_local:
        places[str(_existing(lake.folder))] = "the lake"
    for place, name in places.items():
        free = shutil.disk_usage(place).free
        words = f"{free / _GIGABYTE:,.1f} GB free for {name} ({place})"
        yield Finding("disk", "ok", words) if free >= _ROOMY else Finding("disk", "note", words, "make some room")


def _memory() -> Iterator[Finding]:
    available = _available_memory()
    wanted = _bytes(os.environ.get("WINNOW_DRIVER_MEMORY", "3g"))
    words = f"{available / _GIGABYTE:,.1f} GB available, Spark's driver may take {wanted / _GIGABYTE:,.1f}"
    if available < wanted + _GIGABYTE:
        yield Finding("memory", "note", words, "export WINNOW_DRIVER_MEMORY=1g, or end other programs")
    else:
        yield Finding("memory", "ok", words)


def _ports() -> Iterator[Finding]:
    with socket.socket() as probe:
        in_use = probe.connect_ex(("127.0.0.1", CONNECT_PORT)) == 0
    if in_use:
        words = f"{CONNECT_PORT} is in use, by a Connect server or something else"
        yield Finding("ports", "note", words, "winnow connect-server --port N, for another one")
    else:
        yield Finding("ports", "ok", f"{CONNECT_PORT} is free for `winnow connect-server`")


def _lake(lake: Lake) -> Iterator[Finding]:
    if lake.is_catalog:
        yield Finding("lake", "ok", f"{lake.location} is a schema of a catalog; `winnow status` looks into it")
        return
    if lake.is_local:
        folder = _existing(lake.folder)
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            words = f"{lake.location} cannot be written: {error.strerror}"
            yield Finding("lake", "broken", words, "name another one in --lake or WINNOW_LAKE, or make it writable")
            return
    if _version("deltalake") is None:
        return
    from winnow.query.stored_tables import table_states

    states = list(table_states(lake))
    if states:
        size = sum(state.size_bytes for state in states)
        yield Finding("lake", "ok", f"{len(states)} tables in {lake.location}, {size / 1e6:,.1f} MB")
    else:
        yield Finding("lake", "ok", f"{lake.location} has no tables yet", "winnow ingest documents PATH --date D")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _versions(packages: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {found}" for name in packages if (found := _version(name)))


def _existing(folder: Path) -> Path:
    """Returns the folder itself, or the nearest one above it that is there."""
    return next(place for place in (folder, *folder.parents) if place.exists())


def _available_memory() -> int:
    told = Path("/proc/meminfo")
    if not told.exists():
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = re.search(r"MemAvailable:\s+(\d+) kB", told.read_text())
    return int(found[1]) * 1024 if found else 0


def _bytes(text: str) -> int:
    """
    >>> _bytes("3g"), _bytes("512m")
    (3221225472, 536870912)
    """
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
    return int(float(text.lower().rstrip("b").rstrip("kmgt")) * units.get(text.lower().rstrip("b")[-1], 1))
