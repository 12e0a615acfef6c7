"""The verification kernel: does a pattern hold in a document? Exact for every pattern, whatever proposed the pair.

For each twig the kernel finds the list of all document nodes that satisfy it, children first. A list is made from the
lists of the children, by going up from their nodes: to the parent for a child step, to all ancestors for a descendant
step. A node is in the list when it was reached from every child's list. No embedding is enumerated, so the cost is
bounded by (twigs of the pattern) × (nodes of the document) × depth, for hostile patterns and documents, too.

Twigs are shared by patterns, so lists are kept until the next document: a subtree is looked at once per document.
"""

from typing import NamedTuple

import numpy as np

from winnow.encoding import EncodedBatch
from winnow.encoding.jit import inlined, kernel
from winnow.encoding.simd import raw
from winnow.engines.order import number_nodes
from winnow.engines.twigs import (
    ANY_ATTRIBUTE,
    ANY_ELEMENT,
    ATTRIBUTE,
    BODY,
    DOCUMENT,
    FIRST,
    FLAGS,
    KIND,
    ORDERED,
    SYMBOL,
    TESTS,
    TEXT,
    Bytes,
    Ints,
    Longs,
    Tests,
    Twigs,
    label_fits,
)
from winnow.engines.values import holds


BEGIN, END, LIST = 1, 2, 4
NODE, HEAD = 1, 2


class Question(NamedTuple):
    symbols: Ints  # signed, per path
    twigs: Twigs
    pairs: Ints  # rows (document, pattern), ascending by document
    height: int  # bounds the height of every twig


class Memory(NamedTuple):
    """What outlives a call, so that nothing as long as the store is cleared: entries count only under the stamp."""

    lists: Ints  # `LIST` numbers per twig: the stamp, and where its list begins and ends
    heads: Ints  # `HEAD` numbers per symbol: the stamp, and the first node of the document with this symbol
    counter: Longs  # [the last stamp given]


class View(NamedTuple):
    """The batch as pointers: a call that hands on arrays would count references."""

    parent: Ints
    end: Ints
    value_start: Ints
    value_end: Ints
    values: Bytes
    text_parent: Ints
    text_start: Ints
    text_end: Ints


@inlined
def _spot(view: View, item: int, is_text: bool) -> int:
    """The element that a child step leads back to: the parent; the element around a text node."""
    return int(view.text_parent[item]) if is_text else int(view.parent[item])


@inlined
def _passes(view: View, tests: Tests, pool: Ints, twig: int, item: int) -> bool:
    """The tests of the twig at pool position `twig` on a node or a text node."""
    count = pool[twig + TESTS]
    if count == 0:
        return True
    if pool[twig + FLAGS] & KIND == TEXT:
        start, end = view.text_start[item], view.text_end[item]
    else:
        start, end = view.value_start[item], view.value_end[item]
    k = 0
    while k < count and holds(tests, pool[twig + BODY + k], view.values, start, end):
        k += 1
    return bool(k == count)


@inlined
def _is_below(view: View, item: int, is_text: bool, top: int, axis: int) -> bool:
    spot = _spot(view, item, is_text)
    if axis == 0 or top < 0:
        return spot == top or (axis == 1 and top < 0)
    return bool(top <= spot < view.end[top])


@inlined
def _is_on_line(view: View, path: Ints, symbol_of: Ints, spine: Ints, steps: int, node: int) -> bool:
    """The ancestors of `node`, which fits the last of `steps` steps, fit the others.

    Upwards, each step as low as possible. When that fails, the last gap (`//`) is tried one ancestor higher; gaps
    below it need not be, since a lower place for the steps between leaves more room above.
    """
    step = steps - 1
    above = view.parent[node]
    gap, gap_above = -1, -1
    if spine[step] & 1:
        gap, gap_above = step, above
    while True:
        if step == 0:
            if spine[0] & 1 or above < 0:
                return True
        elif above >= 0 and label_fits(spine[step - 1] >> 1, symbol_of[path[above]]):
            step -= 1
            above = view.parent[above]
            if spine[step] & 1:
                gap, gap_above = step, above
            continue
        if gap_above < 0:
            return False
        gap_above = view.parent[gap_above]
        step, above = gap, gap_above
        if above < 0:
            return False


@kernel
def verify_pairs(batch: EncodedBatch, question: Question, memory: Memory, witnesses: Ints) -> None:
    """For each pair: write its witness, or -1 when it does not hold.

    One kernel without inner calls, because a call with these arrays would cost more than a step of it.
    """
    symbols, twigs, pairs, height = question
    pool, offsets = raw(twigs.pool), raw(twigs.offsets)
    tests = Tests(
        raw(twigs.tests.op),
        raw(twigs.tests.number),
        raw(twigs.tests.start),
        raw(twigs.tests.end),
        raw(twigs.tests.text),
    )
    lists, heads = raw(memory.lists), raw(memory.heads)
    path, symbol_of = raw(batch.path), raw(symbols)
    longest = 0
    for k in range(pairs.shape[0]):
        d = pairs[k, 0]
        longest = max(longest, batch.doc_offsets[d + 1] - batch.doc_offsets[d])
        longest = max(longest, batch.text_offsets[d + 1] - batch.text_offsets[d] if batch.with_values else 0)
    following = np.empty(longest, np.int32)  # per node of the document: the next one with the same symbol, or -1
    marks = np.zeros(longest, np.int64)  # the last child's list from which the node was reached, see below
    seen = np.zeros(longest, np.int64)
    post = np.zeros(longest, np.int32)
    text_post = np.zeros(longest, np.int32)
    stack = np.empty(height + 1, np.int32)
    spine = np.empty(height + 1, np.int32)
    found = np.empty(64 * (longest + 1), np.int32)
    next_mark = 1
    document = -1
    numbered = -1
    stamp = memory.counter[0]
    used = 0
    first, last, text_first, text_last = 0, 0, 0, 0
    view = View(
        raw(batch.parent),
        raw(batch.end),
        raw(batch.value_start),
        raw(batch.value_end),
        raw(batch.values),
        raw(batch.text_parent),
        raw(batch.text_start),
        raw(batch.text_end),
    )
    for k in range(pairs.shape[0]):
        if pairs[k, 0] != document:
            document = pairs[k, 0]
            stamp += 1
            used = 0
            first, last = batch.doc_offsets[document], batch.doc_offsets[document + 1]
            if batch.with_values:
                text_first, text_last = batch.text_offsets[document], batch.text_offsets[document + 1]
            for node in range(last - 1, first - 1, -1):  # backwards, so that the lists are in document order
                head = HEAD * abs(symbol_of[path[node]])
                following[node - first] = heads[head + NODE] if heads[head] == stamp else -1
                heads[head] = stamp
                heads[head + NODE] = node
        # Down from the document as long as there is nothing but a line to check: paths tell that more cheaply.
        root = twigs.roots[pairs[k, 1]]
        steps = 0
        while True:
            at = offsets[root]
            body = at + BODY + pool[at + TESTS]
            if pool[at + TESTS] or offsets[root + 1] - body != 1:
                break
            below = offsets[pool[body] >> 1]
            if pool[below + FLAGS] & FIRST or pool[below + FLAGS] & KIND == TEXT:
                break
            spine[steps] = 2 * pool[below + SYMBOL] + (pool[body] & 1)
            steps += 1
            root = pool[body] >> 1
        depth = 1
        stack[0] = root
        while depth:
            twig = stack[depth - 1]
            at = offsets[twig]
            kind = pool[at + FLAGS] & KIND
            body = at + BODY + pool[at + TESTS]
            stop = offsets[twig + 1]
            pending = -1
            is_empty = False
            for c in range(body, stop):
                child = pool[c] >> 1
                if lists[LIST * child] != stamp:
                    pending = child
                    break
                if lists[LIST * child + BEGIN] == lists[LIST * child + END]:
                    is_empty = True
                    break
            if pending >= 0:
                stack[depth] = pending
                depth += 1
                continue
            depth -= 1
            if found.size - used <= longest:
                grown = np.empty(2 * found.size, np.int32)
                grown[:used] = found[:used]
                found = grown
            start = used
            wanted = pool[at + SYMBOL]
            later = pool[at + FLAGS] & FIRST != 0  # the parent applies the tests
            if is_empty:
                pass
            elif kind == DOCUMENT:
                # The list of a document node is the document itself, once.
                is_held = True
                for c in range(body, stop):
                    child = pool[c] >> 1
                    child_at = offsets[child]
                    is_text = pool[child_at + FLAGS] & KIND == TEXT
                    any_passes = False
                    for i in range(lists[LIST * child + BEGIN], lists[LIST * child + END]):
                        if _is_below(view, found[i], is_text, -1, pool[c] & 1):
                            if pool[child_at + FLAGS] & FIRST == 0:
                                any_passes = True
                            else:
                                any_passes = _passes(view, tests, pool, child_at, found[i])
                            break
                    is_held = is_held and any_passes
                if is_held:
                    found[used] = -1
                    used += 1
            elif kind == TEXT:
                for text in range(text_first, text_last):
                    if later or _passes(view, tests, pool, at, text):
                        found[used] = text
                        used += 1
            elif body == stop:
                if wanted in (ANY_ELEMENT, ANY_ATTRIBUTE):
                    for node in range(first, last):
                        if label_fits(wanted, symbol_of[path[node]]) and (
                            later or _passes(view, tests, pool, at, node)
                        ):
                            found[used] = node
                            used += 1
                else:
                    head = HEAD * abs(wanted)
                    node = heads[head + NODE] if heads[head] == stamp else -1
                    while node >= 0:
                        if later or _passes(view, tests, pool, at, node):
                            found[used] = node
                            used += 1
                        node = following[node - first]
            else:
                # Marks count up: a node that was reached from the lists 0..i has `mark + i + 1`.
                mark = next_mark
                next_mark += stop - body + 1
                for c in range(body, stop):
                    child = pool[c] >> 1
                    child_at = offsets[child]
                    is_text = pool[child_at + FLAGS] & KIND == TEXT
                    only_first = pool[child_at + FLAGS] & FIRST != 0
                    reached = mark + (c - body)
                    for i in range(lists[LIST * child + BEGIN], lists[LIST * child + END]):
                        spot = _spot(view, found[i], is_text)
                        passes = not only_first or _passes(view, tests, pool, child_at, found[i])
                        while spot >= 0:
                            here = spot - first
                            # Reached from this list before: then all its ancestors were, too.
                            if only_first:
                                if seen[here] == reached + 1:
                                    break
                                seen[here] = reached + 1
                            elif marks[here] == reached + 1:
                                break
                            if passes and (
                                marks[here] == reached if c > body else label_fits(wanted, symbol_of[path[spot]])
                            ):
                                marks[here] = reached + 1
                                if c == stop - 1 and (later or _passes(view, tests, pool, at, spot)):
                                    found[used] = spot
                                    used += 1
                            if pool[c] & 1 == 0:
                                break
                            spot = view.parent[spot]
                if later:
                    found[start:used].sort()
                if pool[at + FLAGS] & ORDERED:
                    if numbered != document:
                        numbered = document
                        number_nodes(batch, document, symbols, post, text_post)
                    kept = start
                    for i in range(start, used):
                        top = found[i]
                        reached_post = -1
                        is_held = True
                        for c in range(body, stop):
                            child = pool[c] >> 1
                            child_kind = pool[offsets[child] + FLAGS] & KIND
                            if child_kind == ATTRIBUTE or not is_held:
                                continue
                            # The earliest node that comes after the one before leaves the most room for the next.
                            earliest = 2**31
                            for j in range(lists[LIST * child + BEGIN], lists[LIST * child + END]):
                                item = found[j]
                                number = text_post[item - text_first] if child_kind == TEXT else post[item - first]
                                if reached_post < number < earliest and _is_below(
                                    view, item, child_kind == TEXT, top, pool[c] & 1
                                ):
                                    earliest = number
                            is_held = earliest < 2**31
                            reached_post = earliest
                        if is_held:
                            found[kept] = top
                            kept += 1
                    used = kept
            lists[LIST * twig] = stamp
            lists[LIST * twig + BEGIN] = start
            lists[LIST * twig + END] = used
        witnesses[k] = -1
        witness = -1
        if steps:
            for i in range(lists[LIST * root + BEGIN], lists[LIST * root + END]):
                node = found[i]
                if (witness < 0 or node < witness) and _is_on_line(view, path, symbol_of, spine, steps, node):
                    witness = node
            if witness < 0:
                continue
        elif lists[LIST * root + BEGIN] == lists[LIST * root + END]:
            continue
        # And on, as long as there is only one way to go.
        twig = root
        while True:
            body = offsets[twig] + BODY + pool[offsets[twig] + TESTS]
            if offsets[twig + 1] - body != 1:
                break
            child, axis = pool[body] >> 1, pool[body] & 1
            is_text = pool[offsets[child] + FLAGS] & KIND == TEXT
            chosen = 2**31
            for i in range(lists[LIST * child + BEGIN], lists[LIST * child + END]):
                if found[i] < chosen and _is_below(view, found[i], is_text, witness, axis):
                    chosen = found[i]
            if is_text:
                witness = view.text_parent[chosen]
                break
            witness = chosen
            twig = child
        witnesses[k] = max(witness, first)
    memory.counter[0] = stamp
