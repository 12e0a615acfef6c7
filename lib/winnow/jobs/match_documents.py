"""Ask the documents of some intervals what is still to be asked, and stage the answers.

Reads:  encoded_documents, documents, profiles, profile_patterns, paths, path_branches, selectivity, runs
Writes: matches_staged and runs, for each interval that has something to ask

Documents that were never asked meet all profiles. Documents that were asked before meet the profiles that came since,
and of these documents only those with a path that the new profiles name. libxml2 decides hybrid profiles, for which
the bytes are read again.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as sf

from winnow.deciding.limits import DEFAULT_EVALUATION, EvaluationLimits
from winnow.jobs import build_sequence_trees as sequence_trees
from winnow.jobs.index_state import trees
from winnow.jobs.join_paths import require_joined
from winnow.jobs.match_tasks import (
    ANSWERS,
    ASKED_COLUMNS,
    COUNTERS,
    FILE,
    FindWantedPaths,
    MatchEncoded,
    write_asked_of_trees,
    write_asked_profiles,
    write_joined_paths,
)
from winnow.jobs.publish_matches import finish_publications
from winnow.jobs.report import RunReport
from winnow.ledger import Change, Outcome, Plan, Run, newest_published, plan_interval, required_on
from winnow.spark.places import Place
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.tables.small import read_one, read_small

INPUTS = ("encoded_documents", "profiles", "profile_patterns", "paths", "path_branches", "selectivity")
MAX_SHARD_PROFILES = 500_000  # profiles of one matcher: about 1 GB of a worker's memory, shared by those of a machine
_COUNTED = {name: name.replace("_", " ") for name in COUNTERS} | {"routed": "pairs routed"}
MAX_WANTED = 50_000  # paths that a plan names: about 1 MB of it
_ENCODED = ("document_id", "ingest_date", "paths", "nodes", "spans", "values")


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    dates: tuple[dt.date, ...]
    run_id: str  # unique: no two runs share one
    engine: str = "boxpath"
    full: bool = False
    only: str | None = None
    shard: int = MAX_SHARD_PROFILES
    evaluation: EvaluationLimits = DEFAULT_EVALUATION


@dataclass(frozen=True)
class Question:
    """Index files for some profiles, one per shard, and what their answers need."""

    asked: tuple[str, ...]
    joined: str
    profiles: int
    hybrid: int
    wanted: tuple[list[int] | None, ...]  # for each shard what a document without one of it has no answer
    wanted_column: str = "paths"  # which of its columns that is about


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("match_documents")
    tables = config.lake.open(spark)
    tables.create("matches_staged", "runs", "selectivity", "path_branches")
    with report.stage("plan"):
        for date in config.dates:
            finish_publications(tables, date)
        versions = tables.versions(*INPUTS)
        profiles = tables.read("profiles", version=versions["profiles"])
        revision = newest_revision(profiles)
        plans = {date: plan(tables, date, versions, revision, config) for date in config.dates}
        work = {date: plan for date, plan in plans.items() if not plan.is_done}
    report.counts = {"dates": len(plans), "to publish": len(work), "documents": 0, "matches": 0}
    if not work:
        return report.nothing_to_do()
    with report.stage("matcher"):
        if config.engine in sequence_trees.ENGINES:
            questions: Questions = SequenceQuestions(tables, versions, config)
        else:
            _, join = require_joined(tables, paths_version=versions["paths"], profiles_version=versions["profiles"])
            versions["path_branches"] = max(versions["path_branches"], join.path_branches_version)
            questions = Questions(tables, versions, config)
        frames = [
            frame for date, own in work.items() for frame in questions.answers(date, own.new_batches, own.asked_since)
        ]
    with report.stage("match"):
        stage = staged(reduce(DataFrame.unionByName, frames), config.run_id) if frames else None
        if stage is not None:
            tables.append("matches_staged", stage, Transaction(f"matches_staged/{config.run_id}"))
        version = tables.version("matches_staged")
    with report.stage("record"):
        inputs = versions | {"matches_staged": version}
        rows = [_row(date, own, config, inputs, questions) for date, own in work.items()]
        tables.append("runs", _runs(spark, rows), Transaction(f"runs/{config.run_id}"))
        own_rows = tables.read("matches_staged", version=version).where(sf.col("run_id") == config.run_id)
        report.counts |= totals(own_rows) | questions.counts
    report.counts["profiles asked"] = max(questions.profiles_asked.values(), default=0)
    return report


def newest_revision(profiles: DataFrame) -> int:
    found = read_one(
        profiles.agg(sf.max(sf.greatest("since", "changed", sf.coalesce("until", "since"))).alias("newest"))
    )
    return int(found["newest"] or 0)


def plan(tables: Tables, date: dt.date, versions: dict[str, int], revision: int, config: Config) -> Plan:
    """Reads what an interval has and was asked, and decides."""
    runs = [Run.of(row.asDict()) for row in read_small(tables.read("runs").where(sf.col("match_date") == sf.lit(date)))]
    ledger = newest_published(runs)
    encoded = tables.read("encoded_documents", version=versions["encoded_documents"], interval=date)
    batches = {row["batch"]: row["count"] for row in read_small(encoded.groupBy("batch").count())}
    profiles = tables.read("profiles", version=versions["profiles"])
    change = change_since(profiles, date, ledger.revision) if ledger else Change(0, 0)
    only = config.only is not None
    return plan_interval(ledger, batches, change, revision=revision, full=config.full, only=only)


def change_since(profiles: DataFrame, date: dt.date, revision: int) -> Change:
    """Counts what has become of the profiles since a revision, as far as an interval is concerned."""
    is_new = f"since > {revision} OR changed > {revision}"
    was_asked = f"since <= {revision} AND (until IS NULL OR until > {revision})"
    counts = profiles.agg(
        sf.count_if(sf.expr(f"({required_on(date)}) AND ({is_new})")).alias("added"),
        sf.count_if(sf.expr(f"({was_asked}) AND (until > {revision} OR changed > {revision})")).alias("withdrawn"),
    )
    return Change(**read_one(counts))


def staged(answers: DataFrame, run_id: str) -> DataFrame:
    """Returns answers as rows of the stage, each with a checksum of what it says."""
    return (
        answers.withColumn("checksum", sf.xxhash64("document_id", "shard", "profiles", "witnesses"))
        .withColumn("run_id", sf.lit(run_id))
        .select(*contract("matches_staged").names)
    )


def totals(stage: DataFrame) -> dict[str, int]:
    found = read_one(
        stage.agg(
            sf.count_if(sf.col("shard") == 0).alias("documents"),
            *(sf.coalesce(sf.sum(name), sf.lit(0)).alias(_COUNTED[name]) for name in COUNTERS),
            sf.coalesce(sf.sum(sf.size("profiles")), sf.lit(0)).alias("matches"),
            sf.coalesce(sf.sum(sf.size("undecided")), sf.lit(0)).alias("undecided"),
        )
    )
    return {name: int(value) for name, value in found.items()}


class Questions:
    """The questions of a run at some versions of the tables, and frames that answer them from index files."""

    def __init__(self, tables: Tables, versions: dict[str, int], config: Config) -> None:
        self._tables, self._versions, self._config = tables, versions, config
        self._place = Place(tables.lake.index_location, tables.lake.filesystem_options)
        self._questions: dict[int | None, Question] = {}
        self._joined = ""
        self.profiles_asked: dict[dt.date, int] = {}

    @property
    def counts(self) -> dict[str, int]:
        """What was read of the index."""
        return {}

    def answers(self, date: dt.date, new_batches: Sequence[str], asked_since: int | None) -> list[DataFrame]:
        """Returns the answers of new batches to all profiles, and of the others to those that came since."""
        encoded = self._tables.read(
            "encoded_documents", version=self._versions["encoded_documents"], interval=date
        ).where("refused IS NULL")
        frames = []
        is_new = sf.col("batch").isin(list(new_batches))
        if new_batches:
            frames += self._asked(date, encoded.where(is_new), None)
        if asked_since is not None:
            frames += self._asked(date, encoded.where(~is_new), asked_since)
        return frames

    def _asked(self, date: dt.date, encoded: DataFrame, since: int | None) -> list[DataFrame]:
        question = self._question(since)
        self.profiles_asked.setdefault(date, question.profiles)
        frames = []
        for shard, (file, wanted) in enumerate(zip(question.asked, question.wanted, strict=True)):
            rows = encoded.select(*_ENCODED)
            if wanted is not None:
                rows = encoded.where(holds_one_of(question.wanted_column, wanted)).select(*_ENCODED)
            if question.hybrid:
                documents = self._tables.read("documents", interval=date).select("document_id", "content", "encoding")
                rows = rows.join(documents, "document_id")
            only_hits = since is not None or wanted is not None
            answer = MatchEncoded(self._place, file, question.joined, self._config.evaluation, only_hits)
            frames.append(rows.mapInArrow(answer, ANSWERS).withColumn("shard", sf.lit(shard)))
        return frames

    def _question(self, since: int | None) -> Question:
        if since not in self._questions:
            self._questions[since] = self._ask(since)
        return self._questions[since]

    def _ask(self, since: int | None) -> Question:
        profiles = self._profiles(since)
        patterns = self._tables.read("profile_patterns", version=self._versions["profile_patterns"])
        shards = -(-read_one(profiles.agg(sf.count("*").alias("count")))["count"] // self._config.shard)
        rare = self._tables.read("selectivity", version=self._versions["selectivity"])
        asked = asked_profiles(profiles, patterns, shards).groupBy("shard").cogroup(selectivity(rare, shards))
        files = asked.applyInArrow(write_asked_profiles(self._place, self._config.engine), FILE)
        written = read_small(files)
        by_shard = sorted(written, key=lambda row: row["shard"])
        names, joined = tuple(row["file"] for row in by_shard), self._joined_paths()
        return Question(
            names,
            joined,
            sum(row["profiles"] for row in written),
            sum(row["hybrid"] for row in written),
            tuple(None if since is None else self._wanted_paths(name, joined) for name in names),
        )

    def _profiles(self, since: int | None) -> DataFrame:
        profiles = self._tables.read("profiles", version=self._versions["profiles"]).where("state = 'active'")
        if since is not None:
            profiles = profiles.where((sf.col("since") > since) | (sf.col("changed") > since))
        if self._config.only is not None:
            profiles = profiles.where(sf.col("profile_id").rlike(glob_pattern(self._config.only)))
        return profiles

    def _wanted_paths(self, asked: str, joined: str) -> list[int] | None:
        find = FindWantedPaths(self._place, asked, joined, self._config.evaluation)
        found = self._tables.spark.range(1, numPartitions=1).mapInArrow(find, "wanted array<long>")
        wanted: list[int] | None = read_one(found)["wanted"]
        return wanted

    def _pairs(self) -> DataFrame:
        return self._tables.read("path_branches", version=self._versions["path_branches"])

    def _joined_paths(self) -> str:
        if not self._joined:
            paths = self._tables.read("paths", version=self._versions["paths"]).select(
                "path_id", "parent_id", "label", "depth"
            )
            pairs = self._pairs()
            whole = sf.lit(0).alias("whole")
            grouped = paths.groupBy(whole).cogroup(pairs.groupBy(whole))
            self._joined = read_one(grouped.applyInArrow(write_joined_paths(self._place), FILE))["file"]
        return self._joined


class SequenceQuestions(Questions):
    """The questions of engines that search the SUBSEQUENCE trees: their partitions are the shards.

    The first of them is asked of every document, so that each has an answer; to the others documents are routed by
    their labels.
    """

    def __init__(self, tables: Tables, versions: dict[str, int], config: Config) -> None:
        super().__init__(tables, versions, config)
        self._index, self._directory = sequence_trees.require_sequence_trees(tables, versions)
        versions |= {"envelope_nodes": self._index.nodes_version, "index_partitions": self._index.table_version}
        self._read: set[int] = set()  # partitions

    @property
    def counts(self) -> dict[str, int]:
        return {"partitions": len(self._index.partitions), "partitions read": len(self._read)}

    def _ask(self, since: int | None) -> Question:
        profiles = self._profiles(since)
        patterns = self._tables.read("profile_patterns", version=self._versions["profile_patterns"])
        own = sequence_trees.wanted_patterns(profiles, patterns)
        pieces = sequence_trees.pieces(own, self._directory).select("xpath_id", "partition").distinct()
        is_part = since is not None or self._config.only is not None
        chosen = {row["partition"] for row in read_small(pieces.select("partition").distinct())} if is_part else None
        asked = placed_profiles(profiles, patterns, pieces).groupBy("shard")
        names, shares, _ = self._directory
        write = write_asked_of_trees(self._place, self._config.engine, names, shares)
        nodes = trees(self._tables, self._index, chosen)
        written = read_small(asked.cogroup(nodes.groupBy("partition")).applyInArrow(write, FILE))
        by_shard = sorted(written, key=lambda row: row["shard"])
        self._read |= {row["shard"] for row in by_shard}
        routes = {row["partition"]: row["labels"] for row in self._index.partitions}
        wanted = [routes[row["shard"]] for row in by_shard]
        if since is None and wanted:
            wanted[0] = None
        return Question(
            tuple(row["file"] for row in by_shard),
            self._joined_paths(),
            sum(row["profiles"] for row in written),
            sum(row["hybrid"] for row in written),
            tuple(wanted),
            "labels",
        )

    def _pairs(self) -> DataFrame:
        """Nothing was joined, nor need it be."""
        return self._tables.spark.createDataFrame([], contract("path_branches").row_type)


def asked_profiles(profiles: DataFrame, profile_patterns: DataFrame, shards: int) -> DataFrame:
    """Returns profiles with their patterns, those that mean alike in one shard."""
    shard = sf.pmod(sf.xxhash64("xpath_id"), sf.lit(max(shards, 1))).cast("int")
    placed = profiles.select("xpath_id").distinct().withColumn("partition", shard)
    return placed_profiles(profiles, profile_patterns, placed)


def placed_profiles(profiles: DataFrame, profile_patterns: DataFrame, placed: DataFrame) -> DataFrame:
    """Returns profiles with their patterns, in the shards given as xpath_id and partition."""
    lean = "transform(patterns, p -> struct(p.pattern_id, p.twig, p.labels, p.tests)) AS patterns"
    compiled = profile_patterns.where("class <> 'rejected'").selectExpr("xpath_id", "class", lean)
    names = [column.split(" ")[0] for column in ASKED_COLUMNS.split("array<struct")[0].split(", ") if column]
    shards = placed.select("xpath_id", sf.col("partition").cast("int").alias("shard"))
    return profiles.join(compiled, "xpath_id").join(shards, "xpath_id").select(*names)


def holds_one_of(column: str, wanted: Sequence[int]) -> Column:
    """Says of lists of numbers whether one of them is wanted; where very many are, most lists have one, and all pass.

    Spark looks each number up in a set, in the JVM: what has none never reaches a worker.
    """
    if len(wanted) > MAX_WANTED:
        return sf.lit(True)
    listed = ", ".join(f"{number}L" for number in wanted) or "NULL"
    return sf.expr(f"exists({column}, number -> number IN ({listed}))")


def selectivity(rare: DataFrame, shards: int) -> GroupedData:
    """Returns how rare labels and values are, for each shard."""
    columns = ("counted", "code", "occurrences", "documents", "sampled")
    shard = sf.explode(sf.sequence(sf.lit(0), sf.lit(max(shards, 1) - 1))).alias("shard")
    return rare.select(*columns, shard).groupBy("shard")


def glob_pattern(glob: str) -> str:
    """Returns a glob of profile ids, with `*` and `?`, as a regular expression.

    >>> glob_pattern("desk-7.*")
    '^desk\\\\-7\\\\..*$'
    """
    import re

    return "^" + "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in glob) + "$"


def _row(date: dt.date, plan: Plan, config: Config, inputs: dict[str, int], questions: Questions) -> dict[str, object]:
    return {
        "run_id": config.run_id,
        "match_date": date,
        "outcome": str(Outcome.STAGED),
        "mode": str(plan.mode),
        "engine": config.engine,
        "only": config.only,
        "batches": list(plan.batches),
        "new_batches": list(plan.new_batches),
        "documents": plan.documents,
        "revision": plan.revision,
        "asked_since": plan.asked_since,
        "inputs": {name: version for name, version in inputs.items() if name != "matches_staged"},
        "base_run": plan.base_run,
        "staged_version": inputs["matches_staged"],
        "published_version": None,
        "profiles_asked": questions.profiles_asked.get(date, 0),
        "planned_at": dt.datetime.now(dt.UTC),
        "published_at": None,
    }


def _runs(spark: SparkSession, rows: Iterable[dict[str, object]]) -> DataFrame:
    names = contract("runs").names
    return spark.createDataFrame([tuple(row[name] for name in names) for row in rows], contract("runs").row_type)


def staged_dates(tables: Tables, run_id: str) -> list[dt.date]:
    """Returns the intervals for which a run has staged something."""
    rows = tables.read("runs").where((sf.col("run_id") == run_id) & (sf.col("outcome") == str(Outcome.STAGED)))
    return sorted(row["match_date"] for row in read_small(rows.select("match_date")))
