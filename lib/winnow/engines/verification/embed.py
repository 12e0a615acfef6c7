"""The verification kernel: does a pattern hold in a document? Exact for every pattern, whatever proposed the pair.

For each twig the kernel finds the list of all document nodes that satisfy it but for its own tests, children first. A
list is made from the lists of the children, by going up from their nodes: to the parent for a child step, to all
ancestors for a descendant step. A node is in the list when it was reached from every child's list. Tests are applied by
who uses a list, when nothing else is left to ask. No embedding is enumerated, so the cost is bounded by (twigs of the
pattern) × (nodes of the document) × depth, for hostile patterns and documents, too.

Twigs are shared by patterns, so lists are kept until the next document: a subtree is looked at once per document.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding import EncodedBatch
from winnow.encoding.simd import raw
from winnow.engines.verification.order import number_nodes
from winnow.engines.verification.view import Store, View, is_below, is_on_line, passes, spot_of
from winnow.patterns.twigs import (
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
    Tests,
    Twigs,
    label_fits,
)

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
    store = Store(pool, offsets, tests)
    lists, heads = raw(memory.lists), raw(memory.heads)
    roots = raw(twigs.roots)
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
        path,
        symbol_of,
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
        root = roots[pairs[k, 1]]
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
                        if is_below(view, found[i], is_text, -1, pool[c] & 1):
                            any_passes = passes(view, store, child_at, found[i])
                            if any_passes or pool[child_at + FLAGS] & FIRST:
                                break
                    is_held = is_held and any_passes
                if is_held:
                    found[used] = -1
                    used += 1
            elif kind == TEXT:
                for text in range(text_first, text_last):
                    found[used] = text
                    used += 1
            elif body == stop:
                if wanted in (ANY_ELEMENT, ANY_ATTRIBUTE):
                    for node in range(first, last):
                        if label_fits(wanted, symbol_of[path[node]]):
                            found[used] = node
                            used += 1
                else:
                    head = HEAD * abs(wanted)
                    node = heads[head + NODE] if heads[head] == stamp else -1
                    while node >= 0:
                        found[used] = node
                        used += 1
                        node = following[node - first]
            else:
                # Marks count up: a node that was reached from n lists has `mark + n`. Children with tests come last, so
                # that values are looked at only below nodes that everything else has led to.
                mark = next_mark
                next_mark += stop - body + 1
                reached = mark
                for position in range(2 * (stop - body)):
                    c = body + position % (stop - body)
                    child = pool[c] >> 1
                    child_at = offsets[child]
                    if (pool[child_at + TESTS] > 0) != (position >= stop - body):
                        continue
                    is_text = pool[child_at + FLAGS] & KIND == TEXT
                    only_first = pool[child_at + FLAGS] & FIRST != 0
                    for i in range(lists[LIST * child + BEGIN], lists[LIST * child + END]):
                        spot = spot_of(view, found[i], is_text)
                        is_tried, is_passing = pool[child_at + TESTS] == 0, True
                        while spot >= 0:
                            here = spot - first
                            # Reached from this list before: then all its ancestors were, too.
                            if only_first:
                                if seen[here] == reached + 1:
                                    break
                                seen[here] = reached + 1
                            elif marks[here] == reached + 1:
                                break
                            if marks[here] == reached if reached > mark else label_fits(wanted, symbol_of[path[spot]]):
                                if not is_tried:
                                    is_tried, is_passing = True, passes(view, store, child_at, found[i])
                                if is_passing:
                                    marks[here] = reached + 1
                                    if reached + 1 == mark + stop - body:
                                        found[used] = spot
                                        used += 1
                            if pool[c] & 1 == 0 or not (is_passing or only_first):
                                break
                            spot = view.parent[spot]
                    reached += 1
                if pool[at + FLAGS] & FIRST:
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
                                if (
                                    reached_post < number < earliest
                                    and is_below(view, item, child_kind == TEXT, top, pool[c] & 1)
                                    and passes(view, store, offsets[child], item)
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
        witness = -1
        for i in range(lists[LIST * root + BEGIN], lists[LIST * root + END]):
            node = max(found[i], first)  # the list of a document node is -1; its witness is the root element
            if (
                (witness < 0 or node < witness)
                and (steps == 0 or is_on_line(view, spine, steps, node))
                and passes(view, store, offsets[root], node)
            ):
                witness = node
        witnesses[k] = witness
    memory.counter[0] = stamp
