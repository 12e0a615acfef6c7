"""The newest whole index, and how far paths were joined with it."""

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from winnow.errors import TransientError
from winnow.tables import Tables, Transaction
from winnow.tables.small import read_one, read_small

LINE, SUBSEQUENCE = "LINE", "SUBSEQUENCE"  # relations, see winnow.envelope.relation
MAX_PARTITIONS = 10_000
_ATTEMPTS = 5
_LOST = (
    "FAILED_READ_FILE.FILE_NOT_EXIST",
    "DELTA_FILE_NOT_FOUND",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_VERSION_NOT_CONTIGUOUS",
    "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION",
    "Cannot time travel Delta table",
    "FileNotFoundException",
)


class IndexState(NamedTuple):
    """One build of the index. Its trees and symbols are at `nodes_version` and `symbols_version` of their tables."""

    index_id: str
    version: int
    build: int
    symbols_id: str
    base_version: int
    inputs: Mapping[str, int]
    table_version: int  # of index_partitions
    nodes_version: int
    symbols_version: int
    partitions: tuple[Mapping[str, Any], ...]  # rows of index_partitions, by number

    @property
    def branches(self) -> int:
        return sum(partition["branches"] for partition in self.partitions)


class Join(NamedTuple):
    """All paths at `paths_version` have met all branches of `index_build`, which are those of the profiles at
    `profiles_version`; the pairs are at `path_branches_version`.
    """

    index_build: int
    profiles_version: int
    paths_version: int
    path_branches_version: int


def index_state(tables: Tables, relation: str = LINE) -> IndexState | None:
    """Returns the newest whole index of a relation; None if there was no build yet.

    A build takes back the trees of an older index only after it has committed its own, so the versions of the tables
    with trees and symbols hold what the index names, if the index was the same before and after they were looked up.
    """
    if not tables.exists("index_partitions"):
        return None
    for _ in range(_ATTEMPTS):
        version = tables.version("index_partitions")
        nodes, symbols = tables.versions("envelope_nodes", "index_symbols").values()
        frame = own_rows(tables, relation, version).orderBy("partition")
        rows = tuple(row.asDict() for row in read_small(frame, MAX_PARTITIONS))
        if tables.version("index_partitions") != version:
            continue
        if not rows:
            return None
        return IndexState(
            index_id=rows[0]["index_id"],
            version=rows[0]["index_version"],
            build=rows[0]["index_build"],
            symbols_id=rows[0]["symbols_id"],
            base_version=rows[0]["base_version"],
            inputs=rows[0]["inputs"],
            table_version=version,
            nodes_version=nodes,
            symbols_version=symbols,
            partitions=rows,
        )
    raise TransientError("index_moves", "the index was replaced each time it was read", hint="try again")


def own_rows(tables: Tables, relation: str, version: int) -> DataFrame:
    """Returns the rows of index_partitions of one relation."""
    return tables.read("index_partitions", version=version).where(sf.col("relation") == relation)


def replace_own(tables: Tables, relation: str, rows: DataFrame, base_version: int) -> None:
    """Makes these the rows of a relation, and leaves those of the other as they were; nothing if others came first."""
    others = tables.read("index_partitions", version=base_version).where(sf.col("relation") != relation)
    whole = rows.unionByName(others.select(*rows.columns))
    tables.replace("index_partitions", whole, Transaction("index_partitions", base_version + 1))


def trees(tables: Tables, index: IndexState, partitions: Collection[int] | None = None) -> DataFrame:
    """Returns the rows of envelope_nodes that make up an index, of all or of some partitions."""
    return tables.read("envelope_nodes", version=index.nodes_version).where(named_trees(index, partitions))


def named_trees(index: IndexState, partitions: Collection[int] | None = None) -> str:
    """Returns the condition, on partition columns only, of the trees that make up an index."""
    by_build: dict[str, list[str]] = {}
    for row in index.partitions:
        if partitions is None or row["partition"] in partitions:
            by_build.setdefault(row["build_id"], []).append(str(row["partition"]))
    named = [f"(build_id = '{build}' AND partition IN ({', '.join(own)}))" for build, own in by_build.items()]
    return f"index_version = {index.version} AND ({' OR '.join(named) or 'false'})"


def symbols(tables: Tables, index: IndexState) -> DataFrame:
    """Returns symbol and label: the numbers that stand for labels in the trees of an index."""
    is_own = (sf.col("index_version") == index.version) & (sf.col("build_id") == index.symbols_id)
    return tables.read("index_symbols", version=index.symbols_version).where(is_own).select("symbol", "label")


class JoinedTables(NamedTuple):
    """Delta's ids of the tables that a join is about: another table of the same name has another id."""

    paths_id: str
    path_branches_id: str


def joined_tables(tables: Tables) -> JoinedTables:
    with ThreadPoolExecutor(2) as threads:  # each asks the log
        return JoinedTables(*threads.map(partial(_table_id, tables), ("paths", "path_branches")))


def newest_join(tables: Tables, index: IndexState, ids: JoinedTables) -> Join | None:
    """Returns how far paths were joined with this index or one that it came from; None if they never were."""
    return _newest(_joins(tables, index, ids)) if tables.exists("path_joins") else None


def covering_join(
    tables: Tables, index: IndexState, ids: JoinedTables, *, paths_version: int, profiles_version: int
) -> Join | None:
    """Returns a join that has all pairs of these paths and the branches of these profiles, if there is one.

    An index of newer profiles may lack branches of those that have left since.
    """
    if not tables.exists("path_joins"):
        return None
    covers = f"paths_version >= {paths_version} AND profiles_version = {profiles_version}"
    return _newest(_joins(tables, index, ids).where(covers))


def _joins(tables: Tables, index: IndexState, ids: JoinedTables) -> DataFrame:
    return tables.read("path_joins").where(
        (sf.col("index_id") == index.index_id)
        & (sf.col("index_build") <= index.build)  # later ones are of an index that was taken back
        & (sf.col("paths_id") == ids.paths_id)
        & (sf.col("path_branches_id") == ids.path_branches_id)
    )


def _newest(joins: DataFrame) -> Join | None:
    order = ("path_branches_version", "index_build", "paths_version", "profiles_version")
    newest = joins.orderBy(*map(sf.desc, order)).limit(1)
    return next((Join(*row) for row in read_small(newest.select(*Join._fields))), None)


def _table_id(tables: Tables, name: str) -> str:
    return str(read_one(tables.spark.sql(f"DESCRIBE DETAIL {tables.lake.table(name)}").select("id"))["id"])


def is_lost(error: Exception) -> bool:
    """Whether Spark says that a version of a table, or a file of it, cannot be read any more."""
    return any(word in str(error) for word in _LOST)
