"""Audit what publishing the staged answers of a run would make of an interval; let nothing critical pass.

Reads:  runs, matches_staged and the tables that the run has read, at its versions; documents, document_sources, matches
Writes: quality_results; Data Docs, a page beside the reports

Each table is validated by Great Expectations with its suite, `schemas/<table>/suite.json`. A failed expectation that is
critical stops the run; a warning is published and shown.
"""

import datetime as dt
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from winnow.errors import DataError
from winnow.jobs.audited_index import audited_index
from winnow.jobs.encode_documents import encode
from winnow.jobs.match_documents import glob_pattern
from winnow.jobs.publish_matches import published, staged_run, still_required
from winnow.jobs.report import RunReport
from winnow.ledger import Mode, required_on
from winnow.quality.audited_run import AuditedRun
from winnow.quality.data_docs import write_data_docs
from winnow.quality.suites import suite_files
from winnow.quality.validation import Validation, Verdict, validate
from winnow.tables import Lake, Tables, contract

SAMPLE = 10_000  # pairs that libxml2 evaluates again
RESULTS = "quality_results"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    date: dt.date
    run_id: str
    sample: int = SAMPLE
    seed: int = 0  # another one draws another sample


def run(spark: SparkSession, config: Config) -> RunReport:
    """Audits a run.

    Raises:
        DataError: a critical expectation failed; all results are written by then.
    """
    report = RunReport("audit_matches")
    tables = config.lake.open(spark)
    tables.create(RESULTS, "matches")
    row = staged_run(tables, config.date, config.run_id)
    audited = audited_run(tables, row, sample=config.sample, seed=config.seed)
    validations = validate(audited, frames(audited), suite_files())
    verdicts = [verdict for validation in validations for verdict in validation.verdicts]
    write_results(tables, row, verdicts)
    docs = write_data_docs(config.lake, str(config.date), config.run_id, validations)
    _log.info("Data Docs: _reports/%s", docs)
    report.seconds = seconds(validations)
    failed = [verdict for verdict in verdicts if not verdict.success]
    warnings = [verdict for verdict in failed if verdict.severity != "critical"]
    report.counts = {
        "expectations": len(verdicts),
        "met": len(verdicts) - len(failed),
        "pairs evaluated again": audited.known_pairs,
        "warnings": len(warnings),
    } | {f"warning: {verdict.check}": verdict.unexpected for verdict in warnings}
    for verdict in warnings:
        _log.warning("%s of %s: %s", verdict.check, config.date, verdict.message)
    critical = [verdict for verdict in failed if verdict.severity == "critical"]
    if critical:
        raise refusal(row, critical)
    return report


def audited_run(tables: Tables, row: Row, *, sample: int, seed: int) -> AuditedRun:
    """Returns the run with the frames that only the jobs know how to make."""
    new = published(tables, row)
    stored = tables.read("matches", interval=row.match_date)
    kept = {Mode.REPLACE: stored.limit(0), Mode.APPEND: stored}.get(Mode(row.mode))
    return AuditedRun(
        tables=tables,
        row=row.asDict(),
        asked=asked_profiles(tables, row),
        published=new,
        kept=still_required(tables, row, new) if kept is None else kept,
        encode=partial(encode, date=row.match_date, batch=row.run_id),
        index=audited_index(tables, row),
        sample=sample,
        seed=seed,
    )


def asked_profiles(tables: Tables, row: Row) -> DataFrame:
    """Returns the profiles that the interval was to be asked, with is_recent: earlier batches were asked them, too."""
    profiles = tables.read("profiles", version=row.inputs["profiles"]).where(required_on(row.match_date))
    if row.only is not None:
        profiles = profiles.where(sf.col("profile_id").rlike(glob_pattern(row.only)))
    is_recent = f"since > {row.asked_since} OR changed > {row.asked_since}" if row.asked_since is not None else "false"
    patterns = tables.read("profile_patterns", version=row.inputs["profile_patterns"]).where("class <> 'rejected'")
    columns = ("profile_key", "profile_id", "xpath_id", "class", "xpath", "namespaces", "ordered", "is_recent")
    known = patterns.select("xpath_id", "class")
    return profiles.withColumn("is_recent", sf.expr(is_recent)).join(known, "xpath_id").select(*columns)


def frames(run: AuditedRun) -> dict[str, DataFrame]:
    """Returns what the suite of each table is about."""
    return {
        "matches_staged": run.stage,
        "encoded_documents": run.encoded,
        "documents": run.read("documents"),
        "envelope_nodes": run.index.nodes,
        "profiles": run.read("profiles"),
        "path_branches": run.read("path_branches"),
    }


def write_results(tables: Tables, row: Row, verdicts: Iterable[Verdict]) -> None:
    """Makes the verdicts the results of this run and stage; another audit of the same replaces them."""
    same = {"run_id": row.run_id, "staged_version": row.staged_version, "match_date": row.match_date}
    wanted = contract(RESULTS)
    rows = [{**verdict._asdict(), "table": verdict.suite, **same} for verdict in verdicts]
    frame = tables.spark.createDataFrame([tuple(row[name] for name in wanted.names) for row in rows], wanted.row_type)
    matched = " AND ".join(f"t.`{name}` = s.`{name}`" for name in wanted.key)
    tables.merge(
        RESULTS,
        frame.coalesce(1),
        on=f"{matched} AND t.match_date = DATE'{row.match_date}'",
        clauses="WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )


def seconds(validations: Iterable[Validation]) -> dict[str, float]:
    """Returns the seconds of each expectation of its own, and of what the others of a suite share."""
    told: dict[str, float] = {}
    for validation in validations:
        own = {verdict.check: verdict.seconds for verdict in validation.verdicts if verdict.seconds >= 0.05}
        told |= {f"{validation.suite}: {check}": value for check, value in own.items()}
        told[f"{validation.suite}: in one pass"] = validation.seconds - sum(own.values())
    return told


def refusal(row: Row, failed: list[Verdict]) -> DataError:
    causes_first = sorted(failed, key=lambda verdict: not verdict.check.startswith("files_"))  # others follow from them
    lines = "".join(f"\n  - {verdict.check} ({verdict.suite}): {verdict.message}" for verdict in causes_first)
    return DataError(
        "gate_failed",
        f"what run {row.run_id} has staged must not be published for {row.match_date}:{lines}",
        hint="nothing was published; quality_results has all checks of this run; infra/runbooks/gate-failed.md",
    )
