"""The scanner: UTF-8 bytes of documents to node arrays, many documents in one call.

It does what libxml2 does to a document without an internal DTD subset. What it must not decide itself it reports:
`MISS`, a name, namespace declaration or XML declaration that it has not met (the caller adds it to the index and calls
again); `GROW`, an output array is full; and per document `Status.WALKED`, only libxml2 can say what this document is.
`scan_documents` reads what libxml2 has accepted: it notices the faults that would spoil the arrays, not every fault.
`prove_documents` leaves a document (`Status.UNPROVEN`) unless it is surely free of faults (`proof`).

Bounds: every position that is read lies before the end of its document or in the `SLACK` after it. Blocks and words
are written only where the text of the documents so far, which is never longer than their bytes, leaves room.
"""

from winnow.arrays.kernel import inlined, kernel
from winnow.encoding.batch import Status
from winnow.encoding.layout import (
    ATTRIBUTE_VALUES,
    BETWEEN,
    CONTEXT,
    DEPTH,
    DOCUMENT,
    DONE,
    FRAME,
    GIVEN_UP,
    GROW,
    MISS,
    NODE,
    NODES,
    PATH,
    PLAIN_UTF8,
    POSITION,
    RUN,
    RUN_CDATA,
    STOP,
    TEXTS,
    UTF8,
    VALUES,
    WALK,
    Scan,
    miss,
    raw_scan,
)
from winnow.encoding.markup import (
    BANG,
    CLOSING_BRACKET,
    DASH,
    LESS_THAN,
    OPENING_BRACKET,
    QUESTION,
    SLASH,
    SPACE,
    doctype_end,
    find_less_than,
    section_end,
    skip_blanks,
)
from winnow.encoding.names import DECLARATION, find, name_key
from winnow.encoding.proof import is_sound_comment, is_sound_data, is_sound_instruction, is_within_bounds
from winnow.encoding.references import copy_text, copy_verbatim
from winnow.encoding.simd import BLOCK, as_word, copy_block, word_at
from winnow.encoding.tags import close_tag, open_tag

SCANNED, TO_WALK, UNPROVEN = int(Status.SCANNED), int(Status.WALKED), int(Status.UNPROVEN)
MAX_PROVEN_DECLARATION = 256  # bytes: every other spelling is learnt and kept

_CDATA = as_word(b"<![CDATA")
_DOCTYPE = as_word(b"<!DOCTY")
_XML_DECLARATION = as_word(b"<?xml")
_BYTE_ORDER_MARK = as_word(b"\xef\xbb\xbf")


@inlined
def _begin_document(scan: Scan) -> int:
    """Where the prolog starts. A byte order mark says UTF-8 whatever the XML declaration claims, as in libxml2."""
    data, state, frames, strict = scan.source.data, scan.state, scan.work.frames, scan.work.strict
    i, end = scan.source.offsets[state[DOCUMENT]], scan.source.offsets[state[DOCUMENT] + 1]
    if strict and not is_within_bounds(scan, i, end):
        return WALK
    marked = end - i >= 3 and (word_at(data, i) & 0xFFFFFF) == _BYTE_ORDER_MARK
    if marked:
        i += 3
    if end - i > 6 and (word_at(data, i) & 0xFFFFFFFFFF) == _XML_DECLARATION and data[i + 5] <= SPACE:
        stop = section_end(data, i + 5, end, QUESTION, 1)
        if stop < 0 or (strict and stop - i > MAX_PROVEN_DECLARATION):
            return WALK
        if strict or not marked:
            key = name_key(0, 0, DECLARATION)
            encoding = find(scan.names, data, i, stop - i, key)
            if encoding < 0:
                return miss(state, key, i, stop - i)
            if encoding > (PLAIN_UTF8 if strict else UTF8):
                return WALK
        i = stop
    state[DEPTH] = 0
    state[RUN] = state[VALUES]
    state[RUN_CDATA] = 0
    state[ATTRIBUTE_VALUES] = 0
    frames[NODE], frames[CONTEXT], frames[PATH] = -1, 0, 0
    return int(i)


@inlined
def _end_run(scan: Scan) -> bool:
    """Turn the character data since the last markup into a text node; False when there is no room for it.

    An empty CDATA section alone makes an empty text node in libxml2, so the run remembers CDATA sections, too.
    """
    output, state = scan.output, scan.state
    start, stop, text = state[RUN], state[VALUES], state[TEXTS]
    if stop > start or state[RUN_CDATA] != 0:
        if text == output.text_capacity:
            return False
        output.text_parent[text] = scan.work.frames[FRAME * state[DEPTH] + NODE]
        output.text_start[text] = start
        output.text_end[text] = stop
        state[TEXTS] = text + 1
        state[RUN] = stop
        state[RUN_CDATA] = 0
    return True


@inlined
def _section(scan: Scan, start: int, end: int) -> int:
    """The index after a CDATA section, whose content joins the text run around it."""
    state = scan.state
    stop = section_end(scan.source.data, start + 9, end, CLOSING_BRACKET, 2)
    if stop < 0 or state[DEPTH] == 0:
        return WALK
    if scan.work.with_values:
        state[VALUES] = copy_verbatim(scan.source.data, start + 9, stop - 3, scan.output.values, state[VALUES])
        state[RUN_CDATA] = 1
    return stop


@inlined
def _declaration(scan: Scan, start: int, end: int) -> int:
    """The index after a comment or a document type declaration."""
    data, state = scan.source.data, scan.state
    if data[start + 2] == DASH and data[start + 3] == DASH:
        stop = section_end(data, start + 4, end, DASH, 2)
        return WALK if scan.work.strict and not is_sound_comment(data, start + 4, stop - 3) else stop
    if scan.work.strict:
        return WALK
    before_root = state[NODES] == scan.output.doc_offsets[state[DOCUMENT]]
    if before_root and (word_at(data, start) & 0xFFFFFFFFFFFFFF) == _DOCTYPE:
        return doctype_end(data, start + 9, end)
    return WALK


@inlined
def _instruction(scan: Scan, start: int, end: int) -> int:
    """The index after a processing instruction."""
    data = scan.source.data
    stop = section_end(data, start + 2, end, QUESTION, 1)
    return WALK if scan.work.strict and not is_sound_instruction(data, start + 2, stop - 2) else stop


@inlined
def _next_markup(scan: Scan, i: int, end: int) -> int:
    """The index of the next `<`, with the character data before it copied if values are wanted; else WALK."""
    data, state = scan.source.data, scan.state
    if state[DEPTH] == 0:
        i = skip_blanks(data, i, end)
        return i if i < end and data[i] == LESS_THAN else WALK
    start = i
    if scan.work.with_values:
        i, state[VALUES] = copy_text(data, i, end, scan.output.values, state[VALUES])
    else:
        i = find_less_than(data, i, end)
    if i >= end or (scan.work.strict and not is_sound_data(data, start, i)):
        return WALK
    return i


@inlined
def _scan_document(scan: Scan) -> int:
    data, state = scan.source.data, scan.state
    end = scan.source.offsets[state[DOCUMENT] + 1]
    first_node = scan.output.doc_offsets[state[DOCUMENT]]
    i = state[POSITION]
    if i < 0:
        i = _begin_document(scan)
    while i >= 0:
        if state[DEPTH] == 0 and state[NODES] > first_node and skip_blanks(data, i, end) == end:
            return DONE
        i = _next_markup(scan, i, end)
        if i < 0:
            break
        kind = data[i + 1]
        if kind == BANG and word_at(data, i) == _CDATA and data[i + 8] == OPENING_BRACKET:
            i = _section(scan, i, end)
            continue
        state[POSITION] = i
        if scan.work.with_values and not _end_run(scan):
            return GROW
        if kind == SLASH:
            i = close_tag(scan, i, end)
        elif kind == BANG:
            i = _declaration(scan, i, end)
        elif kind == QUESTION:
            i = _instruction(scan, i, end)
        elif state[DEPTH] == 0 and state[NODES] > first_node:
            return WALK
        else:
            i = open_tag(scan, i, end)
    return int(i)


@inlined
def _end_document(scan: Scan, result: int) -> None:
    """Count the document; its attribute values go behind its text. A document to be walked leaves nothing."""
    output, state = scan.output, scan.state
    document = state[DOCUMENT]
    first_node = output.doc_offsets[document]
    output.status[document] = SCANNED
    if result == WALK:
        output.status[document] = UNPROVEN if scan.work.strict else TO_WALK
        state[NODES] = first_node
        state[TEXTS] = output.text_offsets[document]
        state[VALUES] = output.value_offsets[document]
    elif scan.work.with_values:
        base, size = state[VALUES], state[ATTRIBUTE_VALUES]
        for k in range(0, size, BLOCK):
            copy_block(scan.work.attribute_values, k, output.values, base + k)
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


@inlined
def _scan_documents(scan: Scan) -> int:
    state = scan.state
    while state[DOCUMENT] < state[STOP]:
        result = WALK if state[POSITION] == GIVEN_UP else _scan_document(scan)
        if result in (MISS, GROW):
            return result
        _end_document(scan, result)
    return DONE


@kernel
def scan_documents(arrays: Scan) -> int:
    """Scan the documents `state[DOCUMENT]:state[STOP]`; DONE, or MISS or GROW with the state to go on from.

    After a MISS that has no answer, the caller sets POSITION to GIVEN_UP: the document is to be walked.
    """
    return _scan_documents(raw_scan(arrays, False))


@kernel
def prove_documents(arrays: Scan) -> int:
    """As `scan_documents`, for `Work.strict`: a kernel of its own, so that the checks cost nothing elsewhere."""
    return _scan_documents(raw_scan(arrays, True))
