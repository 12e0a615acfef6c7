"""The data files of the tables that a run has read: all there, as large as committed, every page whole."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from winnow.quality.finding import EXAMPLES, Finding, counted
from winnow.tables import Tables, contract
from winnow.tables.small import read_small

if TYPE_CHECKING:
    import pyarrow as pa

_TABLES = "name string, location string, version long, partition string"
_LISTED = "table string, file string, size long, rows long"
_PROBLEMS = "table string, file string, problem string"
Part = Mapping[str, str]  # partition columns and their values


def file_findings(tables: Tables, parts: Mapping[str, tuple[int, Part]]) -> dict[str, Finding]:
    """Returns what is wrong with the files of each table at a version, in that part of it; all tables in one job."""
    rows = [(name, tables.place(name), version, json.dumps(part)) for name, (version, part) in parts.items()]
    options = dict(tables.lake.filesystem_options)
    listed = tables.spark.createDataFrame(rows, _TABLES).mapInArrow(partial(_list_files, options=options), _LISTED)
    tasks = int(str(tables.spark.conf.get("spark.sql.shuffle.partitions")))
    check = partial(_check_files, required={name: required_columns(name) for name in parts}, options=options)
    problems = listed.repartition(tasks, "file").mapInArrow(check, _PROBLEMS)
    found: dict[str, list[str]] = {name: [] for name in parts}
    for row in read_small(problems):
        found[row["table"]].append(f"{row['file']} {row['problem']}")
    return {name: counted(len(own), tuple(sorted(own)[:EXAMPLES])) for name, own in found.items()}


def required_columns(table: str) -> frozenset[str]:
    """Returns the columns of a table's data files that hold no null."""
    of = contract(table)
    return frozenset(column.name for column in of.columns if not column.nullable) - set(of.partition_by)


def _list_files(batches: "Iterable[pa.RecordBatch]", *, options: Mapping[str, Any]) -> "Iterator[pa.RecordBatch]":
    from winnow.quality.file_tasks import list_files

    return list_files(batches, options)


def _check_files(
    batches: "Iterable[pa.RecordBatch]", *, required: Mapping[str, frozenset[str]], options: Mapping[str, Any]
) -> "Iterator[pa.RecordBatch]":
    from winnow.quality.file_tasks import check_files

    return check_files(batches, required, options)
