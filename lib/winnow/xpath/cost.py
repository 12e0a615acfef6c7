"""How the work libxml2 has with an expression grows with the document: as which power of the number of nodes.

libxml2 evaluates a path step by step on a set of nodes, and a predicate once for each node it is asked about. There is
no safe way to stop it, so the power is bounded beforehand, by these rules (the powers were measured):

- Steps down (child, attribute, descendant, self) from *distinct* nodes visit each node once, up to the depth of the
  document, which is bounded. However deep predicates nest, going down only stays linear.
- After a step up (parent, ancestor), sideways (siblings), across (following, preceding), or back to the document (an
  absolute path, id()), different start nodes meet the same nodes again: from here on each start node pays for itself.
- From one node, such a step costs one power: all siblings, or all text below a parent. From a set of nodes, the
  duplicates that several of them reach are looked for one by one: two powers upwards, three sideways and across.
- Two node sets are compared or united pair by pair: the powers of their sizes add up.
- A set that is not in document order (after preceding axes or `|`) is sorted before its first node is taken, by walking
  from sibling to sibling: two powers.

`count(//*[count(//*[count(//*) > 0]) > 0])` is cubic; `//a[not(b[not(.//c)])]` is linear.
"""

from typing import NamedTuple

from winnow.xpath.ast import Call, Expr, Filter, Operation, Path, Step
from winnow.xpath.functions import Type, type_of

SIDEWAYS = frozenset({"following", "following-sibling", "preceding", "preceding-sibling"})
_UP = frozenset({"parent", "ancestor", "ancestor-or-self"})
_STAY = frozenset({"self", "attribute", "namespace"})  # no more nodes than before
_PAIRWISE = frozenset({"=", "!=", "<", "<=", ">", ">=", "|"})
_ARITHMETIC = frozenset({"+", "-", "*", "div", "mod", "neg"})
_WHOLE_SETS = frozenset({"count", "sum", "boolean", "not", "id"})  # every other function takes the first node


class _Context(NamedTuple):
    """n**rounds times, n**size distinct nodes for each of which an expression is evaluated."""

    rounds: int
    size: int

    @property
    def power(self) -> int:
        return self.rounds + self.size


class _Found(NamedTuple):
    """What was selected. Together: n**rounds times n**size distinct nodes, of all context nodes of a round. Apart:
    n**rounds context nodes, with n**size nodes each. `each` is the power of the nodes of one context node."""

    rounds: int
    size: int
    each: int
    apart: bool
    unsorted: bool = False


def degree(expr: Expr) -> tuple[int, int]:
    """The power for the whole expression, and the token where it is reached."""
    meter = _Meter()
    meter.expression(expr, _Context(0, 0))
    return meter.degree, meter.at


class _Meter:
    def __init__(self) -> None:
        self.degree = 0
        self.at = 0

    def pay(self, power: int, at: int) -> None:
        if power > self.degree:
            self.degree, self.at = power, at

    def expression(self, expr: Expr, context: _Context) -> _Found:
        """Pays for evaluating `expr` once for each context node."""
        match expr:
            case Path():
                return self._path(expr, context)
            case Filter():
                found = self.expression(expr.base, context)
                self._sorted(found, context, expr.at)
                for predicate in expr.predicates:
                    self.expression(predicate, _Context(found.rounds, found.size))
                return found
            case Operation():
                return self._operation(expr, context)
            case Call():
                for arg in expr.args:
                    found = self.expression(arg, context)
                    if expr.name not in _WHOLE_SETS:
                        self._sorted(found, context, arg.at)
                if expr.name == "id":
                    self.pay(context.power + 1, expr.at)
                    return _Found(context.power, 1, 1, True)
        return _Found(context.rounds, context.size, 0, False)

    def _operation(self, expr: Operation, context: _Context) -> _Found:
        found = [self.expression(operand, context) for operand in expr.operands]
        if expr.op in _ARITHMETIC:
            for nodes in found:
                self._sorted(nodes, context, expr.at)
        if expr.op in _PAIRWISE and all(type_of(operand) is Type.NODE_SET for operand in expr.operands):
            self.pay(context.power + _pairs(found[0], found[1], context), expr.at)
        return _Found(*map(max, zip(*found, strict=True)))._replace(unsorted=expr.op == "|")

    def _sorted(self, found: _Found, context: _Context, at: int) -> None:
        if found.unsorted and found.each:
            self.pay(context.power + 2, at)

    def _path(self, path: Path, context: _Context) -> _Found:
        found = _Found(context.rounds, context.size, 0, False)
        if path.absolute:
            found = _Found(context.power, 0, 0, True)
            self.pay(context.power + 1, path.at)  # its string-value alone is the whole document
        elif path.base is not None:
            found = self.expression(path.base, context)
        for step in path.steps:
            found = self._step(step, found, context)
        return found

    def _step(self, step: Step, found: _Found, context: _Context) -> _Found:
        if step.axis not in SIDEWAYS | _UP:
            if step.axis not in _STAY:
                found = found._replace(size=1, each=1)
            self.pay(found.rounds + found.size, step.at)
            asked = _Context(found.rounds, found.size)
        else:
            several = found.each
            sideways = step.axis in SIDEWAYS
            each = 1 if sideways else several
            found = _Found(context.power, each, each, True, found.unsorted or step.axis.startswith("preceding"))
            self.pay(found.rounds + 1 + several + (several and sideways), step.at)
            # Each node of a set brings candidates of its own, and predicates see all of them.
            asked = _Context(found.rounds + several, each)
        for predicate in step.predicates:
            self.expression(predicate, asked)
        return found


def _pairs(left: _Found, right: _Found, context: _Context) -> int:
    """The power of the pairs of one context node, on average: together, one side's nodes are spread over all."""
    powers = [left.each + right.each]
    if context.size and not left.apart:
        powers.append(right.each)
    if context.size and not right.apart:
        powers.append(left.each)
    return min(powers)
