"""When a query sequence lies in a data sequence, and the test of it on envelopes.

`SUBSEQUENCE` (BoXFilter, Theorem 1 and Lemma 2): positions j0 < j1 < ... of the data exist such that the box of every
query position i meets the data box at ji. Links are not used.

`LINE`: both sequences are leaf to root lines. Position 0 lies on position 0; a query position that is `adjacent` has
its successor at the very next data position, else at any later one; if the last query position is `adjacent`, it lies
on the last data position. The empty query lies in everything.

**Soundness of `fits` on envelopes.** Let query q of envelope Q lie in data d of envelope D, with position i of q at
position p(i) of d. For every mandatory position i of Q, q has position i and p(i) < |d| <= D.longest, and the boxes
meet because they cover boxes that meet. Where Q's links are adjacent, q's are, so p(i + 1) = p(i) + 1; where `Q.top`
is 1, |q| = Q.shortest and p(|q| - 1) = |d| - 1 lies in [D.shortest - 1, D.longest - 1]. So p restricted to the
mandatory positions solves the relaxed problem that `fits` decides, and `fits` decides it exactly:

**Exactness.** Adjacent links tie positions into chunks that lie on consecutive data positions; between chunks any gap
is allowed. Placing each chunk as early as possible leaves the most room for the next one, so if any placement exists
the earliest one does. The first chunk of a LINE (bound to position 0) and an anchored last chunk (bound to the end)
have no choice, and the latter takes no room that an earlier chunk could need. With single sequences on both sides
(`shortest == longest`) nothing was relaxed: the answer is exact.
"""

from enum import IntEnum

from winnow.arrays.kernel import kernel
from winnow.envelope.boxes import Boxes


class Relation(IntEnum):
    SUBSEQUENCE = 0
    LINE = 1


LINE = int(Relation.LINE)  # kernels compare plain integers


@kernel
def fits(query: Boxes, q: int, data: Boxes, d: int, relation: int) -> bool:
    """False only if no sequence of query envelope `q` lies in a sequence of data envelope `d` (section 4.2, Lemma 2).

    Two positions meet if their intervals have a common point.
    """
    asked = query.heads[q]
    given = data.heads[d]
    steps = asked.shortest
    fit = (asked.must & ~given.may) == 0 and steps <= given.longest
    first = 0
    at = 0
    while fit and first < steps:
        size = 1
        while first + size < steps and query.positions[asked.start + first + size - 1].adjacent:
            size += 1
        latest = given.longest - (steps - first)
        if first + size == steps and asked.top:
            at = max(at, given.shortest - size)
        if first == 0 and relation == LINE:
            latest = min(latest, 0)
        fit = False
        while at <= latest and not fit:
            fit = True
            i = asked.start + first
            j = given.start + at
            while fit and i < asked.start + first + size:
                a = query.positions[i]
                b = data.positions[j]
                fit = a.low <= b.high and b.low <= a.high
                i += 1
                j += 1
            at += 1
        at += size - 1
        first += size
    return bool(fit)
