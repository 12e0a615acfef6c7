"""Runs the suites over the frames of a run: Great Expectations' checkpoints, and verdicts in plain words."""

import logging
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import DataFrame

from winnow.errors import one_line
from winnow.quality.audited_run import AuditedRun, auditing

if TYPE_CHECKING:
    from great_expectations import ExpectationSuite
    from great_expectations.core import ExpectationSuiteValidationResult

_CHEAP = {"result_format": "BASIC", "partial_unexpected_count": 0}  # without a query for each column's examples


class Verdict(NamedTuple):
    """What an expectation found."""

    suite: str
    check: str
    severity: str
    success: bool
    observed: float | None
    expected: str
    unexpected: int
    message: str
    seconds: float


class Validation(NamedTuple):
    """One suite's verdicts, and its result as Great Expectations keeps it."""

    suite: str
    verdicts: list[Verdict]
    seconds: float
    result: "ExpectationSuiteValidationResult"


def validate(run: AuditedRun, frames: Mapping[str, DataFrame], suites: Mapping[str, Path]) -> list[Validation]:
    """Validates each frame with the suite of its table."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    logging.getLogger("great_expectations").setLevel(logging.WARNING)  # it tells a lot, from the import on
    import great_expectations as gx  # seconds: only who audits pays for it

    from winnow.quality.suites import load_suite

    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    source = context.data_sources.add_or_update_spark("spark", persist=False)
    validations = []
    with auditing(run):
        for table, path in suites.items():
            start = time.perf_counter()
            suite = context.suites.add_or_update(load_suite(path))
            batch = source.add_dataframe_asset(table).add_batch_definition_whole_dataframe("whole")
            definition = gx.ValidationDefinition(name=table, data=batch, suite=suite)
            checkpoint = gx.Checkpoint(
                name=table,
                validation_definitions=[context.validation_definitions.add_or_update(definition)],
                actions=[],
                result_format=_CHEAP,
            )
            found = context.checkpoints.add_or_update(checkpoint).run(batch_parameters={"dataframe": frames[table]})
            (result,) = found.run_results.values()
            validations.append(_validation(table, suite, result, time.perf_counter() - start))
    return validations


def _validation(table: str, suite: "ExpectationSuite", result: Any, seconds: float) -> Validation:
    names = unique_names([check_name(own) for own in suite.expectations])
    own = {id_of(expectation): name for expectation, name in zip(suite.expectations, names, strict=True)}
    verdicts = {own[one.expectation_config.id]: one for one in result.results}
    return Validation(table, [_verdict(table, name, verdicts[name]) for name in names], seconds, result)


def id_of(expectation: Any) -> str:
    return str(expectation.id)


def check_name(expectation: Any) -> str:
    """Returns the name that a suite gives an expectation, else its type and the column it is about."""
    given = (expectation.meta or {}).get("check")
    column = getattr(expectation, "column", None)
    return str(given or (f"{expectation.expectation_type}({column})" if column else expectation.expectation_type))


def unique_names(names: Iterable[str]) -> list[str]:
    """Gives repeated names a number.

    >>> unique_names(["a", "b", "a"])
    ['a', 'b', 'a 2']
    """
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return unique


def _verdict(table: str, check: str, one: Any) -> Verdict:
    config, result = one.expectation_config, one.result
    details = result.get("details") or {}
    observed = result.get("observed_value", result.get("unexpected_count"))
    is_number = isinstance(observed, int | float)
    success = bool(one.success)
    unexpected = int(result.get("unexpected_count") or 0) if not success else 0
    return Verdict(
        suite=table,
        check=check,
        severity=str(config.severity.value if hasattr(config.severity, "value") else config.severity),
        success=success,
        observed=float(observed) if is_number else None,
        expected=_expected(config),
        unexpected=max(unexpected, int(not success)),
        message=_message(config, success, details.get("examples") or [], unexpected, _trouble(one)),
        seconds=float(details.get("seconds", 0.0)),
    )


def _expected(config: Any) -> str:
    return str(config.description or _words(config.type, config.kwargs))


def _words(kind: str, kwargs: Mapping[str, Any]) -> str:
    """
    >>> _words("expect_key_to_be_unique", {"columns": ["a"], "batch_id": "b"})
    'expect key to be unique: columns a'
    """
    shown = {name: value for name, value in kwargs.items() if name != "batch_id"}
    texts = (f"{name} {', '.join(map(str, v)) if isinstance(v, list) else v}" for name, v in shown.items())
    return ": ".join(filter(None, [kind.replace("_", " "), "; ".join(texts)]))


def _trouble(one: Any) -> str:
    """Why an expectation could not be told; empty if it could."""
    info = one.exception_info or {}
    rows = [info] if "raised_exception" in info else [row for row in info.values() if isinstance(row, dict)]
    return "; ".join(
        dict.fromkeys(one_line(RuntimeError(row["exception_message"])) for row in rows if row.get("raised_exception"))
    )


def _message(config: Any, success: bool, examples: list[str], unexpected: int, trouble: str) -> str:
    """What holds or does not, examples, and what to do where it failed."""
    words = _expected(config)
    if trouble:
        return f"{words}: it could not be told: {trouble}"
    told = f" ({'; '.join(examples)})" if examples else ""
    if success:
        return f"{words}{told}"
    hint = (config.meta or {}).get("hint")
    return f"{unexpected or 'not'} otherwise: {words}{told}" + (f"; {hint}" if hint else "")
