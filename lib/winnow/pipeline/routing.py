"""Which documents could satisfy any of these profiles? Asked of paths, answered from the inverted table.

For each pattern the branch that the fewest documents have is waited for: all branches are necessary, so any would do.
"""

import datetime as dt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.engines.lines import lines_of
from winnow.engines.store import PatternStore
from winnow.engines.twigs import Ints, Longs
from winnow.index.assemble import Joined
from winnow.index.codes import line_codes, text_codes
from winnow.index.lines import find, stored_branches
from winnow.index.patterns import add_rows
from winnow.lake.store import read_rows
from winnow.pipeline.build_index import load_index
from winnow.pipeline.words import load_vocabulary


class Postings(NamedTuple):
    """Documents of one batch by path: `rows[ends[k]:ends[k + 1]]` have the path with code `codes[k]`."""

    codes: Longs
    ends: Longs
    rows: Ints


def load_postings(lake: str, date: dt.date, batch: str, wanted: Longs, version: int) -> Postings:
    where = {"ingest_date": date, "batch": batch}
    table = read_rows(lake, "path_documents", ["path_id", "rows"], where=where, version=version)
    table = table.filter(pc.is_in(table.column("path_id"), value_set=pa.array(wanted)))
    lists = table.column("rows").combine_chunks()
    ends = np.concatenate([[0], np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False))]).astype(np.int64)
    rows = lists.flatten().to_numpy(zero_copy_only=False)
    return Postings(table.column("path_id").to_numpy().astype(np.int64), ends, rows.astype(np.int32))


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
    weights = np.bincount(pair_line, _documents(paths, postings)[path], minlength=distinct.size)
    chosen = _rarest(lines.owner, weights.astype(np.float64)[line])
    waited = np.isin(pair_line, line[chosen])
    return [_rows(found, np.unique(pair_path[waited])) for found in postings]


def _documents(paths: Longs, postings: list[Postings]) -> npt.NDArray[np.float64]:
    """How many documents have each path."""
    counts = np.zeros(paths.size)
    for found in postings:
        at = find(paths, found.codes)
        np.add.at(counts, at[at >= 0], np.diff(found.ends)[at >= 0])
    return counts


def _rarest(owner: Ints, weights: npt.NDArray[np.float64]) -> Longs:
    """One row for each owner, the lightest."""
    order = np.lexsort((weights, owner))
    first = np.concatenate([[True], owner[order][1:] != owner[order][:-1]]) if order.size else np.zeros(0, np.bool_)
    return order[first]


def _rows(postings: Postings, paths: Longs) -> Ints:
    chosen = np.flatnonzero(np.isin(postings.codes, paths))
    parts = [postings.rows[postings.ends[k] : postings.ends[k + 1]] for k in chosen.tolist()]
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int32)


def home_partitions(lake: str, patterns: pa.Table, pattern_ids: Longs) -> Longs:
    """Per pattern the index partition of its first branch; -1 for a pattern without any."""
    rows = patterns.filter(pc.is_in(patterns.column("pattern_id"), value_set=pa.array(np.unique(pattern_ids))))
    store = PatternStore(load_vocabulary(lake))
    ids = store.add_stream(*add_rows(store, rows))
    lines = lines_of(store.twigs, 0, len(store), store.height)
    codes = line_codes(lines.steps, lines.ends, text_codes(store.vocabulary.labels()))
    branches = stored_branches(read_rows(lake, "branches", ["branch", "branch_id", "steps"]))
    index = load_index(lake)
    entries = read_rows(
        lake, "envelope_nodes", ["entry", "partition"], where={"index_version": index.version if index else 0}
    )
    partition = np.full(len(branches) + 1, -1, np.int64)
    partition[entries.column("entry").to_numpy()] = entries.column("partition").to_numpy()  # nodes, -1, go to the end
    partition[-1] = -1
    homes = np.full(len(store), -1, np.int64)
    owners, first = np.unique(lines.owner, return_index=True)
    homes[owners] = partition[find(branches.codes, codes[first])]
    return homes[ids[find(rows.column("pattern_id").to_numpy().astype(np.int64), pattern_ids)]]
