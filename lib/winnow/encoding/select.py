"""Some documents of a batch as a batch of their own."""

import numpy as np
import numpy.typing as npt

from winnow.arrays.kernel import kernel
from winnow.encoding.batch import EncodedBatch, Ints, Longs, freeze


def select_documents(batch: EncodedBatch, chosen: Longs) -> EncodedBatch:
    """
    >>> from winnow.encoding import Encoder, PathTable, Vocabulary
    >>> batch = Encoder(Vocabulary(), PathTable()).encode([b"<a/>", b"<a><b>x</b></a>", b"<c/>"], values=True)
    >>> some = select_documents(batch, np.array([1, 2]))
    >>> some.documents, some.parent.tolist(), some.value(1)
    (2, [-1, 0, -1], b'x')
    """
    nodes, doc_offsets, of_node = _runs(batch.doc_offsets, chosen)
    texts, text_offsets, of_text = _runs(batch.text_offsets, chosen)
    spans, value_offsets, _ = _runs(batch.value_offsets, chosen)
    node_shift = doc_offsets[:-1] - batch.doc_offsets[chosen]
    value_shift = value_offsets[:-1] - batch.value_offsets[chosen]

    def shifted(column: Ints, by: Longs) -> Ints:
        return np.where(column < 0, column, column + by).astype(np.int32)

    starts, ends = (column[nodes] if batch.with_values else column for column in (batch.value_start, batch.value_end))
    by_node = value_shift[of_node] if batch.with_values else np.zeros(0, np.int64)
    return freeze(
        batch._replace(
            status=batch.status[chosen],
            doc_offsets=doc_offsets,
            path=batch.path[nodes],
            end=shifted(batch.end[nodes], node_shift[of_node]),
            level=batch.level[nodes],
            parent=shifted(batch.parent[nodes], node_shift[of_node]),
            value_start=shifted(starts, by_node),
            value_end=shifted(ends, by_node),
            values=batch.values[spans],
            value_offsets=value_offsets,
            text_offsets=text_offsets,
            text_parent=shifted(batch.text_parent[texts], node_shift[of_text]),
            text_start=shifted(batch.text_start[texts], value_shift[of_text]),
            text_end=shifted(batch.text_end[texts], value_shift[of_text]),
        )
    )


@kernel
def _runs(offsets: Longs, chosen: Longs) -> tuple[Longs, Longs, npt.NDArray[np.int64]]:
    """The positions of the chosen runs, where each now begins and ends, and per position the number of its run."""
    ends = np.zeros(chosen.size + 1, np.int64)
    for k in range(chosen.size):
        ends[k + 1] = ends[k] + offsets[chosen[k] + 1] - offsets[chosen[k]]
    positions, run = np.empty(ends[-1], np.int64), np.empty(ends[-1], np.int64)
    for k in range(chosen.size):
        for i in range(ends[k], ends[k + 1]):
            positions[i] = offsets[chosen[k]] + i - ends[k]
            run[i] = k
    return positions, ends, run
