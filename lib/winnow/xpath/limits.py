"""The limits of a profile, as data: a profile is input from strangers, and every one of these bounds some cost."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Each limit has its own rejection code, `<name>_limit` (`alternatives` makes a profile hybrid instead)."""

    length: int = 8192  # characters
    steps: int = 128  # location steps in the whole expression; bounds the depth of patterns, too
    predicates: int = 128
    nesting: int = 32  # brackets, parentheses, calls and signs within each other; keeps every walk over a tree shallow
    alternatives: int = 64  # patterns after `or` and `|` are multiplied out
    cost: int = 2  # degree, in document size, of the work libxml2 may have with a hybrid profile (see cost.py)


DEFAULT_LIMITS = Limits()
