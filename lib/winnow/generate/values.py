"""What stands in texts and attributes: words or numbers, some far more often than others (Zipf)."""

from bisect import bisect
from functools import lru_cache
from itertools import accumulate
from random import Random
from zlib import crc32

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@lru_cache(maxsize=4096)
def zipf(count: int, skew: float) -> tuple[float, ...]:
    """Cumulated weights of ranks: the k-th has weight 1 / k**skew; a skew of 0 is uniform.

    >>> zipf(3, 0.0), zipf(2, 1.0)
    ((1.0, 2.0, 3.0), (1.0, 1.5))
    """
    return tuple(accumulate(1 / (rank + 1) ** skew for rank in range(count)))


class Values:
    """A label has numbers or words, never both, and favourites of its own.

    There is no seed: documents and profiles that are made apart, from other seeds, have values in common.

    >>> values = Values()
    >>> values.draw("price", Random(1)) == Values().draw("price", Random(1))
    True
    """

    def __init__(self, *, distinct: int = 1000, skew: float = 1.0) -> None:
        r = Random("values")
        self._words = ["".join(r.choices(_LETTERS, k=r.randint(3, 9))) for _ in range(distinct)]
        self._numbers = [f"{r.randrange(100_000) / 100:g}" for _ in range(distinct)]
        self._weights = zipf(distinct, skew)
        self._codes: dict[str, int] = {}

    def draw(self, label: str, r: Random) -> str:
        code = self._codes.get(label)
        if code is None:
            code = self._codes[label] = crc32(label.encode())
        rank = bisect(self._weights, r.random() * self._weights[-1], hi=len(self._weights) - 1)
        return (self._words if code % 3 else self._numbers)[(rank + code) % len(self._weights)]
