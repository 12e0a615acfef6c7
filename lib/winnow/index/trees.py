"""Envelope trees as rows of `envelope_nodes`, and their root envelopes as rows of `index_partitions`."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.envelope import EnvelopeTree, Parameters, SequenceSet, TreeRows, from_rows, to_rows
from winnow.envelope.boxes import HEAD, POSITION, Boxes
from winnow.envelope.relation import fits
from winnow.envelope.tree import named_boxes
from winnow.errors import DataError
from winnow.index.lines import find

_HEADS = ("shortest", "longest", "top", "must", "may")
_LISTS = ("low", "high", "adjacent")


def tree_table(tree: EnvelopeTree, builds: Ints, entries: Ints) -> tuple[pa.Table, str]:
    """Rows and parameters; `builds[k]` is the build that put branch `entries[k]` in."""
    columns, parameters = to_rows(tree)
    build = np.zeros(len(columns["entry"]), np.int32)
    is_entry = columns["entry"] >= 0
    build[is_entry] = builds[find(entries.astype(np.int64), columns["entry"][is_entry].astype(np.int64))]
    ends = pa.array(columns["offsets"].astype(np.int32))
    flat = {name: columns[name] for name in ("node_id", "parent", "level", "entry", *_HEADS)}
    lists = {name: pa.ListArray.from_arrays(ends, pa.array(columns[name].astype(np.int32))) for name in _LISTS}
    return pa.table(flat | {"build": build} | lists), json.dumps(parameters)


def load_tree(rows: pa.Table, parameters: str) -> EnvelopeTree:
    """The tree of one whole partition."""
    names = ("node_id", "parent", "level", "entry", *_HEADS)
    columns: dict[str, Any] = {name: rows.column(name).to_numpy() for name in names}
    flat, offsets = _flat(rows)
    columns |= flat | {"offsets": offsets}
    given = json.loads(parameters)
    given.pop("labels", None)  # of a SUBSEQUENCE tree: see index_partitions
    return from_rows(TreeRows(columns, given))


def tree_of(rows: pa.Table, parameters: str) -> EnvelopeTree:
    """A tree of its own over some branches of a partition, given as their rows."""
    flat, offsets = _flat(rows)
    order = json.loads(parameters)["order"]
    if order["ranks"] or order["negative"]:
        raise DataError("symbol_order", "the rows are in another order of symbols", hint="build the index again")
    low, high = (flat[name].astype(np.int32) for name in ("low", "high"))
    sequences = SequenceSet(offsets, low, high, flat["adjacent"].astype(np.uint8))
    return EnvelopeTree.bulk_load(sequences, ids=rows.column("entry").to_numpy().astype(np.int32))


def _flat(rows: pa.Table) -> tuple[dict[str, Any], Longs]:
    lists = {name: pa.concat_arrays(rows.column(name).chunks) for name in _LISTS if rows.num_rows}
    flat = {name: column.flatten().to_numpy(zero_copy_only=False) for name, column in lists.items()}
    lengths = lists["low"].value_lengths().to_numpy(zero_copy_only=False) if rows.num_rows else []
    return flat, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def may_fit(roots: pa.Table, data: SequenceSet) -> npt.NDArray[np.bool_]:
    """Per partition and data sequence: False only if no branch of the partition lies in the sequence."""
    if not roots.num_rows or not len(data):
        return np.zeros((roots.num_rows, len(data)), np.bool_)
    heads = np.zeros(roots.num_rows, HEAD)
    flat, offsets = _flat(roots)
    heads["start"] = offsets[:-1]
    for name in ("shortest", "longest", "top"):
        heads[name] = roots.column(name).to_numpy()
    for name in ("must", "may"):
        heads[name] = roots.column(name).to_numpy().astype(np.int64).view(np.uint64)
    positions = np.zeros(len(flat["low"]), POSITION)
    for name in _LISTS:
        positions[name] = flat[name]
    parameters = Parameters()
    boxes, _ = named_boxes(data, None, parameters)
    return _table(Boxes(heads, positions), boxes, int(parameters.relation))


@kernel
def _table(roots: Boxes, data: Boxes, relation: int) -> npt.NDArray[np.bool_]:
    found = np.zeros((roots.heads.size, data.heads.size), np.bool_)
    for p in range(roots.heads.size):
        for d in range(data.heads.size):
            found[p, d] = fits(roots, p, data, d, relation)
    return found
