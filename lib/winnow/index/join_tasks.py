"""What workers do to join paths with branches: route paths to index partitions, and join them there.

A path travels as its symbols from the lower end up, in the numbers of one index version.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.arrays.types import Ints, Longs
from winnow.engines.boxpath.line_index import place_sequences
from winnow.envelope import EnvelopeTree, SequenceSet, join
from winnow.errors import DataError, TransientError
from winnow.index.lines import find
from winnow.index.partition_tasks import Entries, load_whole_tree, stored_entries
from winnow.index.trees import may_fit

ROUTED = pa.schema(
    [("partition", pa.int32()), ("path_id", pa.int64()), ("is_new", pa.bool_()), ("symbols", pa.list_(pa.int32()))]
)
PAIRS = pa.schema([("path_id", pa.int64()), ("text", pa.bool_()), ("branch_id", pa.int64())])
_TEXT = 0  # the symbol of text nodes
_DOCUMENT = 0  # the parent of root elements
_BATCH_ROWS = 20_000


def route_paths(
    batches: Iterable[pa.RecordBatch], *, roots: Sequence[Mapping[str, Any]], with_new_branches: Set[int]
) -> Iterator[pa.RecordBatch]:
    """Returns for each partition the paths that its root envelope lets through: new ones, and, where it has branches
    that are new, all.

    Takes all paths, as path_id, parent_id, depth, symbol and is_new.
    """
    paths = pa.Table.from_batches(list(batches)).sort_by([("depth", "ascending"), ("path_id", "ascending")])
    ids, symbols = (paths.column(name).to_numpy() for name in ("path_id", "symbol"))
    is_new = paths.column("is_new").to_numpy()
    parents = _parents(ids.astype(np.int64), paths.column("parent_id").to_numpy().astype(np.int64))
    symbols = np.append(0, symbols).astype(np.int32)
    places = np.arange(2, 2 * (ids.size + 1))  # those of paths and those of text in them alternate
    sequences = place_sequences(parents, symbols, places)
    fits = may_fit(_roots_table(roots), sequences).reshape(len(roots), ids.size, 2)
    chains = place_sequences(parents, symbols, places[::2])
    lists = pa.ListArray.from_arrays(pa.array(chains.offsets.astype(np.int32)), pa.array(chains.low))
    for root, of_places in zip(roots, fits, strict=True):
        fit = of_places[:, 0] | of_places[:, 1]
        chosen = np.flatnonzero(fit if root["partition"] in with_new_branches else fit & is_new)
        for start in range(0, chosen.size, _BATCH_ROWS):
            rows = chosen[start : start + _BATCH_ROWS]
            partition = pa.array(np.full(rows.size, root["partition"], np.int32))
            arrays = [partition, pa.array(ids[rows]), pa.array(is_new[rows]), lists.take(pa.array(rows))]
            yield pa.RecordBatch.from_arrays(arrays, schema=ROUTED)


def join_partition(tree: pa.Table, paths: pa.Table, *, joined_build: int) -> pa.Table:
    """Returns which branches of a partition each path has: new paths meet all, others what later builds put in."""
    if not paths.num_rows:
        return PAIRS.empty_table()
    if not tree.num_rows:
        partition = paths.column("partition")[0].as_py()
        raise TransientError("index_moved", f"partition {partition} is not there any more", hint="try again")
    entries = stored_entries(tree)
    is_new = paths.column("is_new")
    new_paths, old_paths = paths.filter(is_new), paths.filter(pc.invert(is_new))
    found = []
    if new_paths.num_rows:
        found.append(_joined(load_whole_tree(tree), entries, new_paths))
    new_branches = np.flatnonzero(entries.builds > joined_build)
    if old_paths.num_rows and new_branches.size:
        added = entries.take(new_branches)
        found.append(_joined(EnvelopeTree.bulk_load(added.sequences), added, old_paths))
    return pa.concat_tables(found) if found else PAIRS.empty_table()


def _joined(tree: EnvelopeTree, entries: Entries, paths: pa.Table) -> pa.Table:
    ids = paths.column("path_id").to_numpy()
    sequences = _path_sequences(paths)
    if _asks_for_text(entries):
        sequences = _with_text(sequences)
    pairs = join(tree, sequences)
    found = ids[pairs.data % ids.size], pairs.data >= ids.size, entries.names[pairs.queries]
    return pa.table([pa.array(column) for column in found], schema=PAIRS)


def _asks_for_text(entries: Entries) -> bool:
    sequences = entries.sequences
    some = np.diff(sequences.offsets) > 0
    lower = sequences.offsets[:-1][some]
    return bool(((sequences.low[lower] <= _TEXT) & (sequences.high[lower] >= _TEXT)).any())


def _path_sequences(paths: pa.Table) -> SequenceSet:
    lists = pa.concat_arrays(paths.column("symbols").chunks)
    flat = np.ascontiguousarray(lists.flatten().to_numpy(zero_copy_only=False), np.int32)
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    return SequenceSet(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), flat, flat)


def _with_text(paths: SequenceSet) -> SequenceSet:
    """The sequences of paths, then those of text in them."""
    text: Ints = np.insert(paths.low, paths.offsets[:-1], _TEXT).astype(np.int32)
    offsets = paths.offsets + np.arange(paths.offsets.size)
    flat = np.concatenate([paths.low, text])
    return SequenceSet(np.concatenate([paths.offsets, offsets[1:] + paths.low.size]), flat, flat)


def _parents(ids: Longs, parent_ids: Longs) -> Ints:
    """Per path, numbered from 1, the number of the one above; 0 is the document, which has none."""
    above = find(ids, parent_ids) + 1
    lost = np.flatnonzero((above == 0) & (parent_ids != _DOCUMENT))
    if lost.size or (above > np.arange(ids.size)).any():
        raise DataError(
            "path_gap", f"{lost.size} paths are without the path above them", hint="restore the table paths"
        )
    return np.append(-1, above).astype(np.int32)


def _roots_table(roots: Sequence[Mapping[str, Any]]) -> pa.Table:
    lists = pa.list_(pa.int32())
    types = {name: pa.int32() for name in ("shortest", "longest", "top")}
    types |= {"must": pa.int64(), "may": pa.int64(), "low": lists, "high": lists, "adjacent": lists}
    return pa.table({name: pa.array([root[name] for root in roots], kind) for name, kind in types.items()})
