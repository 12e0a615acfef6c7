"""Delta tables without a JVM: create, inspect, and adopt parts that workers wrote. Uses delta-rs.

A commit here takes milliseconds where a Spark session's first write takes ten seconds, and the bytes of documents never
pass through the JVM. The tables are the same ones that Spark reads.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, CommitProperties, Transaction

from winnow.errors import DataError
from winnow.lake import handles
from winnow.lake.contracts import Contract, Shape, load_contract, require
from winnow.lake.faults import point
from winnow.lake.handles import data_files
from winnow.lake.locks import table_lock
from winnow.lake.parts import (
    Part,
    PartWriter,
    arrow_schema,
    drop_part,
    filesystem,
    open_parquet,
    parquet,
    part_table,
    rewrite_part,
)
from winnow.lake.sql import sql

_DELTA_TYPES = {"int": "integer"}
_FEW = 10_000  # rows
_UPKEEP = {"OPTIMIZE", "VACUUM START", "VACUUM END"}  # these change no rows


class TableState(NamedTuple):
    table: str
    version: int
    rows: int
    files: int
    size_bytes: int


def location(lake: str, table: str) -> str:
    return f"{lake}/{table}".replace("s3a://", "s3://", 1)


def open_table(lake: str, table: str) -> deltalake.DeltaTable | None:
    return handles.newest(location(lake, table))


def open_version(lake: str, table: str, version: int) -> deltalake.DeltaTable:
    """To be used at once: the newest version is shared, and moves when this process commits."""
    return handles.at_version(location(lake, table), version)


def ensure_tables(lake: str, tables: Iterable[str]) -> None:
    """Create what is missing, check what is there. Safe to repeat and, under the table's lock, to race."""
    for name in tables:
        contract = load_contract(name)
        table = open_table(lake, name)
        if table is None:
            with table_lock(lake, name):
                table = open_table(lake, name) or _create(lake, contract)
        _require_stored(contract, table)


def _create(lake: str, contract: Contract) -> deltalake.DeltaTable:
    fields = [
        deltalake.Field(c.name, _delta_type(c.type), nullable=c.nullable, metadata={"comment": c.description})
        for c in contract.columns
    ]
    return deltalake.DeltaTable.create(
        location(lake, contract.table),
        deltalake.Schema(fields),
        mode="ignore",
        partition_by=list(contract.partition_by),
        description=contract.description,
        # Writer version 3 is the one that enforces CHECK constraints; the oldest readers still read it.
        configuration={**contract.all_properties, "delta.minReaderVersion": "1", "delta.minWriterVersion": "3"},
        raise_if_key_not_exists=False,
    )


def _delta_type(name: str) -> Any:
    if name.startswith("map<"):
        key, value = name[4:-1].split(",")
        return deltalake.schema.MapType(_delta_type(key), _delta_type(value), value_contains_null=True)
    if name.startswith("array<"):
        return deltalake.schema.ArrayType(_delta_type(name[6:-1]), contains_null=True)
    return deltalake.schema.PrimitiveType(_DELTA_TYPES.get(name, name))


_checked: dict[str, tuple[deltalake.DeltaTable, int]] = {}  # by table, what was found right, at which version


def _require_stored(contract: Contract, table: deltalake.DeltaTable) -> None:
    known, version = _checked.get(contract.table, (None, -1))
    if known is table and version == table.version():
        return
    metadata = table.metadata()
    columns = tuple((field.name, _spark_type(field.type)) for field in table.schema().fields)
    shape = Shape(columns, tuple(metadata.partition_columns), dict(metadata.configuration))
    require(contract, shape, what=f"table {table.table_uri}")
    _checked[contract.table] = table, table.version()


def _spark_type(kind: Any) -> str:
    if isinstance(kind, deltalake.schema.MapType):
        return f"map<{_spark_type(kind.key_type)},{_spark_type(kind.value_type)}>"
    if isinstance(kind, deltalake.schema.ArrayType):
        return f"array<{_spark_type(kind.element_type)}>"
    return {"long": "bigint", "integer": "int"}.get(kind.type, str(kind.type))


def state(lake: str, table: str) -> TableState | None:
    found = open_table(lake, table)
    if found is None:
        return None
    actions = pa.table(found.get_add_actions(flatten=True))
    rows = sum(actions.column("num_records").to_pylist())
    return TableState(table, found.version(), rows, actions.num_rows, sum(actions.column("size_bytes").to_pylist()))


def adopt(lake: str, table: str, parts: list[Part], partition: Mapping[str, Any], run: Mapping[str, Any]) -> int:
    """Commit the rows of the parts whose key the table does not hold yet, each key once; returns how many.

    A part of new rows only is adopted as it is; one that holds known rows is written anew without them; one of known
    rows only is dropped. Nothing new makes no version.
    """
    contract = load_contract(table)
    with table_lock(lake, table):
        current = require_table(lake, table)
        _require_constraints(lake, contract, parts)
        chosen: list[Part] = []
        for part, fresh in _fresh(lake, contract, parts, current):
            if fresh.all():
                chosen.append(part)
            elif fresh.any():
                chosen += rewrite_part(lake, contract, part, partition, fresh)
            else:
                drop_part(lake, part)
        if not chosen:
            return 0
        _commit(lake, current, contract, chosen, partition, run=run)
    point(f"{table} written")
    return sum(part.rows for part in chosen)


def replace_partition(
    lake: str,
    table: str,
    parts: list[Part],
    partition: Mapping[str, Any],
    run: Mapping[str, Any],
    *,
    transaction: tuple[str, int] | None = None,
) -> int:
    """Make the parts the whole content of the partition in one commit; no parts empty it. Returns the new version."""
    with table_lock(lake, table):
        return commit_parts(lake, table, parts, partition, run, replace=True, transaction=transaction)


def commit_parts(
    lake: str,
    table: str,
    parts: list[Part],
    partition: Mapping[str, Any],
    run: Mapping[str, Any],
    *,
    replace: bool = False,
    transaction: tuple[str, int] | None = None,
) -> int:
    """Add the parts to the partition, or make them all of it. The caller holds the lock. Returns the new version.

    A `transaction` is a name and a number that the table keeps: `transaction_number` tells that it was committed.
    """
    contract = load_contract(table)
    _require_constraints(lake, contract, parts)
    point(f"{table} unwritten")
    current = require_table(lake, table)
    _commit(lake, current, contract, parts, partition, run=run, replace=replace, transaction=transaction)
    point(f"{table} written")
    return int(current.version())


def transaction_number(lake: str, table: str, name: str) -> int | None:
    number: int | None = require_table(lake, table).transaction_version(name)
    return number


def write_rows(lake: str, table: str, rows: pa.Table, partition: Mapping[str, Any] | None = None) -> list[Part]:
    """Rows of the driver as parts; columns by name, in any order."""
    contract = load_contract(table)
    schema = arrow_schema(contract)
    writer = PartWriter(lake, contract, partition or {})
    writer.write(rows.select(schema.names).cast(schema))
    return writer.close()


def read_rows(
    lake: str,
    table: str,
    columns: list[str] | None = None,
    *,
    where: Mapping[str, Any] | None = None,
    version: int | None = None,
) -> pa.Table:
    """Rows of the partitions `where`, at a version; partition columns come last, as the contract has them."""
    wanted = [(name, "=", str(value)) for name, value in (where or {}).items()]
    files, root = filesystem(f"{lake}/{table}")  # Arrow's own: delta-rs would hand every read through Python
    dataset = _at(lake, table, version).to_pyarrow_dataset(
        file_pruning_predicate=wanted or None, filesystem=pafs.SubTreeFileSystem(root, files)
    )
    found: pa.Table = dataset.to_table(columns=columns)
    return found


def read_chosen(
    lake: str, table: str, columns: list[str], key: str, wanted: pa.Array | pa.ChunkedArray, *, version: int
) -> pa.Table:
    """Rows whose `key`, which no two have, is wanted; of row groups that have none of them only the keys are read.

    Not of partition columns. The newest files come first, and when all is found the others are not looked at.
    """
    current = _at(lake, table, version)
    if len(wanted) > _FEW:
        rows = current.to_pyarrow_table(columns=list(dict.fromkeys([*columns, key])))
        return rows.filter(pc.is_in(rows.column(key), value_set=wanted)).select(columns)
    found = [pa.schema([arrow_schema(load_contract(table)).field(name) for name in columns]).empty_table()]
    for uri in data_files(current):
        if sum(rows.num_rows for rows in found) == len(wanted):
            break
        with open_parquet(uri) as reader:
            for group in range(reader.num_row_groups):
                is_wanted = pc.is_in(reader.read_row_group(group, [key]).column(0), value_set=wanted)
                if pc.any(is_wanted).as_py():
                    found.append(reader.read_row_group(group, columns).filter(is_wanted).select(columns))
    return pa.concat_tables(found)


def _at(lake: str, table: str, version: int | None) -> deltalake.DeltaTable:
    return require_table(lake, table) if version is None else open_version(lake, table, version)


def partition_files(lake: str, table: str, partition: Mapping[str, Any], *, version: int | None = None) -> list[str]:
    """The data files of one partition at a version."""
    wanted = [(name, "=", str(value)) for name, value in partition.items()]
    return sorted(data_files(_at(lake, table, version), wanted))


def commit_note(lake: str, table: str, version: int | None = None) -> dict[str, Any]:
    """What the run that made a version (default: the newest that says something) wrote beside it."""
    return next((note for at, note in commit_notes(lake, table, version) if version in {None, at}), {})


def commit_notes(lake: str, table: str, version: int | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Versions, this one (default: the newest) first, with what the runs that made them wrote beside them.

    Maintenance writes nothing.
    """
    for at, commit in _commits(lake, table, version):
        note = _note(commit)
        if note is not None:
            yield at, note


def seen_by(lake: str, table: str) -> dict[str, Any]:
    """The marks in the newest note, by table, if it still tells what is there: only maintenance came after it."""
    for _, commit in _commits(lake, table):
        note = _note(commit)
        if note is not None:
            marks: dict[str, Any] = note.get("seen", {})
            return marks
        if commit.get("operation") not in _UPKEEP:
            break
    return {}


def _note(commit: Mapping[str, Any]) -> dict[str, Any] | None:
    """What one of our runs wrote; others may write there what they like."""
    try:
        note = json.loads(commit.get("userMetadata", ""))
    except ValueError:
        return None
    return note if isinstance(note, dict) else None


def _commits(lake: str, table: str, version: int | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Versions, from this one (default: the newest) down, with what their commits say of themselves.

    Of the log itself: `DeltaTable.history` counts down from the version that was opened, but begins with the newest
    commit, so it gives wrong versions when another process has committed in between.
    """
    newest = require_table(lake, table).version()
    files, root = filesystem(f"{lake}/{table}")
    for at in range(newest if version is None else version, -1, -1):
        try:
            with files.open_input_stream(f"{root}/_delta_log/{at:020}.json") as stream:
                lines = stream.read().splitlines()
        except FileNotFoundError:  # the log does not reach back so far
            return
        yield at, next((json.loads(line)["commitInfo"] for line in lines if line.startswith(b'{"commitInfo"')), {})


class Since(NamedTuple):
    rows: pa.Table
    is_grown: bool  # they are all that changed


def mark(lake: str, table: str, version: int) -> dict[str, Any]:
    """Names a version for a note, such that `rows_since` can tell it from one of another table of that name."""
    return {"table": open_version(lake, table, version).metadata().id, "version": version}


def rows_since(lake: str, table: str, columns: list[str], seen: Mapping[str, Any], version: int) -> Since:
    """The rows of the data files that came after the table's `mark` in `seen`; all rows where that cannot be told.

    Not of partition columns.
    """
    files = data_files(open_version(lake, table, version))
    before = _files_at(lake, table, seen.get(table))
    came = [file for file in files if file not in (before or ())]
    schema = arrow_schema(load_contract(table))
    rows = parquet(came, schema).to_table(columns=columns) if came else schema.empty_table().select(columns)
    return Since(rows, is_grown=before is not None and before <= set(files))


def _files_at(lake: str, table: str, seen: Any) -> set[str] | None:
    if not seen:
        return None
    try:
        at = open_version(lake, table, seen["version"])
    except DeltaError:  # the log does not reach back so far
        return None
    same = at.metadata().id == seen["table"]
    return set(data_files(at)) if same else None


def rows_by_partition(lake: str, table: str, *columns: str, version: int | None = None) -> Counter[tuple[Any, ...]]:
    """How many rows there are for each value of these partition columns; the log knows, no data is read."""
    actions = pa.table(_at(lake, table, version).get_add_actions(flatten=True))
    counts: Counter[tuple[Any, ...]] = Counter()
    if actions.num_rows:
        values = (actions.column(f"partition.{column}").to_pylist() for column in columns)
        for rows, *key in zip(actions.column("num_records").to_pylist(), *values, strict=True):
            counts[tuple(key)] += rows
    return counts


def upsert(lake: str, table: str, rows: pa.Table, *, gone: pa.Table | None = None, run: Mapping[str, Any]) -> None:
    """Insert or update `rows` by the contract's key and remove `gone`, in one commit. The caller holds the lock."""
    contract = load_contract(table)
    current = require_table(lake, table)
    schema = arrow_schema(contract, partitions=True)
    gone = schema.empty_table() if gone is None else gone
    marks = pa.array(np.repeat([False, True], [rows.num_rows, gone.num_rows]))
    source = pa.concat_tables([rows.select(schema.names).cast(schema), gone.select(schema.names).cast(schema)])
    same_key = " and ".join(f'old."{name}" = new."{name}"' for name in contract.key)
    merge = current.merge(
        source.append_column("_gone", marks),
        predicate=same_key,
        source_alias="new",
        target_alias="old",
        commit_properties=_commit_properties(run),
    )
    values = {f'"{name}"': f'new."{name}"' for name in schema.names}
    (
        merge.when_matched_delete("new._gone")
        .when_matched_update(values, "not new._gone")
        .when_not_matched_insert(values, "not new._gone")
        .execute()
    )
    handles.remember(location(lake, table), current)


def require_table(lake: str, table: str) -> deltalake.DeltaTable:
    """The table, checked against its contract."""
    current = open_table(lake, table)
    if current is None:
        raise DataError(
            "table_missing",
            f"there is no table {table} in the lake {lake}",
            hint="is --lake right? `winnow status` shows what is there",
        )
    _require_stored(load_contract(table), current)
    return current


def _commit_properties(run: Mapping[str, Any], transaction: tuple[str, int] | None = None) -> CommitProperties:
    note = {"userMetadata": json.dumps(dict(run), sort_keys=True)}
    return CommitProperties(note, app_transactions=[Transaction(*transaction)] if transaction else None)


def _fresh(
    lake: str, contract: Contract, parts: list[Part], current: deltalake.DeltaTable
) -> Iterator[tuple[Part, "np.ndarray[Any, Any]"]]:
    """For each part the mask of its rows whose key is new: not in the table, and not chosen from an earlier part."""
    if not parts:
        return
    key = ", ".join(f'"{name}"' for name in contract.key)
    new = pa.concat_tables(_keys(lake, contract, part, number) for number, part in enumerate(parts))
    known = sql(f"SELECT DISTINCT {key} FROM old SEMI JOIN new USING ({key})", old=current, new=new)
    chosen = new
    if known.num_rows or new.group_by(list(contract.key)).aggregate([]).num_rows < new.num_rows:
        query = f"""
            SELECT _part, _row FROM new ANTI JOIN known USING ({key})
            QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY _part, _row) = 1
        """
        chosen = sql(query, new=new, known=known)
    of_part, row = (chosen.column(name).to_numpy() for name in ("_part", "_row"))
    for number, part in enumerate(parts):
        mask = np.zeros(part.rows, dtype=np.bool_)
        mask[row[of_part == number]] = True
        yield part, mask


def _keys(lake: str, contract: Contract, part: Part, number: int) -> pa.Table:
    keys = part_table(lake, part, list(contract.key))
    keys = keys.append_column("_part", pa.array(np.full(part.rows, number, dtype=np.int32)))
    return keys.append_column("_row", pa.array(np.arange(part.rows)))


def _require_constraints(lake: str, contract: Contract, parts: list[Part]) -> None:
    """The CHECK constraints, which delta-rs does not apply to adopted files."""
    rules = ", ".join(f"count(*) FILTER (WHERE NOT ({rule}))" for rule in contract.constraints.values())
    if not parts or not rules:
        return
    rows = [f"{lake}/{contract.table}/{part.path}" for part in parts]
    broken = sql(f"SELECT {rules} FROM rows", rows=rows).to_pylist()[0].values()
    bad = [f"{name} ({count} rows)" for name, count in zip(contract.constraints, broken, strict=True) if count]
    if bad:
        raise DataError("constraint_broken", f"rows for {contract.table} break {', '.join(bad)}")


def _commit(
    lake: str,
    table: deltalake.DeltaTable,
    contract: Contract,
    parts: list[Part],
    partition: Mapping[str, Any],
    *,
    run: Mapping[str, Any],
    replace: bool = False,
    transaction: tuple[str, int] | None = None,
) -> None:
    values = {name: str(partition[name]) for name in contract.partition_by}
    now = int(time.time() * 1000)  # Delta wants each file's age; VACUUM reads it, no row does
    actions = [AddAction(p.path, p.size, values, now, True, json.dumps({"numRecords": p.rows})) for p in parts]
    table.create_write_transaction(
        actions,
        "overwrite" if replace else "append",
        table.schema(),
        partition_by=list(contract.partition_by) or None,
        partition_filters=[(name, "=", value) for name, value in values.items()] if replace else None,
        commit_properties=_commit_properties(run, transaction),
    )
    table.update_incremental()
    handles.remember(location(lake, contract.table), table)
