"""What an expectation has found."""

from typing import NamedTuple

EXAMPLES = 5


class Finding(NamedTuple):
    """A number, how many rows are not as they should be, and a few of them in words; the number is None where the
    question does not arise.
    """

    observed: float | None
    unexpected: int = 0
    examples: tuple[str, ...] = ()


def counted(unexpected: int, examples: tuple[str, ...] = ()) -> Finding:
    """Returns the finding of an expectation that nothing of a kind is there.

    >>> counted(2, ("a", "b"))
    Finding(observed=2.0, unexpected=2, examples=('a', 'b'))
    """
    return Finding(float(unexpected), unexpected, examples)
