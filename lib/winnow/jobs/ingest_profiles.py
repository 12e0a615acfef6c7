"""Ingest a profile file: the file declares the set, the table follows.

Reads:  a CSV or JSONL file; profiles, profile_patterns
Writes: profile_patterns, what the language makes of each XPath that is new; profiles: new versions, changed
        attributes, retirements; rejected_profiles: the rows of this file that are no profiles

Ingesting the same file again changes nothing. A changed meaning (xpath, namespaces, ordered) is a new version, and so
is a retired profile that comes again; a changed subscriber, destination or validity updates the active version.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from winnow.errors import TransientError
from winnow.ingest.profiles import ProfileFile, read_profile_rows
from winnow.jobs.profile_versions import (
    ADDS_ROWS_ONLY,
    PLAN_IS_OLD,
    VERDICT,
    Declared,
    changed_versions,
    outcomes,
    require_distinct_keys,
    unless_changed,
)
from winnow.jobs.report import RunReport
from winnow.tables import Lake, Tables, contract
from winnow.tables.contract import quoted
from winnow.tables.filesystems import local_file
from winnow.tables.small import read_small

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("profile_patterns", "profiles", "rejected_profiles")
OUTCOMES = ("new", "changed", "updated", "revived", "retired")
NOT_RETIRED = "missing, not retired: rows without id"
MAX_PLANS = 8  # of one ingest, each because another one came first
UPDATE, INSERT = "WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"
Outcome = tuple[str, str | None]  # and the reason, for what the language rejected


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    file: str
    retire_missing: bool = False
    again: bool = False  # what the language has rejected before is compiled anew


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("ingest_profiles")
    tables = config.lake.open(spark)
    tables.create(*TABLES)
    source = config.file if "://" in config.file else str(Path(config.file).absolute())
    with report.stage("read"), local_file(config.file, config.lake.filesystem_options) as path:
        file = read_profile_rows(path, source)
        sent, unreadable = (
            spark.createDataFrame(rows, from_arrow_schema(rows.schema))  # which is not told from no rows
            for rows in (file.profiles, file.rejected)
        )
        given = with_xpath_id(sent).localCheckpoint()  # hashed once
    with report.stage("compile"):
        if config.again:
            forget_rejections(tables, given)
        compile_new(tables, given)
    with report.stage("profiles"):
        verdicts = tables.read("profile_patterns").select("xpath_id", *VERDICT)
        declared = Declared(given.join(verdicts, "xpath_id"), unreadable, outcome_of_missing(file, config))
        steps, counted = update_profiles(tables, declared)
    with report.stage("rejected profiles"):
        replace_rejections(tables, rejections(unreadable, steps, source), source)
    report.counts = counts(file, counted)
    return report


def with_xpath_id(given: DataFrame) -> DataFrame:
    """Names what is asked by its content: every text is written with its length, so no two write the same."""
    pairs = sf.transform(
        sf.array_sort(sf.map_entries("namespaces")), lambda pair: sf.concat(_sized(pair["key"]), _sized(pair["value"]))
    )
    content = sf.concat(sf.col("ordered").cast("string"), _sized(sf.col("xpath")), sf.array_join(pairs, ""))
    return given.withColumn("xpath_id", sf.left(sf.sha2(content, 256), sf.lit(32)))


def _sized(text: Column) -> Column:
    return sf.concat(sf.length(text).cast("string"), sf.lit(":"), text)


def forget_rejections(tables: Tables, given: DataFrame) -> None:
    """Takes back that the language has rejected these XPaths: it may take more by now. No profile relies on it."""
    rejected = tables.read("profile_patterns").where("class = 'rejected'")
    tables.delete_keys("profile_patterns", rejected.join(given, "xpath_id", "left_semi").select("xpath_id"))


def compile_new(tables: Tables, given: DataFrame) -> None:
    """Adds what the language makes of XPaths that no file had before."""
    unknown = given.join(tables.read("profile_patterns"), "xpath_id", "left_anti")
    if not is_empty(unknown):
        tables.append_new("profile_patterns", profile_patterns(unknown))


def profile_patterns(xpaths: DataFrame) -> DataFrame:
    """Returns the patterns of each XPath, or why it is rejected."""
    wanted = contract("profile_patterns")
    asked = xpaths.select("xpath_id", "xpath", "namespaces", "ordered").dropDuplicates(["xpath_id"])
    return asked.mapInArrow(_compile_batches, wanted.row_type).select(*wanted.names)


def outcome_of_missing(file: ProfileFile, config: Config) -> str | None:
    """Where a row is so broken that it does not even show its id, any profile may be meant, and none is retired."""
    if not config.retire_missing:
        return None
    return NOT_RETIRED if file.rejected.column("profile_id").null_count else "retired"


def update_profiles(tables: Tables, declared: Declared) -> tuple[DataFrame, Counter[Outcome]]:
    """Makes the table follow the file, in one commit; returns what became of the profiles, and of how many."""
    for _ in range(MAX_PLANS):
        version = tables.version("profiles")
        stored = tables.read("profiles", version=version)
        steps = outcomes(declared, stored).localCheckpoint()
        counted = count_outcomes(steps)
        changing = {outcome for outcome, _ in counted} & {*OUTCOMES}
        if not changing:
            return steps, counted
        changes = changed_versions(steps, revision=version + 1)
        require_distinct_keys(stored, changes)
        try:
            tables.merge(
                "profiles",
                unless_changed(changes, tables.read("profiles"), revision=version + 1),
                on="t.profile_id = s.profile_id AND t.profile_version = s.profile_version",
                clauses=INSERT if changing <= ADDS_ROWS_ONLY else f"{UPDATE} {INSERT}",  # the former costs half
            )
        except Exception as error:
            if PLAN_IS_OLD not in str(error):
                raise
        else:
            return steps, counted
    raise TransientError(
        "table_conflict",
        f"table profiles was changed by others {MAX_PLANS} times while this file was compared with it",
        hint="start again when less is written to it: no profile was changed",
    )


def count_outcomes(steps: DataFrame) -> Counter[Outcome]:
    """Returns how many profiles have which outcome, and why if they were rejected."""
    counted = steps.groupBy("outcome", "given.reason").count()
    counts: Counter[Outcome] = Counter()
    for row in read_small(counted):
        counts[row["outcome"], row["reason"] if row["outcome"] == "rejected" else None] += row["count"]
    return counts


def rejections(unreadable: DataFrame, steps: DataFrame, source: str) -> DataFrame:
    """Returns the rows of the file that are no profiles, and those that the language refuses."""
    names = contract("rejected_profiles").names
    refused = (
        steps.where("outcome = 'rejected'")
        .select("profile_id", "given.*", sf.lit(source).alias("source"))
        .withColumn("column", sf.col("column").cast("long"))
        .select(*names)
    )
    return unreadable.select(*names).union(refused)


def replace_rejections(tables: Tables, rejected: DataFrame, source: str) -> None:
    """Makes the table hold exactly these rejections of the file."""
    stored = tables.read("rejected_profiles").where(sf.col("source") == source)
    if is_empty(differences(rejected, stored)):
        return
    tables.merge(
        "rejected_profiles",
        rejected,
        on="t.source = s.source AND t.row_number = s.row_number",
        clauses=f"{UPDATE} {INSERT} WHEN NOT MATCHED BY SOURCE AND t.source = {quoted(source)} THEN DELETE",
    )


def differences(rejected: DataFrame, stored: DataFrame) -> DataFrame:
    """Returns the row numbers of a file whose rejections are not the same in both."""
    new = rejected.select("row_number", sf.struct("*").alias("new"))
    old = stored.select("row_number", sf.struct("*").alias("old"))
    return new.join(old, "row_number", "full").where("NOT new <=> old").select("row_number")


def counts(file: ProfileFile, counted: Counter[Outcome]) -> dict[str, int]:
    """Returns the counts of a report: every row of the file is in one of them."""
    read = file.profiles.num_rows + file.rejected.num_rows
    reasons = Counter(file.rejected.column("reason").to_pylist())
    reasons.update({reason: count for (_, reason), count in counted.items() if reason})
    of = {name: counted[name, None] for name in (*OUTCOMES, NOT_RETIRED)}
    changed = sum(of[name] for name in OUTCOMES if name != "retired")
    return {
        "read": read,
        **{name: of[name] for name in OUTCOMES},
        **({NOT_RETIRED: of[NOT_RETIRED]} if of[NOT_RETIRED] else {}),
        "unchanged": read - reasons.total() - changed,
        "rejected": reasons.total(),
        **{f"rejected: {reason}": reasons[reason] for reason in sorted(reasons)},
        **{f"ignored field: {name}": rows for name, rows in sorted(file.ignored_fields.items())},
    }


def is_empty(rows: DataFrame) -> bool:
    return not read_small(rows.limit(1))


def _compile_batches(batches: "Iterable[pa.RecordBatch]") -> "Iterable[pa.RecordBatch]":
    from winnow.index.compiled_rows import compile_rows

    return map(compile_rows, batches)
