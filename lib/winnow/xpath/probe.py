"""A closer look at a path that may be slow: how many nodes are its predicates asked about?

`//a[@x = //b]` is bounded by the square of the nodes, but mostly there are a few `a`. They can be counted quickly, as
steps down without predicates are linear. Then the path takes as much as its beginning, and for each of these nodes its
predicates and all that follows.
"""

from typing import NamedTuple

from winnow.xpath.ast import Expr, Path, Step
from winnow.xpath.cost import effort
from winnow.xpath.effort import Effort, total

_DOWN = frozenset({"child", "attribute", "self", "descendant", "descendant-or-self"})
_DEEP = frozenset({"descendant", "descendant-or-self"})


class Probe(NamedTuple):
    beginning: Path  # its nodes are to be counted
    counting: Effort
    each: Effort  # for each of them


def probe(expr: Expr, namespaces: dict[str, str]) -> Probe | None:
    """None for what is not such a path.

    >>> from winnow.xpath.parser import parse
    >>> from winnow.xpath.printer import to_xpath
    >>> to_xpath(probe(parse("//a/b[not(../c)]/d").tree, {}).beginning)
    '//a/b'
    """
    if not isinstance(expr, Path) or expr.base is not None:
        return None
    place = next((k for k, step in enumerate(expr.steps) if step.predicates), None)
    if place is None:
        return None
    first, rest = expr.steps[: place + 1], expr.steps[place + 1 :]
    if not all(step.axis in _DOWN for step in first) or _deep(first) > 1 or _deep(rest):
        return None  # looking for duplicates would cost more than the nodes
    beginning = expr._replace(steps=(*first[:-1], first[-1]._replace(predicates=())))
    asked: list[Expr] = [*first[-1].predicates, *([Path(False, None, rest, expr.at)] if rest else [])]
    each = total(effort(part, namespaces) for part in asked)
    return Probe(beginning, effort(beginning, namespaces), each)


def _deep(steps: tuple[Step, ...]) -> int:
    return sum(step.axis in _DEEP for step in steps)
