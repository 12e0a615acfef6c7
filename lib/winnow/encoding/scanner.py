"""The scanner: UTF-8 bytes of documents that libxml2 has accepted, to node arrays, many documents in one call.

It does what libxml2 does to a document without an internal DTD subset. What it must not decide itself it reports:
`MISS`, a name, namespace declaration or XML declaration that it has not met (the caller adds it to the index and calls
again); `GROW`, an output array is full; and per document `Status.WALKED`, only libxml2 can say what this document is.
It notices the faults that would spoil the arrays, not every fault: it is no validator.

Bounds: every position that is read lies before the end of its document or in the `SLACK` after it. Blocks and words
are written only where the text of the documents so far, which is never longer than their bytes, leaves room.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.encoding.batch import Status
from winnow.encoding.jit import kernel
from winnow.encoding.markup import (
    APOSTROPHE,
    BANG,
    CLOSING_BRACKET,
    DASH,
    EQUALS,
    GREATER_THAN,
    LESS_THAN,
    OPENING_BRACKET,
    QUESTION,
    QUOTE,
    SLASH,
    SPACE,
    doctype_end,
    find_less_than,
    find_quote,
    is_namespace_declaration,
    name_end,
    section_end,
    skip_blanks,
)
from winnow.encoding.names import ATTRIBUTE, DECLARATION, ELEMENT, NAMESPACE, NameIndex, find, name_key, raw_index, same_span
from winnow.encoding.references import copy_attribute, copy_text, copy_verbatim
from winnow.encoding.simd import BLOCK, copy_block, raw, word_at

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

DONE, WALK, MISS, GROW = 0, -1, -2, -3  # results; WALK concerns one document, the others the whole call
SCANNED, TO_WALK = int(Status.SCANNED), int(Status.WALKED)
UTF8, OTHER_ENCODING = 0, 1  # values in the index for XML declarations

# Columns of `Work.frames`: the open elements; row 0 is the document. Columns of `Work.attributes`: byte spans.
NODE, NAME, LENGTH, CONTEXT, PATH, FRAME = range(6)
NAME_START, NAME_STOP, VALUE_START, VALUE_STOP, SPAN = range(5)
# Entries of the state, which survives a MISS or GROW. POSITION is negative when a document does not continue.
BETWEEN, GIVEN_UP = -1, -2
(DOCUMENT, STOP, POSITION, DEPTH, NODES, TEXTS, VALUES, RUN, RUN_CDATA, ATTRIBUTE_VALUES) = range(10)
MISS_KEY, MISS_START, MISS_LENGTH = range(10, 13)
STATE_SIZE = 13

MAX_DEPTH = 30000  # a level is an int16; libxml2 itself stops at 256 (2048 for huge trees)

_CDATA = 0x41544144435B213C  # `<![CDATA`
_DOCTYPE = 0x5059544F44213C  # `<!DOCTYP`, without its last byte
_XML_DECLARATION = 0x6C6D783F3C  # `<?xml`
_BYTE_ORDER_MARK = 0xBFBBEF


class Source(NamedTuple):
    """Documents `data[offsets[d]:offsets[d + 1]]`, with `SLACK` readable bytes after the last one that is scanned."""

    data: Bytes
    offsets: Longs


class Output(NamedTuple):
    """The arrays of an `EncodedBatch` as they fill; arrays outside kernels, pointers inside. All that are per node are equally long; `values` is as
    long as the documents plus `SLACK`, or empty without values."""

    status: Bytes
    doc_offsets: Longs
    value_offsets: Longs
    text_offsets: Longs
    path: Ints
    end: Ints
    level: npt.NDArray[np.int16]
    parent: Ints
    value_start: Ints
    value_end: Ints
    values: Bytes
    text_parent: Ints
    text_start: Ints
    text_end: Ints
    node_capacity: int
    text_capacity: int


class Work(NamedTuple):
    """Room for the longest document: as many frames and attributes as its bytes can hold, and its attribute values."""

    frames: Longs
    attributes: Longs
    attribute_values: Bytes
    with_values: bool


@kernel
def _miss(state: Longs, key: int, start: int, length: int) -> int:
    state[MISS_KEY] = key
    state[MISS_START] = start
    state[MISS_LENGTH] = length
    return MISS


@kernel
def _begin_document(source: Source, index: NameIndex, work: Work, state: Longs) -> int:
    """Where the prolog starts. A byte order mark says UTF-8 whatever the XML declaration claims, as in libxml2."""
    data, i, end = source.data, source.offsets[state[DOCUMENT]], source.offsets[state[DOCUMENT] + 1]
    marked = end - i >= 3 and (word_at(data, i) & 0xFFFFFF) == _BYTE_ORDER_MARK
    if marked:
        i += 3
    if end - i > 6 and (word_at(data, i) & 0xFFFFFFFFFF) == _XML_DECLARATION and data[i + 5] <= SPACE:
        stop = section_end(data, i + 5, end, QUESTION, 1)
        if stop < 0:
            return WALK
        if not marked:
            key = name_key(0, 0, DECLARATION)
            encoding = find(index, data, i, stop - i, key)
            if encoding < 0:
                return _miss(state, key, i, stop - i)
            if encoding != UTF8:
                return WALK
        i = stop
    state[DEPTH] = 0
    state[RUN] = state[VALUES]
    state[RUN_CDATA] = 0
    state[ATTRIBUTE_VALUES] = 0
    frames = work.frames
    frames[NODE], frames[CONTEXT], frames[PATH] = -1, 0, 0
    return int(i)


@kernel
def _end_run(output: Output, work: Work, state: Longs) -> bool:
    """Turn the character data since the last markup into a text node; False when there is no room for it.

    An empty CDATA section alone makes an empty text node in libxml2, so the run counts its CDATA sections, too.
    """
    start, stop, text = state[RUN], state[VALUES], state[TEXTS]
    if stop > start or state[RUN_CDATA] != 0:
        if text == output.text_capacity:
            return False
        output.text_parent[text] = work.frames[FRAME * state[DEPTH] + NODE]
        output.text_start[text] = start
        output.text_end[text] = stop
        state[TEXTS] = text + 1
        state[RUN] = stop
        state[RUN_CDATA] = 0
    return True


@kernel
def _close_tag(data: Bytes, output: Output, work: Work, state: Longs, start: int, end: int) -> int:
    frames, frame = work.frames, FRAME * state[DEPTH]
    length = frames[frame + LENGTH]
    i = start + 2 + length
    if frame == 0 or i >= end or not same_span(data, start + 2, data, frames[frame + NAME], length):
        return WALK
    if data[i] != GREATER_THAN:
        i = skip_blanks(data, i, end)
        if i >= end or data[i] != GREATER_THAN:
            return WALK
    node = frames[frame + NODE]
    output.end[node] = state[NODES]
    if work.with_values:
        output.value_end[node] = state[VALUES]
    state[DEPTH] -= 1
    return i + 1


@kernel
def _open_tag(source: Source, index: NameIndex, output: Output, work: Work, state: Longs, start: int, end: int) -> int:
    """Nothing of the state changes before the last name is found, so that a MISS can repeat the whole tag."""
    data, frames, attributes = source.data, work.frames, work.attributes
    depth, node = state[DEPTH], state[NODES]
    frame = FRAME * depth
    name_stop = name_end(data, start + 1, end)
    if name_stop == start + 1 or depth == MAX_DEPTH:
        return WALK
    context = frames[frame + CONTEXT]
    count = 0
    i = name_stop
    while data[i] != GREATER_THAN and data[i] != SLASH:
        i = skip_blanks(data, i, end)
        if data[i] == GREATER_THAN or data[i] == SLASH:
            break
        stop = name_end(data, i, end)
        equals = skip_blanks(data, stop, end)
        opening = skip_blanks(data, equals + 1, end)
        quote = data[opening]
        if stop == i or data[equals] != EQUALS or (quote != QUOTE and quote != APOSTROPHE):
            return WALK
        closing = find_quote(data, opening + 1, end, quote)
        if closing >= end:
            return WALK
        if is_namespace_declaration(data, i, stop):
            key = name_key(0, context, NAMESPACE)
            context = find(index, data, i, closing + 1 - i, key)
            if context < 0:
                return _miss(state, key, i, closing + 1 - i)
        else:
            span = SPAN * count
            attributes[span + NAME_START], attributes[span + NAME_STOP] = i, stop
            attributes[span + VALUE_START], attributes[span + VALUE_STOP] = opening + 1, closing
            count += 1
        i = closing + 1
    empty = data[i] == SLASH
    if empty:
        i += 1
    if i >= end or data[i] != GREATER_THAN:
        return WALK
    after = node + 1 + count
    if after > output.node_capacity:
        return GROW
    key = name_key(frames[frame + PATH], context, ELEMENT)
    path = find(index, data, start + 1, name_stop - start - 1, key)
    if path < 0:
        return _miss(state, key, start + 1, name_stop - start - 1)
    attribute_at = state[ATTRIBUTE_VALUES]
    for k in range(count):
        span = SPAN * k
        key = name_key(path, context, ATTRIBUTE)
        name = attributes[span + NAME_START]
        length = attributes[span + NAME_STOP] - name
        attribute_path = find(index, data, name, length, key)
        if attribute_path < 0:
            return _miss(state, key, name, length)
        child = node + 1 + k
        output.path[child] = attribute_path
        output.end[child] = child + 1
        output.level[child] = depth + 2
        output.parent[child] = node
        if work.with_values:
            output.value_start[child] = ~attribute_at  # negative until `_end_document` knows where they go
            value, value_stop = attributes[span + VALUE_START], attributes[span + VALUE_STOP]
            attribute_at = copy_attribute(data, value, value_stop, work.attribute_values, attribute_at)
            if attribute_at < 0:
                return WALK
            output.value_end[child] = attribute_at
    output.path[node] = path
    output.end[node] = after
    output.level[node] = depth + 1
    output.parent[node] = frames[frame + NODE]
    if work.with_values:
        output.value_start[node] = state[VALUES]
        output.value_end[node] = state[VALUES]
    state[ATTRIBUTE_VALUES] = attribute_at
    state[NODES] = after
    if not empty:
        frame += FRAME
        frames[frame + NODE], frames[frame + NAME], frames[frame + LENGTH] = node, start + 1, name_stop - start - 1
        frames[frame + CONTEXT], frames[frame + PATH] = context, path
        state[DEPTH] = depth + 1
    return i + 1


@kernel
def _declaration_end(data: Bytes, state: Longs, first_node: int, start: int, end: int) -> int:
    """The index after a comment or a document type declaration."""
    if data[start + 2] == DASH and data[start + 3] == DASH:
        return section_end(data, start + 4, end, DASH, 2)
    if (word_at(data, start) & 0xFFFFFFFFFFFFFF) == _DOCTYPE and state[NODES] == first_node:
        return doctype_end(data, start + 9, end)
    return WALK


@kernel
def _scan_document(source: Source, index: NameIndex, output: Output, work: Work, state: Longs) -> int:
    data, end = source.data, source.offsets[state[DOCUMENT] + 1]
    first_node = output.doc_offsets[state[DOCUMENT]]
    i = state[POSITION]
    if i < 0:
        i = _begin_document(source, index, work, state)
        if i < 0:
            return int(i)
    while True:
        if state[DEPTH] == 0:
            i = skip_blanks(data, i, end)
            if i >= end:
                return DONE if state[NODES] > first_node else WALK
            if data[i] != LESS_THAN:
                return WALK
        elif work.with_values:
            i, state[VALUES] = copy_text(data, i, end, output.values, state[VALUES])
        else:
            i = find_less_than(data, i, end)
        if i < 0 or i >= end:
            return WALK
        kind = data[i + 1]
        if kind == BANG and word_at(data, i) == _CDATA and data[i + 8] == OPENING_BRACKET:
            stop = section_end(data, i + 9, end, CLOSING_BRACKET, 2)
            if stop < 0 or state[DEPTH] == 0:
                return WALK
            if work.with_values:
                state[VALUES] = copy_verbatim(data, i + 9, stop - 3, output.values, state[VALUES])
                state[RUN_CDATA] = 1
            i = stop
            continue
        state[POSITION] = i
        if work.with_values and not _end_run(output, work, state):
            return GROW
        if kind == SLASH:
            i = _close_tag(data, output, work, state, i, end)
        elif kind == BANG:
            i = _declaration_end(data, state, first_node, i, end)
        elif kind == QUESTION:
            i = section_end(data, i + 2, end, QUESTION, 1)
        elif state[DEPTH] == 0 and state[NODES] > first_node:
            return WALK
        else:
            i = _open_tag(source, index, output, work, state, i, end)
        if i < 0:
            return int(i)


@kernel
def _end_document(output: Output, work: Work, state: Longs, result: int) -> None:
    """Count the document; its attribute values go behind its text. A document to be walked leaves nothing."""
    document = state[DOCUMENT]
    first_node = output.doc_offsets[document]
    output.status[document] = SCANNED
    if result == WALK:
        output.status[document] = TO_WALK
        state[NODES] = first_node
        state[TEXTS] = output.text_offsets[document]
        state[VALUES] = output.value_offsets[document]
    elif work.with_values:
        base, size = state[VALUES], state[ATTRIBUTE_VALUES]
        for k in range(0, size, BLOCK):
            copy_block(work.attribute_values, k, output.values, base + k)
        for node in range(first_node, state[NODES]):
            if output.value_start[node] < 0:
                output.value_start[node] = base + ~output.value_start[node]
                output.value_end[node] += base
        state[VALUES] = base + size
    output.doc_offsets[document + 1] = state[NODES]
    output.text_offsets[document + 1] = state[TEXTS]
    output.value_offsets[document + 1] = state[VALUES]
    state[DOCUMENT] = document + 1
    state[POSITION] = BETWEEN


@kernel
def _raw_output(output: Output) -> Output:
    return Output(
        raw(output.status),
        raw(output.doc_offsets),
        raw(output.value_offsets),
        raw(output.text_offsets),
        raw(output.path),
        raw(output.end),
        raw(output.level),
        raw(output.parent),
        raw(output.value_start),
        raw(output.value_end),
        raw(output.values),
        raw(output.text_parent),
        raw(output.text_start),
        raw(output.text_end),
        output.node_capacity,
        output.text_capacity,
    )


@kernel
def scan(source: Source, index: NameIndex, output: Output, work: Work, state: Longs) -> int:
    """Scan the documents `state[DOCUMENT]:state[STOP]`; DONE, or MISS or GROW with the state to go on from.

    After a MISS that has no answer, the caller sets POSITION to GIVEN_UP: the document is to be walked.
    """
    source_ = Source(raw(source.data), raw(source.offsets))
    index_, output_, state_ = raw_index(index), _raw_output(output), raw(state)
    work_ = Work(raw(work.frames), raw(work.attributes), raw(work.attribute_values), work.with_values)
    while state[DOCUMENT] < state[STOP]:
        result = WALK if state[POSITION] == GIVEN_UP else _scan_document(source_, index_, output_, work_, state_)
        if result != DONE and result != WALK:
            return result
        _end_document(output_, work_, state_, result)
    return DONE
