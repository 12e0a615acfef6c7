"""Which documents could satisfy any of these profiles? Asked of paths, answered from the inverted table.

For each pattern the branch that the fewest documents have is waited for: all branches are necessary, so any would do.
"""

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.arrays.types import Ints, Longs
from winnow.engines.lines import lines_of
from winnow.engines.store import PatternStore
from winnow.index.assemble import Joined
from winnow.index.codes import line_codes, text_codes
from winnow.index.lines import find
from winnow.index.packed import unpack
from winnow.lake.sql import sql
from winnow.lake.store import read_rows
from winnow.pipeline.build_index import load_index


class Postings(NamedTuple):
    """Documents of one batch by path; what is not asked for stays packed."""

    codes: pa.ChunkedArray  # the path of each row
    packed: pa.ChunkedArray

    def of(self, paths: Longs) -> "Lists":
        """Those of some paths."""
        chosen = pc.is_in(self.codes, value_set=pa.array(paths))
        rows, ends = unpack(pa.concat_arrays(self.packed.filter(chosen).chunks or [_NOTHING]))
        return Lists(self.codes.filter(chosen).to_numpy(), ends, rows)


_NOTHING = pa.array([], pa.binary())


class Lists(NamedTuple):
    """The documents `rows[ends[k]:ends[k + 1]]` have the path with code `codes[k]`."""

    codes: Longs
    ends: Longs
    rows: Ints

    def rows_of(self, paths: Longs) -> Ints:
        """All documents that have one of these paths, ascending."""
        chosen = np.repeat(np.isin(self.codes, paths), np.diff(self.ends))
        return np.unique(self.rows[chosen])


def load_postings(lake: str, date: dt.date, batch: str, version: int) -> Postings:
    where = {"ingest_date": date, "batch": batch}
    table = read_rows(lake, "path_documents", ["path_id", "rows"], where=where, version=version)
    return Postings(table.column("path_id"), table.column("rows"))


def route(store: PatternStore, joined: Joined, postings: list[Postings]) -> list[Ints] | None:
    """Per batch the rows of the documents that could satisfy some pattern, ascending; None: all of them."""
    lines = lines_of(store.twigs, 0, len(store), store.height)
    if np.unique(lines.owner).size < len(store):
        return None  # a pattern without branches holds for every document
    codes = line_codes(lines.steps, lines.ends, text_codes(store.vocabulary.labels()))
    distinct, line = np.unique(codes, return_inverse=True)
    pair_line = find(distinct, joined.branch_codes)
    own = pair_line >= 0
    pair_line, pair_path = pair_line[own], joined.path_codes[own]
    paths, path = np.unique(pair_path, return_inverse=True)
    lists = [found.of(paths) for found in postings]
    weights = np.bincount(pair_line, _documents(paths, lists)[path], minlength=distinct.size)
    chosen = _rarest(lines.owner, weights.astype(np.float64)[line])
    waited = np.unique(pair_path[np.isin(pair_line, line[chosen])])
    return [found.rows_of(waited) for found in lists]


def _documents(paths: Longs, lists: list[Lists]) -> npt.NDArray[np.float64]:
    """How many documents have each path."""
    counts = np.zeros(paths.size)
    for found in lists:
        np.add.at(counts, find(paths, found.codes), np.diff(found.ends))
    return counts


def _rarest(owner: Ints, weights: npt.NDArray[np.float64]) -> Longs:
    """One row for each owner, the lightest."""
    order = np.lexsort((weights, owner))
    first = np.concatenate([[True], owner[order][1:] != owner[order][:-1]]) if order.size else np.zeros(0, np.bool_)
    return order[first]


class Homes(NamedTuple):
    """Where patterns belong when they are shared out."""

    partition: Longs  # the index partition of the first branch; -1 for a pattern without any
    is_open: npt.NDArray[np.bool_]  # it asks for no equality, so that no value can rule it out


def homes_of(lake: str, pattern_ids: Longs, versions: Mapping[str, int]) -> Homes:
    """Per pattern, of the patterns and branches at these versions."""
    columns = ["pattern_id", "branches", "tests"]
    rows = read_rows(lake, "patterns", columns, version=versions["patterns"])
    rows = rows.filter(pc.is_in(rows.column("pattern_id"), value_set=pa.array(np.unique(pattern_ids))))
    branches = read_rows(lake, "branches", ["branch_id", "branch"], version=versions["branches"])
    index = load_index(lake)
    where = {"index_version": index.version if index else 0}
    entries = read_rows(lake, "envelope_nodes", ["entry", "partition"], where=where)
    partition = np.full(branches.num_rows + 1, -1, np.int64)
    partition[entries.column("entry").to_numpy()] = entries.column("partition").to_numpy()
    partition[-1] = -1  # inner nodes of trees, and branches that are not there
    first = pc.fill_null(_first(rows.column("branches")), 0).to_numpy().astype(np.int64)
    at = find(branches.column("branch_id").to_numpy().astype(np.int64), first)
    number = np.where(at >= 0, branches.column("branch").to_numpy()[at], -1)
    tests = pa.concat_arrays(rows.column("tests").chunks) if rows.num_rows else pa.array([], pa.list_(pa.string()))
    equals = pc.match_substring_regex(tests.flatten(), "^(NUM_)?EQ ").to_numpy(zero_copy_only=False)
    closed = np.bincount(tests.value_parent_indices().to_numpy(), equals, minlength=rows.num_rows) > 0
    place = find(rows.column("pattern_id").to_numpy().astype(np.int64), pattern_ids)
    return Homes(partition[number][place], ~closed[place])


def _first(lists: pa.ChunkedArray) -> pa.ChunkedArray:
    """The first item of each list, or null."""
    return sql("SELECT items[1] AS item FROM lists", lists=pa.table({"items": lists})).column(0)
