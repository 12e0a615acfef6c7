"""A batch from the paths of its nodes alone: in document order they say everything about structure."""

import numpy as np

from winnow.encoding.batch import ENCODING_VERSION, EncodedBatch, Ints, Longs, Shorts, Status, freeze
from winnow.encoding.jit import kernel
from winnow.encoding.paths import PathTable


def restore(path: Ints, doc_offsets: Longs, paths: PathTable) -> EncodedBatch:
    """
    >>> from winnow.encoding import Encoder, Vocabulary
    >>> words, paths = Vocabulary(), PathTable()
    >>> batch = Encoder(words, paths).encode([b"<a x='1'><b/><b><c/></b></a>"], values=False)
    >>> again = restore(batch.path, batch.doc_offsets, paths)
    >>> [(again.end == batch.end).all(), (again.level == batch.level).all(), (again.parent == batch.parent).all()]
    [np.True_, np.True_, np.True_]
    """
    level, end, parent = _climb(path, doc_offsets, paths.depths)
    documents = doc_offsets.size - 1
    none = np.zeros(0, np.int32)
    return freeze(
        EncodedBatch(
            version=ENCODING_VERSION,
            with_values=False,
            status=np.full(documents, Status.SCANNED, np.uint8),
            doc_offsets=doc_offsets.astype(np.int64),
            path=path.astype(np.int32),
            end=end,
            level=level,
            parent=parent,
            value_start=none,
            value_end=none,
            values=np.zeros(0, np.uint8),
            value_offsets=np.zeros(documents + 1, np.int64),
            text_offsets=np.zeros(documents + 1, np.int64),
            text_parent=none,
            text_start=none,
            text_end=none,
        )
    )


@kernel
def _climb(path: Ints, doc_offsets: Longs, depths: Ints) -> tuple[Shorts, Ints, Ints]:
    level = np.empty(path.size, np.int16)
    end = np.empty(path.size, np.int32)
    parent = np.empty(path.size, np.int32)
    deepest = 0
    for node in range(path.size):
        deepest = max(deepest, depths[path[node]])
    open_nodes = np.full(deepest + 1, -1, np.int32)
    for document in range(doc_offsets.size - 1):
        last = 0
        for node in range(doc_offsets[document], doc_offsets[document + 1]):
            depth = depths[path[node]]
            for closed in range(depth, last + 1):
                if open_nodes[closed] >= 0:
                    end[open_nodes[closed]] = node
                    open_nodes[closed] = -1
            level[node] = depth
            parent[node] = open_nodes[depth - 1] if depth > 1 else -1
            open_nodes[depth] = node
            last = depth
        for closed in range(last + 1):
            if open_nodes[closed] >= 0:
                end[open_nodes[closed]] = doc_offsets[document + 1]
                open_nodes[closed] = -1
    return level, end, parent
