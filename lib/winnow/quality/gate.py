"""Audit what publishing a staged version would make of its interval; publish nothing when something critical fails.

Reads: matches_staged at that version, the run's input tables at theirs, matches, ledger, undecided, quarantine.
Writes: quality_results.
"""

import datetime as dt
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winnow.errors import DataError
from winnow.jobs.report import RunReport
from winnow.lake.store import open_table, read_rows
from winnow.quality.answers import Answers
from winnow.quality.expectations import Verdict, validate
from winnow.quality.facts import Facts
from winnow.quality.index_audit import index_facts
from winnow.quality.interval import Interval
from winnow.quality.oracle_audit import FACTS as ORACLE
from winnow.quality.oracle_audit import oracle_facts
from winnow.quality.outcome import Outcome, broken_files, foresee
from winnow.quality.results import keep, sentence
from winnow.quality.row_sums import SUMS, row_sums
from winnow.quality.suites import Severity, load_suites
from winnow.quality.volumes import volume_facts
from winnow.quality.walk import Walked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from winnow.pipeline.run import Gate

SAMPLE = 10_000  # pairs that libxml2 evaluates again

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    date: dt.date
    staged_version: int
    run_id: str
    sample: int = SAMPLE
    seed: int = 0  # another one draws another sample


def gate(spark: "SparkSession", lake: str, run_id: str) -> "Gate":
    """For `winnow.pipeline.run`."""
    from winnow.pipeline.run import Gate

    def audit(date: dt.date, staged_version: int) -> RunReport:
        return run(spark, Config(lake=lake, date=date, staged_version=staged_version, run_id=run_id))

    return Gate(audit)


def run(spark: "SparkSession", config: Config) -> RunReport:
    """Raises `gate_failed` after the results are written."""
    report = RunReport("audit_matches")
    with report.stage("plan"):
        outcome = foresee(config.lake, config.date, config.staged_version)
    facts = collect(spark, config, outcome, report)
    with report.stage("judge"):
        verdicts = judge(spark, facts)
    with report.stage("commit"):
        keep(
            config.lake,
            verdicts,
            facts,
            date=config.date,
            staged_version=config.staged_version,
            run_id=config.run_id,
        )
    failed = {
        severity: [v for v in verdicts if not v.success and v.check.severity is severity] for severity in Severity
    }
    report.counts = {
        "checks": len(verdicts),
        "passed": sum(verdict.success for verdict in verdicts),
        "pairs evaluated again": int(facts.numbers["oracle_pairs"] or 0),
        "warnings": len(failed[Severity.WARNING]),
    } | {f"warning: {v.check.name}": int(v.observed or 0) for v in failed[Severity.WARNING]}
    for verdict in failed[Severity.WARNING]:
        _log.warning("%s of %s: %s", verdict.check.name, config.date, sentence(verdict, facts))
    if failed[Severity.CRITICAL]:
        raise _refusal(config, failed[Severity.CRITICAL], facts)
    return report


def collect(spark: "SparkSession", config: Config, outcome: Outcome, report: RunReport) -> Facts:
    """Everything that the checks ask about."""
    rng = random.Random(f"{config.date}/{config.staged_version}/{config.seed}")
    facts = Facts()
    rules = load_suites()["matches_staged"].rules()
    with report.stage("rows"):
        interval = Interval(outcome)
        facts.count("broken_files", broken_files(outcome))
        if facts.numbers["broken_files"]:
            facts.absent(*SUMS, *rules)
        else:
            facts.add(row_sums(outcome, rules, encoded=interval.encoded, asked=interval.asked))
    matched, rows = facts.numbers["matched_documents"], facts.numbers["staged_rows"]
    with report.stage("interval"):
        facts.add(interval.document_facts())
        facts.add(interval.conserved(None if matched is None else int(matched)))
        facts.add(interval.profile_facts())
        all_rows = None if rows is None else int(rows + (facts.numbers["published_rows"] or 0))
        documents = sum(outcome.note["batches"].values())
        facts.add(volume_facts(config.lake, config.date, documents=documents, matches=all_rows))
        facts.numbers["undecided_pairs"] = _undecided(outcome)
    with report.stage("index"):
        facts.add(index_facts(outcome, rng, lambda walk, partitions: _each(spark, walk, partitions)))
    with report.stage("oracle"):
        if facts.numbers["broken_files"]:
            facts.absent(*ORACLE)
        else:
            profiles, documents = interval.profiles(), interval.documents.num_rows
            answers = Answers(outcome, profiles, interval.encoded)
            classes = profiles.column("class").to_pylist()
            facts.add(oracle_facts(outcome, answers, classes, rng, size=config.sample, documents=documents))
    return facts


def judge(spark: "SparkSession", facts: Facts) -> list[Verdict]:
    """The verdicts on all checks whose question arises."""
    checks = [(suite.table, check) for suite in load_suites().values() for check in suite.checks]
    for table, check in checks:
        if check.fact not in facts.numbers:
            raise DataError(
                "suite_invalid", f"check {check.name} of {table} asks for {check.fact}, which nobody collects"
            )
    told = [(table, check) for table, check in checks if facts.numbers[check.fact] is not None]
    numbers = {name: number for name, number in facts.numbers.items() if number is not None}
    return validate(spark, numbers, told)


def _undecided(outcome: Outcome) -> int:
    if open_table(outcome.lake, "undecided") is None:
        return 0
    return int(read_rows(outcome.lake, "undecided", ["document_id"], where={"match_date": outcome.date}).num_rows)


def _each(spark: "SparkSession", walk: Callable[[int], Walked], partitions: list[int]) -> list[Walked]:
    """One partition is not worth a Python worker's start."""
    if len(partitions) < 2:
        return [walk(partition) for partition in partitions]
    return spark.sparkContext.parallelize(partitions, len(partitions)).map(walk).collect()


def _refusal(config: Config, failed: list[Verdict], facts: Facts) -> DataError:
    lines = "".join(f"\n  - {verdict.check.name} ({verdict.suite}): {sentence(verdict, facts)}" for verdict in failed)
    return DataError(
        "gate_failed",
        f"version {config.staged_version} of matches_staged must not be published for {config.date}:{lines}",
        hint="nothing was published; quality_results has all checks of this run; mend the cause, then run again",
    )
