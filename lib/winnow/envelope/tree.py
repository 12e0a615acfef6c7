"""The BoXFilter tree (section 4.3): a height-balanced tree of nested envelopes over sequences.

In memory a tree is a set of flat arrays that never change: `insert` and `delete` give a new tree. Level 0 are the
sequences themselves, level 1 the nodes that hold sequences, and so on up to the root.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.envelope.boxes import Boxes, cover, empty_boxes, gather, sequence_boxes
from winnow.envelope.kernel import kernel
from winnow.envelope.pack import cut, shared_prefixes, sort_order
from winnow.envelope.relation import Relation
from winnow.envelope.sequences import SequenceSet
from winnow.errors import DataError, UsageError

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Parameters:
    """How a tree was built; kept with it in memory and on disk."""

    relation: Relation = Relation.LINE
    min_fanout: int = 12
    max_fanout: int = 32
    version: int = FORMAT_VERSION

    def __post_init__(self) -> None:
        if self.version != FORMAT_VERSION:
            message = f"the tree has format {self.version}, this release reads format {FORMAT_VERSION}"
            raise DataError("envelope_version", message, hint="build the index again")
        if not 2 <= self.min_fanout <= (self.max_fanout + 1) // 2:
            message = f"minimum fan-out {self.min_fanout} must be from 2 to half of the maximum {self.max_fanout}"
            raise UsageError("envelope_fanout", message)


class Arrays(NamedTuple):
    """The tree as the kernels see it. `slots[node, :counts[node]]` are rows if `level[node] == 1`, else nodes."""

    rows: Boxes
    nodes: Boxes
    level: NDArray[np.int32]  # -1 for a node that is no longer in use
    counts: NDArray[np.int32]
    slots: NDArray[np.int32]
    ids: NDArray[np.int32]  # of the rows


@dataclass(frozen=True)
class EnvelopeTree:
    arrays: Arrays
    root: int
    size: int  # live sequences
    parameters: Parameters

    def __len__(self) -> int:
        return self.size

    @property
    def height(self) -> int:
        return int(self.arrays.level[self.root])

    @classmethod
    def bulk_load(
        cls, sequences: SequenceSet, parameters: Parameters | None = None, *, ids: NDArray[np.int32] | None = None
    ) -> "EnvelopeTree":
        """Sort and pack; `ids` (default: positions in `sequences`) name the sequences in every answer."""
        parameters = parameters or Parameters()
        ids = as_ids(sequences, ids)
        check_batch(sequences, ids, parameters.relation)
        return _pack_tree(sequence_boxes(sequences), ids, parameters)


def as_ids(sequences: SequenceSet, ids: NDArray[np.int32] | None) -> NDArray[np.int32]:
    return np.arange(len(sequences), dtype=np.int32) if ids is None else np.require(ids, np.int32, ["C", "W"])


def check_batch(sequences: SequenceSet, ids: NDArray[np.int32], relation: Relation) -> None:
    if len(ids) != len(sequences):
        raise UsageError("envelope_ids", f"{len(ids)} ids for {len(sequences)} sequences")
    if len(np.unique(ids)) != len(ids):
        raise DataError("envelope_duplicate_id", "an id names more than one sequence; answers would be ambiguous")
    if relation == Relation.SUBSEQUENCE and sequences.adjacent.any():
        raise DataError("envelope_links", "SUBSEQUENCE has no links, but some positions are adjacent", hint="use LINE")


@kernel
def _cover_all(nodes: Boxes, first: int, source: Boxes, slots: NDArray[np.int32], counts: NDArray[np.int32]) -> None:
    for node in range(first, counts.size):
        cover(nodes, node, source, slots[node, : counts[node]])


def _pack_tree(rows: Boxes, ids: NDArray[np.int32], parameters: Parameters) -> EnvelopeTree:
    order = sort_order(rows)
    rows = gather(rows, order)
    shared = shared_prefixes(rows)
    # Plan all levels before storing any: (first member, number of members) of each node, numbered across the level.
    plan: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    members = len(ids)
    while not plan or members > 1:
        starts = cut(shared, parameters.min_fanout, parameters.max_fanout) if members else np.zeros(1, np.int64)
        plan.append((starts, np.diff(np.append(starts, members))))
        shared = shared[starts] if members else shared
        members = len(starts)
    bases = np.cumsum([0] + [len(starts) for starts, _ in plan])
    total = int(bases[-1])
    level = np.repeat(np.arange(1, len(plan) + 1, dtype=np.int32), np.diff(bases))
    counts = np.concatenate([sizes for _, sizes in plan]).astype(np.int32)
    first = np.concatenate([s + (bases[k - 1] if k else 0) for k, (s, _) in enumerate(plan)])
    slots = (first[:, None] + np.arange(parameters.max_fanout)).astype(np.int32)
    longest = rows.heads["longest"]
    longests = []
    for starts, _ in plan:
        longest = np.maximum.reduceat(longest, starts) if len(longest) else np.zeros(1, np.int32)
        longests.append(longest)
    lengths = np.concatenate(longests)
    nodes = empty_boxes(total, int(lengths.sum()), valued=len(rows.values) > 0)
    nodes.heads["start"][1:] = np.cumsum(lengths[:-1])
    for k in range(len(plan)):
        end = int(bases[k + 1])
        _cover_all(nodes, int(bases[k]), nodes if k else rows, slots[:end], counts[:end])
    return EnvelopeTree(Arrays(rows, nodes, level, counts, slots, ids[order]), total - 1, len(ids), parameters)
