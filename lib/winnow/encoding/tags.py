"""Start and end tags: names to paths, attributes to nodes, namespace declarations to contexts."""

from winnow.arrays.kernel import inlined
from winnow.encoding.layout import (
    ATTRIBUTE_VALUES,
    CONTEXT,
    DEPTH,
    FRAME,
    GROW,
    LENGTH,
    LONGEST_NAME,
    LONGEST_NAMESPACE,
    NAME,
    NAME_START,
    NAME_STOP,
    NODE,
    NODES,
    PATH,
    SPAN,
    VALUE_START,
    VALUE_STOP,
    VALUES,
    WALK,
    Scan,
    miss,
)
from winnow.encoding.markup import (
    APOSTROPHE,
    EQUALS,
    GREATER_THAN,
    QUOTE,
    SLASH,
    SPACE,
    find_quote,
    is_namespace_declaration,
    name_end,
    skip_blanks,
)
from winnow.encoding.names import ATTRIBUTE, ELEMENT, NAMESPACE, find, name_key, same_span
from winnow.encoding.proof import (
    MAX_PROVEN_ATTRIBUTES,
    MAX_PROVEN_DEPTH,
    are_distinct,
    is_identifier,
    is_new_declaration,
    is_sound_data,
)
from winnow.encoding.references import copy_attribute

MAX_DEPTH = 30000  # a level is an int16; libxml2 itself stops at 256 (2048 for huge trees)
MAX_ATTRIBUTES = 4096  # with declarations; a tag that has more of them is left to libxml2


@inlined
def close_tag(scan: Scan, start: int, end: int) -> int:
    """Close the innermost element; the index after the tag, or WALK when it is not the one that is named."""
    data, output, state, frames = scan.source.data, scan.output, scan.state, scan.work.frames
    frame = FRAME * state[DEPTH]
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
    if scan.work.with_values:
        output.value_end[node] = state[VALUES]
    state[DEPTH] -= 1
    return int(i + 1)


@inlined
def _read_attributes(scan: Scan, start: int, end: int) -> tuple[int, int, int]:
    """From behind a tag's name: the index of its `>` or `/`, the number of attributes, and the context inside.

    The index is WALK or MISS when the tag cannot be read. Declarations are followed one by one, because later ones
    replace earlier ones and each leads from a context to a context.
    """
    data, attributes, state = scan.source.data, scan.work.attributes, scan.state
    strict = scan.work.strict
    most = MAX_PROVEN_ATTRIBUTES if strict else MAX_ATTRIBUTES
    context = scan.work.frames[FRAME * state[DEPTH] + CONTEXT]
    count = seen = 0
    i = start
    while data[i] != GREATER_THAN and data[i] != SLASH:
        if data[i] > SPACE or seen > most:
            return WALK, count, context
        seen += 1
        i = skip_blanks(data, i, end)
        if data[i] == GREATER_THAN or data[i] == SLASH:
            break
        name_stop = name_end(data, i, end)
        equals = name_stop if data[name_stop] == EQUALS else skip_blanks(data, name_stop, end)
        opening = skip_blanks(data, equals + 1, end)
        quote = data[opening]
        if name_stop == i or data[equals] != EQUALS or quote not in (QUOTE, APOSTROPHE):
            return WALK, count, context
        closing = find_quote(data, opening + 1, end, quote)
        if closing >= end:
            return WALK, count, context
        if is_namespace_declaration(data, i, name_stop):
            if strict and (
                closing - i > state[LONGEST_NAMESPACE]
                or not is_new_declaration(scan, seen - count - 1, i, name_stop - i)
            ):
                return WALK, count, context
            key = name_key(0, context, NAMESPACE)
            context = find(scan.names, data, i, closing + 1 - i, key)
            if context < 0:
                return miss(state, key, i, closing + 1 - i), count, context
        else:
            if strict and not is_sound_data(data, opening + 1, closing):
                return WALK, count, context
            span = SPAN * count
            attributes[span + NAME_START], attributes[span + NAME_STOP] = i, name_stop
            attributes[span + VALUE_START], attributes[span + VALUE_STOP] = opening + 1, closing
            count += 1
        i = closing + 1
    return i, count, context


@inlined
def _write_attributes(scan: Scan, count: int, context: int, path: int) -> int:
    """Make the attributes nodes behind their element's place; how far their values go, or WALK or MISS."""
    data, output, attributes, state = scan.source.data, scan.output, scan.work.attributes, scan.state
    element, level = state[NODES], state[DEPTH] + 2
    at = state[ATTRIBUTE_VALUES]
    key = name_key(path, context, ATTRIBUTE)
    for k in range(count):
        span = SPAN * k
        name = attributes[span + NAME_START]
        length = attributes[span + NAME_STOP] - name
        if scan.work.strict and (length > state[LONGEST_NAME] or is_identifier(data, name, length)):
            return WALK
        attribute_path = find(scan.names, data, name, length, key)
        if attribute_path < 0:
            return miss(state, key, name, length)
        node = element + 1 + k
        output.path[node] = attribute_path
        output.end[node] = node + 1
        output.level[node] = level
        output.parent[node] = element
        if scan.work.with_values:
            output.value_start[node] = ~at  # negative until the end of the document, when it is known where they go
            value, value_stop = attributes[span + VALUE_START], attributes[span + VALUE_STOP]
            at = copy_attribute(data, value, value_stop, scan.work.attribute_values, at)
            if at < 0:
                return WALK
            output.value_end[node] = at
    if scan.work.strict and not are_distinct(output.path, element + 1, count):
        return WALK
    return int(at)


@inlined
def open_tag(scan: Scan, start: int, end: int) -> int:
    """Open an element, and close it if it is empty; the index after the tag, or WALK, MISS or GROW.

    The state does not change before the last name is found, so that after a MISS the whole tag can be read again.
    """
    data, output, state, frames = scan.source.data, scan.output, scan.state, scan.work.frames
    depth, node = state[DEPTH], state[NODES]
    frame = FRAME * depth
    name = start + 1
    name_stop = name_end(data, name, end)
    if name_stop == name or depth == MAX_DEPTH:
        return WALK
    if scan.work.strict and (name_stop - name > state[LONGEST_NAME] or depth == MAX_PROVEN_DEPTH):
        return WALK
    count, context = 0, frames[frame + CONTEXT]
    i = name_stop
    if data[i] != GREATER_THAN:
        i, count, context = _read_attributes(scan, i, end)
        if i < 0:
            return int(i)
    empty = data[i] == SLASH
    if empty:
        i += 1
    if i >= end or data[i] != GREATER_THAN:
        return WALK
    after = node + 1 + count
    if after > output.node_capacity:
        return GROW
    key = name_key(frames[frame + PATH], context, ELEMENT)
    path = find(scan.names, data, name, name_stop - name, key)
    if path < 0:
        return miss(state, key, name, name_stop - name)
    if count > 0:
        at = _write_attributes(scan, count, context, path)
        if at < 0:
            return at
        state[ATTRIBUTE_VALUES] = at
    output.path[node] = path
    output.end[node] = after
    output.level[node] = depth + 1
    output.parent[node] = frames[frame + NODE]
    if scan.work.with_values:
        output.value_start[node] = state[VALUES]
        output.value_end[node] = state[VALUES]
    state[NODES] = after
    if not empty:
        frame += FRAME
        frames[frame + NODE], frames[frame + NAME], frames[frame + LENGTH] = node, name, name_stop - name
        frames[frame + CONTEXT], frames[frame + PATH] = context, path
        state[DEPTH] = depth + 1
    return int(i + 1)
