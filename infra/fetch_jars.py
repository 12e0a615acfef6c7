"""Resolve the jars of a list into a folder and into pyspark's own jars, checked by sha256.

Spark's own Ivy resolves them (no Maven client is needed); later sessions find them on pyspark's class path and
download nothing.

    python infra/fetch_jars.py infra/jars.txt .venv/jars
"""

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession


def read_list(path: Path) -> list[tuple[str, str]]:
    lines = [line.split("#")[0].split() for line in path.read_text().splitlines()]
    return [(coordinate, sha256) for coordinate, sha256 in filter(None, lines)]


def resolve(coordinates: list[str], ivy: str) -> None:
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.jars.ivy", ivy)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for coordinate in coordinates:
        spark.sql(f"ADD JAR ivy://{coordinate}?transitive=false")
    spark.stop()


def main(list_file: Path, folder: Path) -> None:
    wanted = read_list(list_file)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as ivy:
        resolve([coordinate for coordinate, _ in wanted], ivy)
        for coordinate, sha256 in wanted:
            group, artifact, version = coordinate.split(":")
            found = next(Path(ivy).rglob(f"{group}_{artifact}-{version}.jar"))
            actual = hashlib.sha256(found.read_bytes()).hexdigest()
            if actual != sha256:
                sys.exit(f"setup: {coordinate} has sha256 {actual}, {list_file} says {sha256}: not installed")
            name = f"{artifact}-{version}.jar"
            shutil.copy(found, folder / name)
            shutil.copy(found, Path(pyspark.__file__).parent / "jars" / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
