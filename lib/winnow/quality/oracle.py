"""The oracle: libxml2 evaluates a sample of pairs again, on the workers, beside what is to be published.

A random pair is hardly ever a match, so it hardly ever shows a lost one. Documents and profiles are therefore drawn by
strata: documents with a path that no earlier run has met, documents that a rare or hybrid profile matches, documents
without a match; and profiles that are hybrid, that match nothing, that match little. On the worker, profiles whose
labels a document has come before others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from winnow.quality.audited_run import AuditedRun
from winnow.tables.small import read_one, read_small

if TYPE_CHECKING:
    import pyarrow as pa

PAIRS_PER_DOCUMENT = 20  # parsing costs more than asking
MAX_PROBES = 400  # profiles that travel with the tasks
MAX_NEW_PATHS = 200
MAX_BYTES = 1 << 20  # of a document
RARE = 3  # documents
ANSWERS = "pairs long, known long, matches long, hybrid long, wrong long, examples array<string>"
_PROFILE = ("profile_key", "profile_id", "class", "xpath", "namespaces", "ordered")


class Agreement(NamedTuple):
    """How many pairs were asked, what libxml2 could say of them, and where it says otherwise."""

    pairs: int
    known: int
    matches: int
    hybrid: int
    wrong: int
    examples: tuple[str, ...]

    @property
    def tale(self) -> str:
        others = self.known - self.matches
        return f"{self.known} pairs: {self.matches} matches, {others} others, {self.hybrid} of hybrid profiles"


@dataclass(frozen=True)
class Probe:
    """A profile that sampled documents are asked, whether they match it or not."""

    profile_key: int
    profile_id: str
    kind: str
    xpath: str
    namespaces: tuple[tuple[str, str], ...]
    ordered: bool
    is_recent: bool


def agreement(run: AuditedRun) -> Agreement:
    """Draws a sample and lets libxml2 evaluate it."""
    profiles = read_one(run.asked.agg(sf.count("*").alias("count")))["count"]
    is_census = profiles * run.row["documents"] <= run.sample
    probes = drawn_probes(run, profiles if is_census else min(MAX_PROBES, run.sample))
    documents = run.row["documents"] if is_census else max(4, run.sample // PAIRS_PER_DOCUMENT)
    rows = with_answers(
        run, drawn_documents(run, probes, documents), run.sample if is_census else PAIRS_PER_DOCUMENT // 2
    )
    ask = AskLibxml2(tuple(probes), None if is_census else PAIRS_PER_DOCUMENT, f"{run.date}/{run.seed}")
    told = rows.mapInArrow(ask, ANSWERS)
    sums = [sf.coalesce(sf.sum(name), sf.lit(0)).alias(name) for name in Agreement._fields[:-1]]
    examples = sf.slice(sf.flatten(sf.collect_list("examples")), 1, 5).alias("examples")
    found = read_one(told.agg(*sums, examples))
    return Agreement(**{**found, "examples": tuple(found["examples"])})


def drawn_probes(run: AuditedRun, size: int) -> list[Probe]:
    """Draws profiles of each stratum in turn: hybrid ones, those without any match, rare ones, all."""
    counts = run.answer_counts.groupBy("profile_key").agg(sf.sum("documents").alias("documents"))
    known = run.asked.join(counts, "profile_key", "left")
    stratum = (
        sf.when(sf.col("class") == "hybrid", "hybrid")
        .when(sf.col("documents").isNull(), "none")
        .when(sf.col("documents") <= RARE, "rare")
        .otherwise("all")
    )
    rows = read_small(in_turn(known, stratum, sf.col("profile_key"), size, run.seed).select(*_PROFILE, "is_recent"))
    return [
        Probe(
            row["profile_key"], row["profile_id"], row["class"], row["xpath"],
            tuple(sorted(row["namespaces"].items())), row["ordered"], row["is_recent"],
        )
        for row in rows
    ]  # fmt: skip


def drawn_documents(run: AuditedRun, probes: list[Probe], size: int) -> DataFrame:
    """Draws documents of each stratum in turn: with a new path, matched by a probe, without a match, all."""
    keys = [probe.profile_key for probe in probes if probe.kind == "hybrid"] or [0]
    answers = run.stage.select(
        "document_id",
        (sf.size("profiles") > 0).alias("matches"),
        sf.arrays_overlap("profiles", literal_longs(keys[:MAX_PROBES])).alias("holds_probe"),
    )
    by_document = answers.groupBy("document_id").agg(
        sf.max("matches").alias("matches"), sf.max("holds_probe").alias("holds")
    )
    new = sf.arrays_overlap("paths", literal_longs(new_paths(run) or [0]))
    documents = run.asked_documents.select("document_id", "is_new", new.alias("has_new_path"))
    stratum = (
        sf.when(sf.col("has_new_path"), "new path")
        .when(sf.col("holds"), "hybrid")
        .when(sf.coalesce("matches", sf.lit(False)), "all")
        .otherwise("none")
    )
    joined = documents.join(by_document, "document_id", "left")
    return in_turn(joined, stratum, sf.col("document_id"), size, run.seed).select("document_id", "is_new")


def in_turn(rows: DataFrame, stratum: Column, key: Column, size: int, seed: int) -> DataFrame:
    """Returns `size` rows, drawn from the strata in turn, so that small strata are all there."""
    drawn = rows.withColumn("stratum", stratum).withColumn("lot", sf.xxhash64(key.cast("string"), sf.lit(seed)))
    place = sf.row_number().over(Window.partitionBy("stratum").orderBy("lot"))
    ranked = drawn.withColumn("place", place).where(sf.col("place") <= size)
    return ranked.orderBy("place", "stratum").limit(size)


def new_paths(run: AuditedRun) -> list[int]:
    """Returns paths that the interval's last publication has not met; none where there was none, for all are new."""
    if run.row["base_run"] is None:
        return []
    base = run.tables.read("runs").where((sf.col("run_id") == run.row["base_run"]) & (sf.col("match_date") == run.date))
    known = read_small(base.select(sf.col("inputs")["paths"].alias("version")))
    if not known or known[0]["version"] is None:
        return []
    before = run.tables.read("paths", version=known[0]["version"])
    found = run.read("paths").join(before, "path_id", "left_anti").orderBy("path_id").limit(MAX_NEW_PATHS)
    return [row["path_id"] for row in read_small(found.select("path_id"))]


def with_answers(run: AuditedRun, drawn: DataFrame, own: int) -> DataFrame:
    """Returns content and answers of drawn documents, and the texts of at most `own` profiles that each satisfies."""
    drawn = sf.broadcast(drawn)
    stage = run.stage.join(drawn, "document_id", "left_semi")
    answers = stage.groupBy("document_id").agg(
        sf.flatten(sf.collect_list("profiles")).alias("answers"),
        sf.flatten(sf.collect_list("undecided.profile_key")).alias("undecided"),
    )
    lot = sf.xxhash64("profile_key", "document_id", sf.lit(run.seed))
    place = sf.row_number().over(Window.partitionBy("document_id").orderBy("lot"))
    pairs = stage.select("document_id", sf.explode("profiles").alias("profile_key")).withColumn("lot", lot)
    texts = sf.struct(*_PROFILE)
    matched = (
        pairs.withColumn("place", place)
        .where(sf.col("place") <= own)
        .join(run.asked.select(*_PROFILE), "profile_key")
        .groupBy("document_id")
        .agg(sf.collect_list(texts).alias("matched"))
    )
    contents = run.tables.read("documents", interval=run.date).where(sf.col("size_bytes") <= MAX_BYTES)
    return (
        contents.select("document_id", "content")
        .join(drawn, "document_id")
        .join(answers, "document_id", "left")
        .join(matched, "document_id", "left")
        .select("document_id", "content", "is_new", "answers", "undecided", "matched")
    )


def literal_longs(values: list[int]) -> Column:
    return sf.array(*(sf.lit(value).cast("long") for value in values))


@dataclass(frozen=True)
class AskLibxml2:
    """The function of `mapInArrow` over drawn documents; `limit` pairs of each, all where there is none."""

    probes: tuple[Probe, ...]
    limit: int | None
    seed: str

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        from winnow.quality.oracle_tasks import answer

        for batch in batches:
            yield answer(batch, self.probes, self.limit, self.seed)
