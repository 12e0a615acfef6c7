"""Great Expectations, and nothing else of it anywhere: facts in, verdicts out.

The facts are one row of a Spark data frame, and each check is an expectation on a column of it. Great Expectations goes
through its frame several times, so the staged rows themselves are summed up before, once.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from winnow.quality.suites import Check

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Verdict(NamedTuple):
    suite: str
    check: Check
    success: bool
    observed: float | None
    trouble: str = ""  # why it could not be told


def validate(spark: "SparkSession", numbers: Mapping[str, float], checks: Sequence[tuple[str, Check]]) -> list[Verdict]:
    """The verdict on each check, which comes with the name of its suite."""
    if not checks:
        return []
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx  # seconds: only who audits pays for it

    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    source = context.data_sources.add_or_update_spark("spark", persist=False)
    asset = source.add_dataframe_asset("facts").add_batch_definition_whole_dataframe("whole")
    suite = gx.ExpectationSuite("audit_matches", [_expectation(at, check) for at, (_, check) in enumerate(checks)])
    found = asset.get_batch({"dataframe": _frame(spark, numbers)}).validate(suite, result_format="BASIC")
    by_number = {result.expectation_config.meta["check"]: result for result in found.results}
    return [_verdict(name, check, by_number[at]) for at, (name, check) in enumerate(checks)]


def _expectation(number: int, check: Check) -> Any:
    import great_expectations.expectations as gxe

    low, high = check.bounds
    return gxe.ExpectColumnMaxToBeBetween(
        column=check.fact, min_value=low, max_value=high, severity=check.severity.value, meta={"check": number}
    )


def _frame(spark: "SparkSession", numbers: Mapping[str, float]) -> "DataFrame":
    from pyspark.sql.functions import lit

    return spark.range(0, 1, 1, 1).select(*(lit(float(number)).alias(name) for name, number in numbers.items()))


def _verdict(suite: str, check: Check, result: Any) -> Verdict:
    observed = result.result.get("observed_value")
    errors = [str(info) for info in (result.exception_info or {}).values() if isinstance(info, str) and info]
    return Verdict(suite, check, bool(result.success), observed, "" if observed is not None else "; ".join(errors))
