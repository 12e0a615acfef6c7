"""What workers do to build an index partition: pack, insert, delete, split. Rows of `envelope_nodes` in and out.

Branches have 64-bit names in rows; within a tree they are numbered as their rows come.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.arrays.types import Ints, Longs
from winnow.envelope import EnvelopeTree, SequenceSet, delete, insert
from winnow.envelope.boxes import sequence_boxes
from winnow.envelope.pack import sort_order
from winnow.errors import DataError, TransientError
from winnow.index.lines import Branches, find
from winnow.index.trees import load_tree, tree_table

NODE_COLUMNS = (
    ("relation", pa.string()),
    ("partition", pa.int32()),
    ("node_id", pa.int32()),
    ("parent", pa.int32()),
    ("level", pa.int32()),
    ("branch_id", pa.int64()),
    ("build", pa.int32()),
    ("shortest", pa.int32()),
    ("longest", pa.int32()),
    ("top", pa.int32()),
    ("must", pa.int64()),
    ("may", pa.int64()),
    ("low", pa.list_(pa.int32())),
    ("high", pa.list_(pa.int32())),
    ("adjacent", pa.list_(pa.int32())),
    ("parameters", pa.string()),
)
_SCHEMA = pa.schema(NODE_COLUMNS)


class Entries(NamedTuple):
    """The branches of a partition: their names, the builds that put them in, their sequences."""

    names: Longs
    builds: Ints
    sequences: SequenceSet

    def take(self, chosen: Longs) -> "Entries":
        return Entries(self.names[chosen], self.builds[chosen], _chosen(self.sequences, chosen))


def pack_partition(rows: pa.Table) -> pa.Table:
    """Returns the tree over branches given by partition, branch_id, build and steps."""
    partition = rows.column("partition")[0].as_py()
    return _packed(partition, given_entries(rows.filter(rows.column("branch_id").is_valid())))


def edit_partition(old: pa.Table, changes: pa.Table, *, pieces: Mapping[int, Sequence[int]]) -> pa.Table:
    """Returns the tree of a partition after branches came and went, or its pieces' trees if it is to be split.

    `changes` are rows of partition, branch_id, build, steps and is_wanted. `pieces` names the partitions to split, and
    the numbers of their pieces.
    """
    partition = (changes if changes.num_rows else old).column("partition")[0].as_py()
    comes = changes.column("is_wanted")
    new = given_entries(changes.filter(comes))
    gone = changes.filter(pc.invert(comes)).column("branch_id").to_numpy()
    held = stored_entries(old)
    stays = find(gone, held.names) < 0
    if gone.size != held.names.size - int(stays.sum()):
        raise TransientError(
            "index_moved", f"partition {partition} does not hold what is to leave it", hint="try again"
        )
    if partition in pieces:
        return _split(pieces[partition], _joined(held.take(np.flatnonzero(stays)), new))
    if not stays.any():
        return _packed(partition, new)
    tree = load_whole_tree(old)
    tree = tree if stays.all() else delete(tree, np.flatnonzero(~stays).astype(np.int32))
    if new.names.size:
        numbers = np.arange(held.names.size, held.names.size + new.names.size, dtype=np.int32)
        tree = insert(tree, new.sequences, ids=numbers)
    names, builds = np.concatenate([held.names, new.names]), np.concatenate([held.builds, new.builds])
    return tree_rows(partition, tree, names, builds)


def choose_partitions(
    batches: Iterable[pa.RecordBatch], *, roots: Sequence[tuple[int, int, int]]
) -> Iterator[pa.RecordBatch]:
    """Adds `partition` to branches: the one whose bounds at the lower end hold it, the narrowest, else the nearest.

    `roots` are partitions with their bounds at the lower end.
    """
    partitions, lows, highs = (np.array(column, np.float64) for column in zip(*roots, strict=True))
    for batch in batches:
        rows = pa.table(batch).sort_by("branch_id")
        sequences = given_entries(rows).sequences
        low, high = (ends[sequences.offsets[:-1]].astype(np.float64) for ends in (sequences.low, sequences.high))
        wider = np.maximum(lows - low[:, None], 0) + np.maximum(high[:, None] - highs, 0)
        best = np.lexsort((np.broadcast_to(highs - lows, wider.shape), wider), axis=1)[:, 0]
        chosen = pa.array(partitions[best].astype(np.int32))
        yield from rows.add_column(0, "partition", chosen).combine_chunks().to_batches()


def given_entries(rows: pa.Table) -> Entries:
    """Branches by branch_id, build and steps, in the order of their names, so that a build can be repeated.

    Raises:
        DataError: a branch that a pattern names has no steps.
    """
    rows = rows.sort_by("branch_id")
    steps = _whole(rows.column("steps"))
    if steps.null_count:
        missing = pc.sum(steps.is_null()).as_py()
        raise DataError(
            "branches_stale", f"{missing} branches of patterns are not in branches", hint="run encode_profiles"
        )
    flat = np.ascontiguousarray(steps.flatten().to_numpy(zero_copy_only=False), np.int32)
    names = np.ascontiguousarray(rows.column("branch_id").to_numpy(), np.int64)
    sequences = Branches(flat, _ends(steps), names).sequences()
    return Entries(names, rows.column("build").to_numpy().astype(np.int32), sequences)


def stored_entries(rows: pa.Table) -> Entries:
    """The branches in rows of `envelope_nodes`, in the order in which `load_whole_tree` numbers them."""
    own = rows.filter(pc.equal(rows.column("level"), 0))
    lists = {name: _whole(own.column(name)) for name in ("low", "high", "adjacent")}
    low, high, adjacent = (column.flatten().to_numpy(zero_copy_only=False) for column in lists.values())
    sequences = SequenceSet(_ends(lists["low"]), low.astype(np.int32), high.astype(np.int32), adjacent.astype(np.uint8))
    names = own.column("branch_id").to_numpy().astype(np.int64)
    return Entries(names, own.column("build").to_numpy().astype(np.int32), sequences)


def load_whole_tree(rows: pa.Table) -> EnvelopeTree:
    """The tree of one whole partition; its branches are numbered as their rows come."""
    is_branch = pc.equal(rows.column("level"), 0).to_numpy()
    entry = np.where(is_branch, np.cumsum(is_branch) - 1, -1).astype(np.int32)
    parameters = rows.column("parameters").drop_null()
    if len(parameters) != 1:
        raise DataError("envelope_rows", "the rows are not those of one whole tree", hint="run build_index --rebuild")
    return load_tree(rows.append_column("entry", pa.array(entry)), parameters[0].as_py())


def tree_rows(partition: int, tree: EnvelopeTree, names: Longs, builds: Ints) -> pa.Table:
    """Rows of `envelope_nodes`; branch k of the tree has name `names[k]`."""
    rows, parameters = tree_table(tree, builds, np.arange(names.size, dtype=np.int32))
    entry = rows.column("entry").to_numpy()
    is_branch = entry >= 0
    count = rows.num_rows
    known = np.zeros(count, np.int64)
    known[is_branch] = names[entry[is_branch]]
    columns = {name: rows.column(name) for name in rows.column_names if name != "entry"}
    columns |= {
        "relation": pa.array([tree.parameters.relation.name] * count),
        "partition": pa.array(np.full(count, partition, np.int32)),
        "branch_id": pa.array(known, mask=~is_branch),
        "parameters": pa.array([parameters, *[None] * (count - 1)], pa.string()),
    }
    return pa.table([columns[name] for name in _SCHEMA.names], names=_SCHEMA.names).cast(_SCHEMA)


def _packed(partition: int, entries: Entries) -> pa.Table:
    tree = EnvelopeTree.bulk_load(entries.sequences, ids=np.arange(entries.names.size, dtype=np.int32))
    return tree_rows(partition, tree, entries.names, entries.builds)


def _split(pieces: Sequence[int], entries: Entries) -> pa.Table:
    """Sorted sequences, cut evenly: neighbours share a partition, so root envelopes are tight."""
    order = np.array_split(sort_order(sequence_boxes(entries.sequences)), len(pieces))
    return pa.concat_tables([_packed(piece, entries.take(own)) for piece, own in zip(pieces, order, strict=True)])


def _joined(left: Entries, right: Entries) -> Entries:
    a, b = left.sequences, right.sequences
    offsets = np.concatenate([a.offsets, b.offsets[1:] + a.offsets[-1]])
    flat = (np.concatenate([getattr(a, name), getattr(b, name)]) for name in ("low", "high", "adjacent"))
    names, builds = np.concatenate([left.names, right.names]), np.concatenate([left.builds, right.builds])
    return Entries(names, builds, SequenceSet(offsets, *flat))


def _chosen(sequences: SequenceSet, chosen: Longs) -> SequenceSet:
    lengths = np.diff(sequences.offsets)[chosen]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    at = np.repeat(sequences.offsets[:-1][chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return SequenceSet(offsets, sequences.low[at], sequences.high[at], sequences.adjacent[at])


def _whole(column: pa.ChunkedArray) -> pa.ListArray:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _ends(lists: pa.ListArray) -> Longs:
    """From 0, whatever part of its values a list array is."""
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
