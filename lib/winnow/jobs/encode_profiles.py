"""Encode the profiles: the patterns and branches that are asked for and were not before.

Reads:  profiles, profile_patterns
Writes: branches and patterns, derived from profile_patterns

Ingest has compiled every XPath, so this is a matter of names: both tables are added to by key. Patterns are written
last: a pattern that is there has all its branches there, and a run that was killed is finished by the next one.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.jobs.report import RunReport
from winnow.tables import Lake, contract
from winnow.tables.small import read_one

TABLES = ("profiles", "profile_patterns", "branches", "patterns")


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("encode_profiles")
    tables = config.lake.open(spark)
    tables.create(*TABLES)
    with report.stage("plan"):
        profiles, compiled, known = (tables.read(name) for name in ("profiles", "profile_patterns", "patterns"))
        asked = asked_xpaths(profiles, compiled)
        unencoded = unencoded_xpaths(asked, known)
        count = read_one(unencoded.agg(sf.count("*").alias("xpaths")))["xpaths"]
    report.counts = {"new XPaths": count, "new patterns": 0, "new branches": 0}
    if not count:
        return report.nothing_to_do()
    new = asked.join(unencoded, "xpath_id", "left_semi")
    with report.stage("branches"):
        report.counts["new branches"] = tables.append_new("branches", branches(new))
    with report.stage("patterns"):
        report.counts["new patterns"] = tables.append_new("patterns", patterns(new))
    return report


def asked_xpaths(profiles: DataFrame, compiled: DataFrame) -> DataFrame:
    """Returns the rows of profile_patterns that an active profile has."""
    active = profiles.where("state = 'active'").select("xpath_id")
    return compiled.join(active, "xpath_id", "left_semi")


def unencoded_xpaths(asked: DataFrame, patterns: DataFrame) -> DataFrame:
    """Returns the ids of XPaths with a pattern that is not there."""
    named = asked.select("xpath_id", sf.explode("patterns.pattern_id").alias("pattern_id"))
    return named.join(patterns, "pattern_id", "left_anti").select("xpath_id").distinct()


def patterns(compiled: DataFrame) -> DataFrame:
    """Returns each pattern of these XPaths once."""
    exploded = compiled.select(sf.inline("patterns"))
    return exploded.dropDuplicates(["pattern_id"]).select(*contract("patterns").names)


def branches(compiled: DataFrame) -> DataFrame:
    """Returns each branch of these XPaths once."""
    exploded = compiled.select(sf.inline("branches"))
    return exploded.dropDuplicates(["branch_id"]).select(*contract("branches").names)
