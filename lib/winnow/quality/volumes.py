"""What publication would make of an interval, and how that compares with the intervals before."""

from statistics import median

from pyspark.sql import functions as sf

from winnow.ledger import Mode, Outcome
from winnow.quality.audited_run import AuditedRun
from winnow.quality.finding import Finding, counted
from winnow.tables.small import read_one, read_small

HISTORY = 14  # intervals
LEAST_HISTORY = 3


def rows_published(run: AuditedRun) -> Finding:
    """Compares the rows that publication would add with the staged pairs: joins must lose none and double none."""
    staged = read_one(run.answer_counts.agg(sf.coalesce(sf.sum("documents"), sf.lit(0)).alias("pairs")))["pairs"]
    added = run.published.count()
    words = f"{staged} staged pairs become {added} rows"
    return counted(abs(staged - added), (words,) if staged != added else ())


def volume_ratio(run: AuditedRun) -> Finding:
    """Returns matches a document as a multiple of the median of the last intervals; None with too little history."""
    past = _history(run)
    documents = run.row["documents"]
    usual = median(past) if len(past) >= LEAST_HISTORY else 0.0
    if not documents or not usual:
        return Finding(None)
    staged = read_one(run.answer_counts.agg(sf.coalesce(sf.sum("documents"), sf.lit(0)).alias("pairs")))["pairs"]
    here = (staged + (0 if run.mode is Mode.REPLACE else run.kept.count())) / documents
    return Finding(here / usual, 0, (f"{here:.3g} a document; {usual:.3g} in the last {len(past)} intervals",))


def _history(run: AuditedRun) -> list[float]:
    """Matches per document of the newest other intervals."""
    published = run.tables.read("runs").where(
        (sf.col("outcome") == str(Outcome.PUBLISHED)) & (sf.col("match_date") != run.date)
    )
    newest = published.groupBy("match_date").agg(sf.max_by("documents", "published_at").alias("documents"))
    days = read_small(newest.where("documents > 0").orderBy(sf.desc("match_date")).limit(HISTORY))
    if len(days) < LEAST_HISTORY:
        return []
    own = run.tables.read("matches").where(sf.col("match_date").isin([day["match_date"] for day in days]))
    matches = {row["match_date"]: row["count"] for row in read_small(own.groupBy("match_date").count())}
    return [matches.get(day["match_date"], 0) / day["documents"] for day in days]
