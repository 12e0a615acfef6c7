"""A tree as rows of a table: one row per node and one per sequence, since a sequence is an envelope too.

`to_rows` gives columns of equal length; `low`, `high` and `adjacent` are flat and cut by `offsets`, as lists are in
Arrow. Row numbers are those of `subtree`: the root is 0, children come after their parents.
`level` is 0 for a sequence, whose id is in `entry` (-1 for a node). `must` and `may` are stored as signed integers,
because table formats have no unsigned ones. Rows may come back in any order.
"""

from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.envelope.boxes import HEAD, POSITION, Boxes, empty_boxes, gather
from winnow.envelope.order import SymbolOrder
from winnow.envelope.relation import Relation
from winnow.envelope.storage import Rows, Storage
from winnow.envelope.subtree import subtree
from winnow.envelope.tree import Arrays, EnvelopeTree, Parameters
from winnow.errors import DataError

HEAD_COLUMNS = ("shortest", "longest", "top")


class TreeRows(NamedTuple):
    columns: dict[str, NDArray[Any]]
    parameters: dict[str, Any]  # fit for JSON


def to_rows(tree: EnvelopeTree) -> TreeRows:
    """All rows of the tree. For a partition, `to_rows(subtree(tree, node))`."""
    arrays = subtree(tree, tree.root).arrays
    nodes, total = len(arrays.level), len(arrays.level) + len(arrays.ids)
    parent = np.full(total, -1, np.int32)
    # Numbered by `subtree`, the members of all nodes, one node after the other, are the rows 1, 2, 3, ... of the table.
    parent[1:] = np.repeat(np.arange(nodes, dtype=np.int32), arrays.counts)
    level = np.zeros(total, np.int32)
    level[:nodes] = arrays.level
    entry = np.full(total, -1, np.int32)
    entry[nodes:] = arrays.ids
    heads = np.concatenate([arrays.nodes.heads, arrays.rows.heads])
    positions = np.concatenate([arrays.nodes.positions, arrays.rows.positions])
    columns = {"node_id": np.arange(total, dtype=np.int32), "parent": parent, "level": level, "entry": entry}
    columns |= {name: np.ascontiguousarray(heads[name]) for name in HEAD_COLUMNS}
    columns |= {name: heads[name].astype(np.uint64).view(np.int64) for name in ("must", "may")}
    columns["offsets"] = np.concatenate([[0], np.cumsum(heads["longest"], dtype=np.int64)])
    columns |= {name: np.ascontiguousarray(positions[name]) for name in ("low", "high", "adjacent")}
    # The number of sequences tells a whole tree from one whose last rows were lost.
    parameters = asdict(tree.parameters) | {"relation": tree.parameters.relation.name, "sequences": len(tree)}
    return TreeRows(columns, parameters)


def _boxes(columns: dict[str, NDArray[Any]]) -> Boxes:
    heads = np.zeros(len(columns["node_id"]), HEAD)
    heads["start"] = columns["offsets"][:-1]
    for name in HEAD_COLUMNS:
        heads[name] = columns[name]
    for name in ("must", "may"):
        heads[name] = np.ascontiguousarray(columns[name], np.int64).view(np.uint64)
    positions = np.zeros(len(columns["low"]), POSITION)
    for name in ("low", "high", "adjacent"):
        positions[name] = columns[name]
    return Boxes(heads, positions)


def from_rows(rows: TreeRows) -> EnvelopeTree:
    """The tree that `to_rows` wrote; an unknown format version is an error."""
    given = dict(rows.parameters)
    size = given.pop("sequences")
    order = SymbolOrder(tuple(given["order"]["ranks"]), tuple(given["order"]["negative"]))
    parameters = Parameters(**given | {"relation": Relation[given["relation"]], "order": order})
    by_id = np.argsort(rows.columns["node_id"], kind="stable")
    parent, level = (np.ascontiguousarray(rows.columns[name][by_id], np.int64) for name in ("parent", "level"))
    nodes = int((level > 0).sum())
    counts = np.bincount(parent[1:], minlength=nodes) if len(parent) else np.zeros(0, np.int64)
    complete = np.array_equal(rows.columns["node_id"][by_id], np.arange(nodes + size)) and (level[:nodes] > 0).all()
    if not nodes or parent[0] != -1 or not complete or len(counts) != nodes or (np.diff(parent) < 0).any():
        raise DataError("envelope_rows", "the rows are not those of one whole tree", hint="load the whole partition")
    if counts.max() > parameters.max_fanout:
        raise DataError("envelope_rows", f"a node has {counts.max()} members, more than {parameters.max_fanout}")
    boxes = _boxes(rows.columns)
    inner = empty_boxes(nodes, int(boxes.heads["longest"][by_id[:nodes]].sum()))
    gather(boxes, by_id[:nodes], inner)
    slots = np.full((nodes, parameters.max_fanout), -1, np.int64)
    sequences = np.arange(len(by_id) - nodes)
    slots[np.arange(parameters.max_fanout) < counts[:, None]] = np.append(np.arange(1, nodes), sequences)
    names = np.ascontiguousarray(rows.columns["entry"], np.int32)
    storage = Storage.gathered(Rows(boxes, names), by_id[nodes:])
    stored, ids = storage.view()
    return EnvelopeTree(Arrays(stored, inner, level[:nodes], counts, slots, ids), 0, len(ids), parameters, storage)
