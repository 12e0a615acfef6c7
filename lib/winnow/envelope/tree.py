"""The BoXFilter tree (section 4.3): a height-balanced tree of nested envelopes over sequences.

In memory a tree is a set of flat arrays that never change: `insert` and `delete` give a new tree. Level 0 are the
sequences themselves, level 1 the nodes that hold sequences, and so on up to the root.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.arrays.kernel import kernel
from winnow.envelope.boxes import Boxes, cover, empty_boxes, sequence_boxes
from winnow.envelope.order import SymbolOrder
from winnow.envelope.pack import cut, shared_prefixes, sort_order
from winnow.envelope.relation import Relation
from winnow.envelope.sequences import SequenceSet
from winnow.envelope.storage import Rows, Storage
from winnow.errors import DataError, UsageError

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Parameters:
    """How a tree was built; kept with it in memory and on disk."""

    relation: Relation = Relation.LINE
    min_fanout: int = 12
    max_fanout: int = 32
    order: SymbolOrder = field(default_factory=SymbolOrder)
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
    level: NDArray[np.int64]  # -1 for a node that is no longer in use
    counts: NDArray[np.int64]
    slots: NDArray[np.int64]
    ids: NDArray[np.int32]  # of the rows


@dataclass(frozen=True)
class EnvelopeTree:
    arrays: Arrays
    root: int
    size: int  # live sequences
    parameters: Parameters
    storage: Storage  # of the rows

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
        return pack_tree(Rows(*named_boxes(sequences, ids, parameters)), parameters)


def named_boxes(
    sequences: SequenceSet, ids: NDArray[np.int32] | None, parameters: Parameters
) -> tuple[Boxes, NDArray[np.int32]]:
    """The sequences as a tree with these parameters sees them, and the ids that name them."""
    given = np.empty(0, np.int32) if ids is None else np.require(ids, np.int32, ["C", "W"])
    ids = np.arange(len(sequences), dtype=np.int32) if ids is None else given
    if len(ids) != len(sequences):
        raise UsageError("envelope_ids", f"{len(ids)} ids for {len(sequences)} sequences")
    if len(np.unique(given)) != len(given):
        raise DataError("envelope_duplicate_id", "an id names more than one sequence; answers would be ambiguous")
    if parameters.relation == Relation.SUBSEQUENCE and sequences.adjacent.any():
        raise DataError("envelope_links", "SUBSEQUENCE has no links, but some positions are adjacent", hint="use LINE")
    return sequence_boxes(parameters.order.apply(sequences)), ids


@kernel
def _cover_all(nodes: Boxes, first: int, source: Boxes, slots: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    for node in range(first, counts.size):
        cover(nodes, node, source, slots[node, : counts[node]])


def _plan(shared: NDArray[np.int32], parameters: Parameters) -> list[NDArray[np.int64]]:
    """For each level from 1 up: where its nodes begin among the members of the level below, and the end of the last."""
    levels: list[NDArray[np.int64]] = []
    while not levels or len(shared) > 1:
        starts = cut(shared, parameters.min_fanout, parameters.max_fanout) if len(shared) else np.zeros(1, np.int64)
        levels.append(np.append(starts, len(shared)))
        shared = shared[starts] if len(shared) else np.zeros(1, np.int32)
    return levels


def pack_tree(rows: Rows, parameters: Parameters) -> EnvelopeTree:
    storage = Storage.gathered(rows, sort_order(rows.boxes))
    boxes, ids = storage.view()
    levels = _plan(shared_prefixes(boxes), parameters)
    bases = np.cumsum([0] + [len(starts) - 1 for starts in levels])  # of the node numbers, level by level
    level = np.repeat(np.arange(1, len(levels) + 1), np.diff(bases))
    counts = np.concatenate([np.diff(starts) for starts in levels])
    first = np.concatenate([starts[:-1] + (bases[k - 1] if k else 0) for k, starts in enumerate(levels)])
    slots = first[:, None] + np.arange(parameters.max_fanout)
    longest = [boxes.heads["longest"] if len(ids) else np.zeros(1, np.int32)]
    for starts in levels:
        longest.append(np.maximum.reduceat(longest[-1], starts[:-1]))
    ends = np.cumsum(np.concatenate(longest[1:]))
    nodes = empty_boxes(len(level), int(ends[-1]))
    nodes.heads["start"][1:] = ends[:-1]
    for k in range(len(levels)):
        _cover_all(nodes, int(bases[k]), nodes if k else boxes, slots[: bases[k + 1]], counts[: bases[k + 1]])
    arrays = Arrays(boxes, nodes, level, counts, slots, ids)
    return EnvelopeTree(arrays, len(level) - 1, len(ids), parameters, storage)
