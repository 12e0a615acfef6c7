"""Preconditions of data frames: what is missing or of another type is an error before any job."""

from collections.abc import Mapping

from pyspark.sql import DataFrame

from winnow.errors import UsageError


def require_columns(
    frame: DataFrame, what: str, required: Mapping[str, str], *, optional: Mapping[str, str] | None = None
) -> None:
    """Raises one error that lists every column that is missing or of another type; types may be given as `a|b`."""
    found = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    problems = [f"no column {name!r}" for name in required if name not in found]
    for name, kinds in {**required, **(optional or {})}.items():
        if name in found and found[name] not in kinds.split("|"):
            problems.append(f"column {name!r} is {found[name]}, not {kinds.replace('|', ' or ')}")
    if problems:
        listed = ", ".join(f"{name} {kind}" for name, kind in found.items())
        raise UsageError("bad_columns", f"{what}: {'; '.join(problems)}", hint=f"it has {listed}")
