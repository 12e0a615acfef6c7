"""The index as a value: built once from profiles, saved at a place, loaded, given to `match`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.engines.registry import check_name
from winnow.errors import DataError, UsageError
from winnow.spark.columns import require_columns
from winnow.spark.index_tasks import (
    BUILT,
    COMPILED,
    ReadManifest,
    WriteManifest,
    assemble_partition,
    compile_profiles,
)
from winnow.spark.match_tasks import IndexFiles
from winnow.spark.places import Place, kept

FORMAT = 1
MAX_CARRIED_BYTES = 512 << 20  # of an index without a place: it passes through the client
_OPTIONAL = {"namespaces": "map<string,string>", "ordered": "boolean"}
_REJECTED = "profile_id string, code string, message string, column int"


@dataclass(frozen=True)
class Index:
    """Compiled profiles in one or more partitions. Immutable; its files are named by their content.

    `rejected` has a row for every profile that could not be taken: profile_id, code, message, column.
    """

    engine: str
    profiles: int
    files: IndexFiles
    rejected: DataFrame

    @property
    def partitions(self) -> int:
        return len(self.files.files)


def build_index(
    profiles: DataFrame,
    place: str | None = None,
    *,
    engine: str = "boxpath",
    partitions: int = 1,
    filesystem_options: Mapping[str, Any] | None = None,
) -> Index:
    """Compiles profiles in Spark tasks and writes the index to `place`; without one the session carries it.

    Args:
        profiles: columns profile_id and xpath, optionally namespaces (map of prefix to URI) and ordered.
        place: a folder or URI that every worker reaches, e.g. `s3://bucket/indexes/news`.
        engine: how it answers; the answers are the same for all.
        partitions: more than one for profiles that outgrow a machine: documents then meet them in parallel.
        filesystem_options: arguments for pyarrow's file system at `place`, such as `access_key` and
            `endpoint_override`: workers do not see the session's `fs.s3a.*`.

    Raises:
        UsageError: columns are missing or of another type, or no profile was accepted.

    Example:
        >>> from winnow.tables.session import open_session  # any session will do
        >>> spark = open_session(master="local[2]")
        >>> asked = [("cheap", "//item[@price < 10]"), ("mistyped", "//item[")]
        >>> index = build_index(spark.createDataFrame(asked, "profile_id string, xpath string"))
        >>> index.profiles, index.partitions
        (1, 1)
        >>> index.rejected.select("profile_id", "code", "column").collect()
        [Row(profile_id='mistyped', code='syntax_error', column=8)]
    """
    require_columns(profiles, "profiles", {"profile_id": "string", "xpath": "string"}, optional=_OPTIONAL)
    check_name(engine)
    if partitions < 1:
        raise UsageError("bad_partitions", f"{partitions} index partitions", hint="give 1 or more")
    spark, at = profiles.sparkSession, Place(place, dict(filesystem_options or {})) if place else None

    def assemble(table: Any) -> Any:  # Spark counts the arguments of a function, and those of nothing else
        return assemble_partition(engine, at, table)

    built = _built(profiles, assemble, partitions)
    rows = sorted(built.collect(), key=lambda row: (row.index_partition, row.chunk))  # one row a partition and chunk
    first = [row for row in rows if row.chunk == 0]
    rejected = [tuple(problem) for row in first for problem in row.rejected]
    accepted = sum(row.profiles for row in first)
    if not accepted:
        shown = "; ".join(f"{name}: {message}" for name, _, message, _ in rejected[:3]) or "there are none"
        raise UsageError("no_profile_accepted", f"no profile was accepted: {shown}", hint="see `winnow check`")
    files = tuple(row.file for row in first)
    if at is None:
        _carry(spark, rows)
    else:
        manifest = {"format": FORMAT, "engine": engine, "profiles": accepted, "files": files, "rejected": rejected}
        spark.range(1).mapInArrow(WriteManifest(at, manifest), "id long").count()
    return Index(engine, accepted, IndexFiles(files, at), spark.createDataFrame(rejected, _REJECTED))


def load_index(
    place: str, *, filesystem_options: Mapping[str, Any] | None = None, spark: SparkSession | None = None
) -> Index:
    """Returns the index that was built at `place`.

    Raises:
        UsageError: there is none.
        DataError: it was written by another version.

    Example:
        >>> import tempfile
        >>> from winnow.tables.session import open_session  # any session will do
        >>> spark = open_session(master="local[2]")
        >>> profiles = spark.createDataFrame([("cheap", "//item[@price < 10]")], "profile_id string, xpath string")
        >>> with tempfile.TemporaryDirectory() as place:
        ...     built = build_index(profiles, place)
        ...     load_index(place, spark=spark).files == built.files
        True
    """
    spark = spark or SparkSession.active()
    at = Place(place, dict(filesystem_options or {}))
    text = spark.range(1).mapInArrow(ReadManifest(at), "manifest string").collect()[0].manifest
    if not text:
        raise UsageError("no_index", f"no index at {place!r}", hint="build one: winnow.spark.build_index(…, place)")
    manifest = json.loads(text)
    if manifest.get("format") != FORMAT:
        hint = "build it anew with this version"
        raise DataError("index_format", f"the index at {place!r} has format {manifest.get('format')}", hint=hint)
    rejected = spark.createDataFrame([tuple(row) for row in manifest["rejected"]], _REJECTED)
    return Index(manifest["engine"], manifest["profiles"], IndexFiles(tuple(manifest["files"]), at), rejected)


def _built(profiles: DataFrame, assemble: Any, partitions: int) -> DataFrame:
    given = set(profiles.columns)
    return (
        profiles.select(
            sf.pmod(sf.xxhash64("profile_id"), sf.lit(partitions)).cast("int").alias("index_partition"),
            "profile_id",
            "xpath",
            *(
                sf.col(name) if name in given else sf.lit(None).cast(kind).alias(name)
                for name, kind in _OPTIONAL.items()
            ),
        )
        .mapInArrow(compile_profiles, COMPILED)
        .groupBy("index_partition")
        .applyInArrow(assemble, BUILT)
    )


def _carry(spark: SparkSession, rows: list[Any]) -> None:
    """Hands index files to all workers of the session, through the client."""
    size = sum(row.bytes for row in rows if row.chunk == 0)
    if size > MAX_CARRIED_BYTES:
        raise UsageError(
            "index_too_large",
            f"an index of {size >> 20} MB does not go through the client (limit {MAX_CARRIED_BYTES >> 20} MB)",
            hint="give it a place that workers reach: build_index(profiles, 's3://…'), then match(documents, index)",
        )
    for name in dict.fromkeys(row.file for row in rows):
        path = kept(name, partial(_write_chunks, [row.content for row in rows if row.file == name]))
        try:
            spark.addArtifact(str(path), file=True)
        except PySparkException as error:  # the session has it: names are content hashes
            if "DUPLICATED_ARTIFACT" not in str(error):
                raise


def _write_chunks(chunks: list[bytes], out: IO[bytes]) -> None:
    out.writelines(chunks)
