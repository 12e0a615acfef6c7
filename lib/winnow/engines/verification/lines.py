"""Verification of patterns that are one line without tests: paths tell it, and a document has fewer paths than nodes.

The witness is the first node whose path the line fits. A line is flattened when its pattern is a candidate for the
first time; engines that decide lines by themselves never pay for them.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding import EncodedBatch
from winnow.encoding.simd import raw
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT, BODY, FIRST, FLAGS, KIND, SYMBOL, TESTS, TEXT, Twigs
from winnow.patterns.twigs import label_fits as fits

NO_LINE = -1  # in place of a start
OTHER = -2  # in place of a witness: the pattern is no line
ROW, ABOVE, LABEL, NODE, NEXT = 4, 0, 1, 2, 3  # of a path of the document
HEAD = 3  # numbers per symbol: the stamp, and the first and last of the document's paths that end with it


class Lines(NamedTuple):
    """Line p is `steps[start[p]:]`: their number, then the steps from the lower end up, as `2 * symbol + axis`."""

    start: Longs  # per pattern: 0 where it is not known yet
    steps: Ints


class Question(NamedTuple):
    pairs: Ints  # rows (document, pattern), ascending by document
    lines: Lines
    parents: Ints  # per path
    symbols: Ints  # signed, per path


class Memory(NamedTuple):
    """What outlives a call: entries count only under the stamp."""

    seen: Ints  # two numbers per path: the stamp, and the path's number within the document
    heads: Ints  # `HEAD` numbers per symbol
    counter: Longs  # [the last stamp given]


class LineTable:
    """The lines of those patterns that were asked for."""

    def __init__(self) -> None:
        self._start, self._steps = Column(np.int64), Column(np.int32)
        self._steps.resize(1, 0)

    def lines(self, twigs: Twigs, patterns: Ints) -> Lines:
        """Of these patterns at least."""
        self._start.resize(twigs.roots.size, 0)
        new = patterns[self._start.view[patterns] == 0]
        if new.size:
            new = new[np.sort(np.unique(new, return_index=True)[1])]  # asked for together, so stored together
            self._steps.extend(_flatten(twigs, new, len(self._steps), self._start.view))
        return Lines(self._start.view, self._steps.view)


@kernel
def _flatten(twigs: Twigs, patterns: Ints, base: int, start: Longs) -> Ints:
    """The steps of the lines among these patterns, as they follow the first `base` numbers."""
    pool, offsets = twigs.pool, twigs.offsets
    steps = np.empty(16 * patterns.size + 16, np.int32)
    used = 0
    for pattern in patterns:
        twig = twigs.roots[pattern]
        begin = used
        used += 1
        is_line = offsets[twig + 1] - offsets[twig] == BODY + 1
        while is_line and offsets[twig + 1] > offsets[twig] + BODY:
            child = pool[offsets[twig] + BODY]
            twig = child >> 1
            at = offsets[twig]
            size = offsets[twig + 1] - at
            is_line = size <= BODY + 1 and pool[at + TESTS] == 0 and pool[at + FLAGS] & FIRST == 0
            is_line = is_line and pool[at + FLAGS] & KIND != TEXT
            if used + 1 >= steps.size:
                grown = np.empty(2 * steps.size, np.int32)
                grown[:used] = steps[:used]
                steps = grown
            steps[used] = 2 * pool[at + SYMBOL] + (child & 1)
            used += 1
        if is_line:
            start[pattern] = base + begin
            steps[begin] = used - begin - 1
            steps[begin + 1 : used] = steps[begin + 1 : used][::-1].copy()
        else:
            start[pattern] = NO_LINE
            used = begin
        if used + 1 >= steps.size:
            grown = np.empty(2 * steps.size, np.int32)
            grown[:used] = steps[:used]
            steps = grown
    return steps[:used].copy()


@kernel
def verify_lines(batch: EncodedBatch, question: Question, memory: Memory, witnesses: Ints) -> None:
    """For each pair: write its witness, -1 when it does not hold, `OTHER` when the pattern is no line."""
    pairs, lines = question.pairs, question.lines
    parents, symbols, path = raw(question.parents), raw(question.symbols), raw(batch.path)
    seen, heads, steps, start = raw(memory.seen), raw(memory.heads), raw(lines.steps), raw(lines.start)
    doc_offsets = raw(batch.doc_offsets)
    longest = 0
    for k in range(pairs.shape[0]):
        longest = max(longest, doc_offsets[pairs[k, 0] + 1] - doc_offsets[pairs[k, 0]])
    # Of the document's distinct paths, numbered from 1 in document order; 0 is the document itself.
    local = np.zeros(ROW * (longest + 1), np.int32)
    count = 1
    document = -1
    stamp = memory.counter[0]
    for k in range(pairs.shape[0]):
        begin = start[pairs[k, 1]]
        if begin == NO_LINE:
            witnesses[k] = OTHER
            continue
        if pairs[k, 0] != document:
            document = pairs[k, 0]
            stamp += 1
            count = 1
            for node in range(doc_offsets[document], doc_offsets[document + 1]):
                here = path[node]
                if seen[2 * here] != stamp:
                    seen[2 * here] = stamp
                    seen[2 * here + 1] = count
                    symbol = symbols[here]
                    above = parents[here]
                    local[ROW * count + ABOVE] = seen[2 * above + 1] if above > 0 else 0
                    local[ROW * count + LABEL] = symbol
                    local[ROW * count + NODE] = node
                    local[ROW * count + NEXT] = 0
                    head = HEAD * abs(symbol)
                    if heads[head] == stamp:
                        local[ROW * heads[head + 2] + NEXT] = count
                    else:
                        heads[head] = stamp
                        heads[head + 1] = count
                    heads[head + 2] = count
                    count += 1
        top = begin + steps[begin]
        wanted = steps[begin + 1] >> 1
        is_wild = wanted in (ANY_ELEMENT, ANY_ATTRIBUTE)
        at = 0
        if is_wild:
            at = 1 if count > 1 else 0
        elif heads[HEAD * abs(wanted)] == stamp:
            at = heads[HEAD * abs(wanted) + 1]
        witness = -1
        while at and witness < 0:
            if fits(wanted, local[ROW * at + LABEL]):
                # Upwards, each step as low as possible; when that fails, the last gap is tried one step higher (see
                # `view.is_on_line`).
                step, asked = begin + 1, steps[begin + 1]
                above = local[ROW * at + ABOVE]
                gap, gap_above = step, above if asked & 1 else 0
                while True:
                    if step == top:
                        if steps[step] & 1 or above == 0:
                            witness = local[ROW * at + NODE]
                            break
                    elif above:
                        asked = steps[step + 1]
                        if asked >> 1 == local[ROW * above + LABEL] or asked >> 1 == ANY_ELEMENT:  # it is an element
                            step += 1
                            above = local[ROW * above + ABOVE]
                            if asked & 1:
                                gap, gap_above = step, above
                            continue
                    gap_above = local[ROW * gap_above + ABOVE] if gap_above else 0
                    if gap_above == 0:
                        break
                    step, above = gap, gap_above
            at = local[ROW * at + NEXT] if not is_wild else at + 1 if at + 1 < count else 0
        witnesses[k] = witness
    memory.counter[0] = stamp
