"""What the scanner works on, grouped so that its kernels take one argument: input, look-up, output, scratch, state.

Python passes arrays; `raw_scan` turns them into pointers, and only these are seen by the kernels inside.
"""

from typing import NamedTuple

from winnow.arrays.kernel import inlined
from winnow.encoding.batch import Bytes, Ints, Longs, Shorts
from winnow.encoding.names import NameIndex
from winnow.encoding.simd import raw

DONE, WALK, MISS, GROW = 0, -1, -2, -3  # results; WALK concerns one document, the others the whole call
PLAIN_UTF8, UTF8, OTHER_ENCODING = range(3)  # values in the index for XML declarations; only the first is surely right

# Entries of the state, which survives a MISS or GROW. POSITION is negative when a document does not continue.
(DOCUMENT, STOP, POSITION, DEPTH, NODES, TEXTS, VALUES, RUN, RUN_CDATA, ATTRIBUTE_VALUES) = range(10)
MISS_KEY, MISS_START, MISS_LENGTH = range(10, 13)
LONGEST_NAME, LONGEST_NAMESPACE = 13, 14  # in a document that must be proven: bytes of a name, of a declaration
STATE_SIZE = 15
BETWEEN, GIVEN_UP = -1, -2

# `Work.frames` has a row of `FRAME` numbers for each open element, row 0 being the document; `Work.attributes` has a
# row of `SPAN` numbers, byte spans, for each attribute of the tag at hand.
NODE, NAME, LENGTH, CONTEXT, PATH, FRAME = range(6)
NAME_START, NAME_STOP, VALUE_START, VALUE_STOP, SPAN = range(5)
MAX_DECLARATIONS = 32  # rows of `Work.declarations`, (start, length) of the names of a tag's namespace declarations


class Source(NamedTuple):
    """Documents `data[offsets[d]:offsets[d + 1]]`, with `SLACK` readable bytes after the last one that is scanned."""

    data: Bytes
    offsets: Longs


class Output(NamedTuple):
    """The arrays of an `EncodedBatch` as they fill.

    Arrays per node are `node_capacity` long, those per text node `text_capacity`, and `values` as long as all documents
    plus `SLACK`. Without values, `values` and the arrays of text nodes may be empty and none of them is written.
    """

    status: Bytes
    doc_offsets: Longs
    value_offsets: Longs
    text_offsets: Longs
    path: Ints
    end: Ints
    level: Shorts
    parent: Ints
    value_start: Ints
    value_end: Ints
    values: Bytes
    text_parent: Ints
    text_start: Ints
    text_end: Ints
    node_capacity: int
    text_capacity: int


class Bounds(NamedTuple):
    """How large a document may be that the scanner accepts by itself."""

    max_bytes: int
    max_nodes: int  # bytes `<` and `=`, of which every element and attribute has one
    max_name_bytes: int
    max_expanded_bytes: int  # of all names, if each had the longest namespace


class Work(NamedTuple):
    """Room for the longest document: as many frames and attributes as its bytes can hold, and its attribute values."""

    frames: Longs
    attributes: Longs
    declarations: Longs
    attribute_values: Bytes
    with_values: bool
    strict: bool  # documents are not known to be well-formed: what is not proven within the bounds is left
    bounds: Bounds


class Scan(NamedTuple):
    source: Source
    names: NameIndex
    output: Output
    work: Work
    state: Longs


@inlined
def raw_scan(scan: Scan, strict: bool) -> Scan:
    """The same with pointers; the arrays must outlive it. `strict` is given again, as a constant (see `scanner`)."""
    source, names, output, work = scan.source, scan.names, scan.output, scan.work
    return Scan(
        Source(raw(source.data), raw(source.offsets)),
        NameIndex(raw(names.slots), raw(names.heap), names.mask, names.seed),
        Output(
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
        ),
        Work(
            raw(work.frames),
            raw(work.attributes),
            raw(work.declarations),
            raw(work.attribute_values),
            work.with_values,
            strict,
            work.bounds,
        ),
        raw(scan.state),
    )


@inlined
def miss(state: Longs, key: int, start: int, length: int) -> int:
    """Report the span that is not in the index."""
    state[MISS_KEY] = key
    state[MISS_START] = start
    state[MISS_LENGTH] = length
    return MISS
