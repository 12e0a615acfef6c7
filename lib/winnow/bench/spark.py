"""What does `winnow.spark` cost beside the least that any job on these documents does, parsing them with lxml?

Both run in one warm session and are counted, not written: `match` beside a `mapInArrow` that parses the same documents,
`winnow_xml` beside the same for the documents of its archives. Then the memory that workers share, with many profiles.
Inputs are those of `winnow bench pipeline`. The JVM has Java's own options: those of `open_session` are for short jobs.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.bench.synthetic_inputs import write_documents, write_profiles
from winnow.spark import Index, build_index, load_index, match, register
from winnow.spark.match_tasks import IndexFiles, MatchDocuments

if TYPE_CHECKING:
    import pyarrow as pa

ROUNDS = 5  # of which the first is not counted: what a session loads once is paid for there
IN_ARCHIVES = 100_000  # documents
PARTITIONS = 8
SAMPLE = 2000  # documents that each worker matches before its memory is read
WAIT_SECONDS = 120


def run(folder: Path, *, documents: int, profiles: int, many: int, master: str) -> dict[str, Any]:
    from winnow.tables.session import open_session

    archives, fewer = write_documents(folder, documents), write_documents(folder, min(documents, IN_ARCHIVES))
    asked, more = write_profiles(folder, (profiles, many))
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 3g pyspark-shell")
    os.environ.setdefault(
        "NUMPY_MADVISE_HUGEPAGE", "0"
    )  # as infra/docs/spark.md says: tables are touched here and there
    spark = open_session(master=master)
    register(spark)
    stored = _stored(spark, archives, folder / f"spark-documents-{documents}")
    index = _index(spark, asked, folder / "spark-index")
    result: dict[str, Any] = {"documents": stored.count(), "profiles": profiles, "master": master}
    in_archives = spark.read.format("winnow_xml").load(str(fewer))
    share = min(documents, IN_ARCHIVES) / documents  # the time to parse follows the number of documents
    rounds = [
        {
            "lxml_parse": _seconds(parsed(stored).count),
            "match": _seconds(match(stored, index).count),
            "winnow_xml": _seconds(in_archives.count),
        }
        for _ in range(ROUNDS)
    ]
    result["matches"] = match(stored, index).count()
    for name in rounds[0]:
        result[f"{name}_seconds"] = median(seconds[name] for seconds in rounds[1:])
    result["match_ratio"] = median(seconds["match"] / seconds["lxml_parse"] for seconds in rounds[1:])
    result["winnow_xml_ratio"] = median(seconds["winnow_xml"] / seconds["lxml_parse"] / share for seconds in rounds[1:])
    result["many_profiles"] = _many(spark, more, stored, folder)
    spark.stop()
    spark = open_session(master=master)  # with new workers: what these hold of building an index is not to be counted
    result["memory"] = memory(spark, folder, folder / f"spark-documents-{documents}")
    spark.stop()
    return result


def parsed(documents: DataFrame) -> DataFrame:
    """Parses documents with lxml and does nothing else."""
    return documents.select("content").mapInArrow(_parse, "documents long")


def _parse(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    from winnow.parsing import parse

    for batch in batches:
        for content in batch.column(0).to_pylist():
            parse(content)
        yield pa.RecordBatch.from_pydict({"documents": [batch.num_rows]})


def _many(spark: SparkSession, profiles: Path, documents: DataFrame, folder: Path) -> dict[str, Any]:
    """An index of many profiles, whole and in several partitions."""
    began = time.perf_counter()
    whole = _index(spark, profiles, folder / "spark-index-many")
    seconds = time.perf_counter() - began
    split = _index(spark, profiles, folder / "spark-index-split", partitions=PARTITIONS)
    few = documents.limit(SAMPLE)
    same = _fingerprint(match(few, whole)) == _fingerprint(match(few, split))
    return {"profiles": whole.profiles, "build_seconds": seconds, "partitions_give_the_same_rows": same}


def memory(spark: SparkSession, folder: Path, documents: Path) -> dict[str, Any]:
    """What a second worker of a machine costs with an index, beyond what it costs with an index of one profile."""
    one = spark.createDataFrame([("p", "//none")], "profile_id string, xpath string")
    nearly_none = build_index(one, str(folder / "spark-index-one")).files  # kernels are loaded, as with any index
    files = load_index(str(folder / "spark-index-many"), spark=spark).files
    size = sum((folder / "spark-index-many" / name).stat().st_size for name in files.files) / 1e6
    stored = spark.read.format("delta").load(str(documents))
    sample = [bytes(row.content) for row in stored.select("content").limit(SAMPLE).collect()]

    def measured(index: IndexFiles) -> list[float]:
        return [_megabytes(spark, Probe(index, sample, workers, folder.absolute())) for workers in (1, 2)]

    without, with_index = measured(nearly_none), measured(files)
    second = (with_index[1] - with_index[0]) - (without[1] - without[0])
    return {
        "index_megabytes": size,
        "one_worker_without_index_pss_megabytes": without[0],
        "two_workers_without_index_pss_megabytes": without[1],
        "one_worker_pss_megabytes": with_index[0],
        "two_workers_pss_megabytes": with_index[1],
        "second_worker_more_megabytes": second,
        "second_worker_share_of_index": second / size,
    }


@dataclass(frozen=True)
class Probe:
    """A task for each of so many workers at a time: match the sample, wait for the others, read the own PSS."""

    files: IndexFiles
    sample: list[bytes]
    workers: int
    folder: Path

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        list(batches)
        content = pa.array(self.sample, pa.binary())
        documents = pa.RecordBatch.from_pydict({"id": pa.array(range(len(content))), "content": content})
        answers = MatchDocuments(self.files, "id", "content", (), False)([documents])
        matches = sum(rows.num_rows for rows in answers)
        self._meet("ready")
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        self._meet("read")
        yield pa.RecordBatch.from_pydict({"megabytes": [kilobytes / 1e3], "matches": [matches]})

    def _meet(self, name: str) -> None:
        """Wait until all workers are here, so that all of them count as users of what they share."""
        place = self.folder / f"probe-{name}"
        place.mkdir(exist_ok=True)
        (place / str(os.getpid())).touch()
        deadline = time.monotonic() + WAIT_SECONDS
        while sum(1 for _ in place.iterdir()) < self.workers:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.workers} workers did not meet")
            time.sleep(0.05)


def _megabytes(spark: SparkSession, probe: Probe) -> float:
    """All workers together."""
    for name in ("ready", "read"):
        shutil.rmtree(probe.folder / f"probe-{name}", ignore_errors=True)
    found = spark.range(0, probe.workers, 1, probe.workers).mapInArrow(probe, "megabytes double, matches long")
    return float(sum(row.megabytes for row in found.collect()))


def _fingerprint(matches: DataFrame) -> tuple[int, int]:
    hashed = sf.xxhash64("document_id", "profile_id", "witness").cast("decimal(38,0)")
    row = matches.agg(sf.count("*"), sf.sum(hashed)).collect()[0]
    return row[0], row[1]


def _stored(spark: SparkSession, archives: Path, target: Path) -> DataFrame:
    if not target.is_dir():
        documents = spark.read.format("winnow_xml").load(str(archives)).select("document_id", "content")
        documents.write.format("delta").save(str(target))
    return spark.read.format("delta").load(str(target))


def _index(spark: SparkSession, profiles: Path, place: Path, partitions: int = 1) -> Index:
    shutil.rmtree(place, ignore_errors=True)
    asked = spark.read.schema("profile_id string, xpath string").json(str(profiles))
    return build_index(asked, str(place), partitions=partitions)


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
