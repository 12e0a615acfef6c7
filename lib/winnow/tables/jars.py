"""Delta's jars and those for S3: where they are, and how they come from Maven Central. Each is checked by sha256.

They lie in pyspark's own `jars`, where spark-submit finds them, too; where that folder cannot be written, in the user's
cache, and sessions name them. WINNOW_JARS names another folder. Sessions download nothing.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyspark
from pyspark.sql import SparkSession

from winnow.errors import DataError, UsageError
from winnow.tables.jvm import quiet_start, require_java


class Jar(NamedTuple):
    coordinate: str  # group:artifact:version
    sha256: str

    @property
    def file_name(self) -> str:
        """
        >>> Jar("io.delta:delta-storage:4.4.0", "").file_name
        'delta-storage-4.4.0.jar'
        """
        return "-".join(self.coordinate.split(":")[1:]) + ".jar"


def _listed(name: str) -> tuple[Jar, ...]:
    lines = (line.split("#")[0].split() for line in Path(__file__).with_name(name).read_text().splitlines())
    return tuple(Jar(*words) for words in lines if words)


def delta_jars() -> tuple[Jar, ...]:
    """Returns what Delta needs beside pyspark's own jars."""
    return _listed("jars.txt")


def s3_jars() -> tuple[Jar, ...]:
    """Returns what lakes at s3a:// need beside these."""
    return _listed("jars-s3.txt")


def pyspark_jars() -> Path:
    return Path(pyspark.__file__).parent / "jars"


def folders() -> Iterator[Path]:
    """Yields where the jars may lie."""
    if given := os.environ.get("WINNOW_JARS"):
        yield Path(given)
    yield pyspark_jars()
    yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "winnow" / "jars"


def folder_of(jars: tuple[Jar, ...]) -> Path | None:
    """Returns the first folder that has all of them; for Delta's, pyspark's own also with another version of them."""
    for folder in folders():
        if all((folder / jar.file_name).is_file() for jar in jars):
            return folder
        if jars == delta_jars() and folder == pyspark_jars() and any(folder.glob("delta-spark_*.jar")):
            return folder
    return None


def session_jars() -> list[str]:
    """Returns the jars that a session has to name, none where pyspark has them itself.

    Raises:
        UsageError: Delta's are not installed.
    """
    found = {jars: folder_of(jars) for jars in (delta_jars(), s3_jars())}
    if not found[delta_jars()]:
        coordinates = ", ".join(jar.coordinate for jar in delta_jars())
        raise UsageError(
            "jars_missing",
            f"Spark needs the Delta jars {coordinates}, and they are in none of {', '.join(map(str, folders()))}",
            hint="`winnow setup-jars` gets them from Maven Central; or put them in a folder and name it in WINNOW_JARS",
        )
    return [
        str(folder / jar.file_name)
        for jars, folder in found.items()
        if folder and folder != pyspark_jars()
        for jar in jars
    ]


def fetch_jars(jars: tuple[Jar, ...]) -> Path:
    """Brings jars to the first folder that can be written, by Spark's own Ivy; returns the folder.

    Raises:
        DataError: one is not what it should be.
        UsageError: no folder can be written.
    """
    require_java()
    folder = _writable_folder()
    with tempfile.TemporaryDirectory() as ivy:
        _resolve([jar.coordinate for jar in jars], ivy)
        for jar in jars:
            group, artifact, version = jar.coordinate.split(":")
            found = next(Path(ivy).rglob(f"{group}_{artifact}-{version}.jar"))
            with found.open("rb") as stream:
                actual = hashlib.file_digest(stream, "sha256").hexdigest()
            if actual != jar.sha256:
                message = f"{jar.coordinate} has sha256 {actual}, its list says {jar.sha256}: not installed"
                raise DataError("jar_altered", message)
            partial = folder / f".{jar.file_name}.partial"
            shutil.copy(found, partial)
            partial.replace(folder / jar.file_name)
    return folder


def _writable_folder() -> Path:
    for folder in folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    raise UsageError("no_folder", f"none of {', '.join(map(str, folders()))} can be written", hint="set WINNOW_JARS")


def _resolve(coordinates: list[str], ivy: str) -> None:
    with quiet_start():
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.jars.ivy", ivy)
            .getOrCreate()
        )
    for coordinate in coordinates:
        spark.sql(f"ADD JAR ivy://{coordinate}?transitive=false")
    spark.stop()
