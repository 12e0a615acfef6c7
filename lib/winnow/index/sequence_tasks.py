"""What workers do for the SUBSEQUENCE trees: pieces of patterns, their trees, and matchers that search them.

A pattern's **access piece** stands in the tree of the partition of its profile; its other pieces are looked for when
that one is found, so whatever a profile needs is in one partition (BoXFilter, section 4).
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.arrays.types import Ints, Longs
from winnow.encoding import Vocabulary
from winnow.engines.boxfilter.engine import BatchBoxFilter, BoxFilter
from winnow.engines.boxfilter.index import SequenceIndex
from winnow.engines.boxfilter.sequences import pieces_of
from winnow.envelope import (
    ACCESS,
    ANY_COLUMN,
    FIRST_COLUMN,
    EnvelopeTree,
    Parameters,
    Relation,
    SequenceSet,
    delete,
    insert,
    narrow_nodes,
)
from winnow.errors import DataError, TransientError
from winnow.index.asked_profiles import AskedProfiles, ask
from winnow.index.codes import line_codes, text_codes
from winnow.index.lines import find
from winnow.index.partition_tasks import Entries, load_whole_tree, stored_entries, tree_rows
from winnow.index.patterns import add_rows
from winnow.patterns.store import PatternStore


class SequenceLabels(NamedTuple):
    """The labels of an index in the order of their columns, and the share of documents that has each."""

    names: tuple[str, ...]
    shares: tuple[float, ...]


PIECES = "xpath_id string, column int, sequence_id long, low array<int>, high array<int>"
_PIECES = pa.schema(
    [
        ("xpath_id", pa.string()),
        ("column", pa.int32()),
        ("sequence_id", pa.int64()),
        ("low", pa.list_(pa.int32())),
        ("high", pa.list_(pa.int32())),
    ]
)


def access_pieces(batches: Iterable[pa.RecordBatch], *, labels: SequenceLabels) -> Iterator[pa.RecordBatch]:
    """Turns xpath_id and patterns into `PIECES`: for each pattern its access piece as a row of a tree.

    Raises:
        DataError: a pattern has a label that the index does not have.
    """
    for batch in batches:
        lists = batch.column(batch.schema.get_field_index("patterns"))
        structs = lists.flatten()
        rows = pa.table({name: structs.field(name) for name in ("pattern_id", "twig", "labels", "tests")})
        if not rows.num_rows:
            continue
        store = PatternStore(Vocabulary())
        index = SequenceIndex(store.vocabulary)
        index.preset(labels.names, labels.shares)
        known = len(index.labels)
        ids = store.add_stream(*add_rows(store, rows))
        index.add(pieces_of(store.twigs, 0, len(store), store.height))
        index.place()
        if len(index.labels) > known:
            words = f"{len(index.labels) - known} labels of patterns are not in the index"
            raise DataError("index_stale", words, hint="run `winnow build-index --engine boxfilter` first")
        access = index.access[ids].astype(np.int64)
        boxes = index.boxes(access)
        ends = pa.array(boxes.offsets.astype(np.int32))
        owner = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy(zero_copy_only=False))
        columns = [
            batch.column(batch.schema.get_field_index("xpath_id")).take(pa.array(owner)),
            pa.array(boxes.low[boxes.offsets[:-1]] - ACCESS, pa.int32()),
            pa.array(sequence_ids(index, store.vocabulary)[access]),
            pa.ListArray.from_arrays(ends, pa.array(boxes.low)),
            pa.ListArray.from_arrays(ends, pa.array(boxes.high)),
        ]
        cast = [column.cast(field.type) for column, field in zip(columns, _PIECES, strict=True)]
        yield pa.RecordBatch.from_arrays(cast, schema=_PIECES)


def sequence_ids(index: SequenceIndex, vocabulary: Vocabulary) -> Longs:
    """The names by content of all sequences of an index."""
    return line_codes(2 * index.sequences.pool, index.sequences.offsets, text_codes(vocabulary.labels()))


def pack_sequences(rows: pa.Table, *, labels: SequenceLabels) -> pa.Table:
    """Returns the tree over pieces given by partition, build, sequence_id, low and high: rows of `envelope_nodes`."""
    entries = _given(rows.filter(rows.column("sequence_id").is_valid()))
    return _tree_rows(rows.column("partition")[0].as_py(), _packed(entries), entries, labels)


def edit_sequences(old: pa.Table, changes: pa.Table, *, labels: SequenceLabels) -> pa.Table:
    """Returns the tree of a partition after pieces came and went; `changes` have is_wanted beside what is packed."""
    partition = (changes if changes.num_rows else old).column("partition")[0].as_py()
    comes = changes.column("is_wanted")
    new, gone = _given(changes.filter(comes)), changes.filter(pc.invert(comes)).column("sequence_id").to_numpy()
    if not old.num_rows:
        return _tree_rows(partition, _packed(new), new, labels)
    held = stored_entries(old)
    stays = find(gone, held.names) < 0
    if gone.size != held.names.size - int(stays.sum()):
        words = f"partition {partition} does not hold what is to leave it"
        raise TransientError("index_moved", words, hint="try again")
    tree = load_whole_tree(old)
    tree = tree if stays.all() else delete(tree, np.flatnonzero(~stays).astype(np.int32))
    if new.names.size:
        numbers = np.arange(held.names.size, held.names.size + new.names.size, dtype=np.int32)
        tree = insert(tree, new.sequences, ids=numbers)
    both = Entries(np.concatenate([held.names, new.names]), np.concatenate([held.builds, new.builds]), new.sequences)
    return _tree_rows(partition, tree, both, labels)


def ask_of_tree(rows: pa.Table, tree: pa.Table, engine: str, labels: SequenceLabels) -> AskedProfiles:
    """Builds the matcher of the profiles of a partition, which searches the partition's tree.

    Raises:
        DataError: the tree does not hold the pieces of the profiles, or an envelope leaves out what is below it.
    """
    partition = rows.column("shard")[0].as_py()
    asked = ask(rows, engine)
    matcher = asked.matcher
    box = matcher.engine
    assert isinstance(box, BoxFilter | BatchBoxFilter)
    index = box.index
    index.preset(labels.names, labels.shares)
    index.place()
    held = load_whole_tree(tree)
    narrow = narrow_nodes(held)
    if narrow:
        words = f"the envelope of node {narrow[0]} of partition {partition} does not cover what is below it"
        raise DataError("index_damaged", words, hint="run `winnow build-index --engine boxfilter --rebuild`")
    names = stored_entries(tree).names
    ids = sequence_ids(index, matcher.vocabulary)
    place = find(ids, names)
    wanted = np.unique(index.access[np.flatnonzero(box.live)])
    missing = wanted[np.isin(wanted, place, invert=True)]
    if missing.size:
        words = f"partition {partition} lacks {missing.size} pieces of profiles that are asked"
        raise DataError("index_stale", words, hint="run `winnow build-index --engine boxfilter` first")
    # Pieces of profiles that are not asked stay in the tree under numbers that nothing waits for.
    others = np.flatnonzero(place < 0)
    place[others] = ids.size + np.arange(others.size)
    arrays = held.arrays
    renamed = arrays._replace(ids=place.astype(np.int32)[arrays.ids])
    index.adopt(replace(held, arrays=renamed), box.live)
    return asked


def _given(rows: pa.Table) -> Entries:
    rows = rows.sort_by("sequence_id").combine_chunks()
    low = pa.concat_arrays(rows.column("low").chunks) if rows.num_rows else pa.array([], pa.list_(pa.int32()))
    high = pa.concat_arrays(rows.column("high").chunks) if rows.num_rows else low
    offsets = np.concatenate([[0], np.cumsum(low.value_lengths().to_numpy(zero_copy_only=False))]).astype(np.int64)
    sequences = SequenceSet(offsets, *(column.flatten().to_numpy(zero_copy_only=False) for column in (low, high)))
    names = rows.column("sequence_id").to_numpy().astype(np.int64)
    return Entries(names, rows.column("build").to_numpy().astype(np.int32), sequences)


def _packed(entries: Entries) -> EnvelopeTree:
    ids: Ints = np.arange(entries.names.size, dtype=np.int32)
    return EnvelopeTree.bulk_load(entries.sequences, Parameters(relation=Relation.SUBSEQUENCE), ids=ids)


def _tree_rows(partition: int, tree: EnvelopeTree, entries: Entries, labels: SequenceLabels) -> pa.Table:
    """With the hashes of the access labels among the root's parameters; null where all documents are routed to it."""
    rows = tree_rows(partition, tree, entries.names, entries.builds)
    live = rows.filter(pc.equal(rows.column("level"), 0)).column("low")
    columns = np.unique([low[0] - ACCESS for low in live.to_pylist()]).astype(np.int64)
    codes = text_codes(labels.names)
    routed = None if (columns == ANY_COLUMN).any() else codes[columns - FIRST_COLUMN].tolist()
    given = json.loads(rows.column("parameters")[0].as_py()) | {"labels": routed}
    parameters = pa.array([json.dumps(given), *[None] * (rows.num_rows - 1)], pa.string())
    return rows.set_column(rows.schema.get_field_index("parameters"), "parameters", parameters)
