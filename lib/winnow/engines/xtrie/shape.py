"""What the shape of a twig says about its substrings (Chan et al., ICDE 2002, §3.1)."""

from winnow.arrays.kernel import inlined
from winnow.arrays.types import Ints
from winnow.patterns.twigs import ANY_ELEMENT, ATTRIBUTE, BODY, ELEMENT, FLAGS, KIND, ORDERED, SYMBOL, TESTS, Twigs


@inlined
def is_wild(pool: Ints, at: int) -> bool:
    return bool(pool[at + SYMBOL] == ANY_ELEMENT)


@inlined
def forks(twigs: Twigs, twig: int) -> bool:
    """There are several ways down from the document before the first label."""
    pool, offsets = twigs.pool, twigs.offsets
    while True:
        body, stop = offsets[twig] + BODY + pool[offsets[twig] + TESTS], offsets[twig + 1]
        if stop - body != 1 or not is_wild(pool, offsets[pool[body] >> 1]):
            return bool(stop - body > 1)
        twig = pool[body] >> 1


@inlined
def continues(twigs: Twigs, child: int) -> bool:
    """The child step leads on to a label, without a gap."""
    return child & 1 == 0 and not is_wild(twigs.pool, twigs.offsets[child >> 1])


@inlined
def keeps_order(twigs: Twigs, twig: int) -> bool:
    pool, offsets = twigs.pool, twigs.offsets
    at = offsets[twig]
    is_kept = pool[at + FLAGS] & ORDERED != 0 and not is_wild(pool, at)
    for c in range(at + BODY + pool[at + TESTS], offsets[twig + 1]):
        below = offsets[pool[c] >> 1]
        kind = pool[below + FLAGS] & KIND
        is_kept = is_kept and (kind == ATTRIBUTE or (kind == ELEMENT and not is_wild(pool, below)))
    return is_kept
