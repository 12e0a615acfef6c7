"""Post-order numbers of a document's elements and text nodes, for ordered patterns (XTrie, section 2)."""

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints
from winnow.encoding import EncodedBatch


@kernel
def number_nodes(batch: EncodedBatch, document: int, symbols: Ints, post: Ints, text_post: Ints) -> None:
    """Write post-order numbers to `post` (by node within the document) and `text_post` (by text within it).

    A text node comes before an element that is not around it exactly if it starts before the element's string-value
    does: text nodes are never empty. Attributes have no order and keep what stands in `post`.
    """
    first = batch.doc_offsets[document]
    text_first, text_last = batch.text_offsets[document], batch.text_offsets[document + 1]
    count = 0
    text = text_first
    inner = -1
    for node in range(first, batch.doc_offsets[document + 1] + 1):
        is_end = node == batch.doc_offsets[document + 1]
        if not is_end and symbols[batch.path[node]] < 0:
            continue
        around = -1 if is_end else batch.parent[node]
        while inner != around:
            while text < text_last and batch.text_parent[text] == inner:
                text_post[text - text_first] = count
                count += 1
                text += 1
            post[inner - first] = count
            count += 1
            inner = batch.parent[inner]
        if not is_end:
            while text < text_last and batch.text_start[text] < batch.value_start[node]:
                text_post[text - text_first] = count
                count += 1
                text += 1
            inner = node
