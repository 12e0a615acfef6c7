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

from collections.abc import Mapping
from typing import NamedTuple

from winnow.xpath.ast import Call, Expr, Filter, Literal, Number, Operation, Path, Step
from winnow.xpath.effort import CONVERSION, DUPLICATE, OPERATION, PATH, VISIT, Effort, Tally, work
from winnow.xpath.functions import Type, type_of

SIDEWAYS = frozenset({"following", "following-sibling", "preceding", "preceding-sibling"})
_UP = frozenset({"parent", "ancestor", "ancestor-or-self"})
_STAY = frozenset({"self", "attribute", "namespace"})  # no more nodes than before
_FIRST = (Number("1", 0),)
_PAIRWISE = frozenset({"=", "!=", "<", "<=", ">", ">=", "|"})
_ARITHMETIC = frozenset({"+", "-", "*", "div", "mod", "neg"})
_DEEP = frozenset({"descendant", "descendant-or-self"})
_NAMES = frozenset({"name", "local-name", "namespace-uri"})
_COUNTING = frozenset({"count", "boolean", "not", "true", "false", "position", "last"})  # they look at no string-value
_NO_VALUES = frozenset({"or", "and", "|"})
_WHOLE_SETS = frozenset({"count", "sum", "boolean", "not", "id"})  # every other function takes the first node


class _Context(NamedTuple):
    """n**rounds times, n**size distinct nodes for each of which an expression is evaluated; the same node again for
    each of those around it, d**nested times."""

    rounds: int
    size: int
    nested: int = 0

    @property
    def power(self) -> int:
        return self.rounds + self.size

    def itself(self) -> "_Found":
        return _Found(self.rounds, self.size, 0, False, nested=self.nested, repeats=min(self.size, 1))

    def apart(self) -> "_Found":
        """One node for each, perhaps the same for all."""
        return _Found(self.power, 0, 0, True, nested=self.nested)


class _Found(NamedTuple):
    """What was selected. Together: n**rounds times n**size distinct nodes, of all context nodes of a round. Apart:
    n**rounds context nodes, with n**size nodes each. `each` is the power of the nodes of one context node."""

    rounds: int
    size: int
    each: int
    apart: bool
    unsorted: bool = False
    nested: int = 0  # as in the context
    repeats: int = 0  # 1 when they may be inside one another, so that text counts again for each


def degree(expr: Expr) -> tuple[int, int]:
    """The power for the whole expression, and the token where it is reached."""
    meter = _Meter(Tally())
    meter.expression(expr, _Context(0, 0))
    return meter.degree, meter.at


def effort(expr: Expr, namespaces: Mapping[str, str]) -> Effort:
    """What one evaluation may take; `namespaces` are those its prefixes are bound to."""
    tally = Tally(namespaces)
    _Meter(tally).expression(expr, _Context(0, 0))
    return tally.effort()


class _Meter:
    def __init__(self, tally: Tally) -> None:
        self.degree = 0
        self.at = 0
        self._tally = tally

    def pay(self, power: int, at: int, *, weight: float = VISIT, nested: int = 0) -> None:
        if power > self.degree:
            self.degree, self.at = power, at
        self._tally.add(weight, power, depth=nested)

    def expression(self, expr: Expr, context: _Context) -> _Found:
        """Pays for evaluating `expr` once for each context node."""
        match expr:
            case Path():
                self._each(PATH, context)
                return self._path(expr, context)
            case Filter():
                found = self.expression(expr.base, context)
                self._sorted(found, context, expr.at)
                for predicate in expr.predicates:
                    self.expression(predicate, _Context(found.rounds, found.size, found.nested))
                return found
            case Operation():
                self._each(OPERATION, context)
                return self._operation(expr, context)
            case Call():
                self._each(OPERATION, context)
                return self._call(expr, context)
            case Literal() | Number():
                self._each(OPERATION, context)
        return context.itself()

    def _each(self, weight: float, context: _Context) -> None:
        """For each evaluation."""
        self._tally.add(weight, context.power, depth=context.nested)

    def _call(self, call: Call, context: _Context) -> _Found:
        result = context.itself()
        for arg in call.args:
            found = self.expression(arg, context)
            if call.name not in _WHOLE_SETS:
                self._sorted(found, context, arg.at)
            elif call.name != "count" and found.unsorted and found.each:  # sorted all the same
                self._tally.add(VISIT, context.power + 2, depth=context.nested)
            if call.name in {"sum", "id"}:
                self._values(found, context, whole=True)
            elif call.name not in _COUNTING and type_of(arg) is Type.NODE_SET:
                self._values(found, context, whole=False)
            if found.apart:
                result = context.apart()
        if call.name in _NAMES or call.name == "lang":  # names may be long, and are not part of a node's text
            result = context.apart()
            self._tally.add(CONVERSION, context.power, depth=context.nested + (call.name == "lang"))
        if call.name not in _COUNTING:
            each, once, squared = work(call)
            self._each(each, context)
            self._bytes(result, once)
            self._bytes(result, squared, 2)
        if call.name == "id":
            self.pay(context.power + 1, call.at, nested=context.nested)
            self._tally.add(DUPLICATE, context.power + 2, depth=context.nested)
            return context.apart()._replace(size=1, each=1, repeats=1)
        return result

    def _operation(self, expr: Operation, context: _Context) -> _Found:
        found = [self.expression(operand, context) for operand in expr.operands]
        node_sets = [type_of(operand) is Type.NODE_SET for operand in expr.operands]
        if expr.op in _ARITHMETIC:
            for nodes in found:
                self._sorted(nodes, context, expr.at)
        if expr.op in _PAIRWISE and all(node_sets):
            power = context.power + _pairs(found[0], found[1], context)
            self.pay(power, expr.at, weight=DUPLICATE, nested=context.nested)
            # Strings that begin alike are compared to their ends; at most half of the nodes have text of their own.
            if expr.op != "|" and power:
                self._tally.add(0.5, power - 1, depth=context.nested + all(side.repeats for side in found), text=1)
        if expr.op not in _NO_VALUES:
            for nodes, is_set in zip(found, node_sets, strict=True):
                if is_set:
                    self._values(nodes, context, whole=expr.op in _PAIRWISE)
                else:
                    self._bytes(nodes, 1.0)
        return _Found(*map(max, zip(*found, strict=True)))._replace(unsorted=expr.op == "|")

    def _values(self, found: _Found, context: _Context, *, whole: bool) -> None:
        """For the string-values of a set of nodes, or of its first one."""
        nodes = found.rounds + found.size if whole else context.power
        self._tally.add(CONVERSION, nodes, depth=found.nested)
        self._bytes(found, 2.0)

    def _bytes(self, found: _Found, weight: float, text: int = 1) -> None:
        """For the characters of string-values: distinct nodes have those of the document, once for each level."""
        self._tally.add(weight, found.rounds, depth=found.nested + found.repeats, text=text)

    def _sorted(self, found: _Found, context: _Context, at: int) -> None:
        if found.unsorted and found.each:
            self.pay(context.power + 2, at, nested=context.nested)

    def _path(self, path: Path, context: _Context) -> _Found:
        found = context.itself()
        if path.absolute:
            found = context.apart()
            self.pay(context.power + 1, path.at, weight=0.0)  # its string-value alone is the whole document
        elif path.base is not None:
            found = self.expression(path.base, context)
        for step in path.steps:
            found = self._step(step, found, context)
        return found

    def _step(self, step: Step, found: _Found, context: _Context) -> _Found:
        comparing = self._tally.comparing(step.test)
        if step.axis not in SIDEWAYS | _UP:
            several, before = found.each, found
            nested = found.nested + (step.axis in _DEEP and found.size > 0)
            if step.axis not in _STAY:
                found = found._replace(size=1, each=1)
            if step.axis == "attribute" or (step.test.endswith(")") and step.test != "node()"):
                found = found._replace(repeats=0)  # they hold no other nodes
            elif step.axis in _DEEP:
                found = found._replace(repeats=1)
            self.pay(found.rounds + found.size, step.at, weight=comparing, nested=nested)
            if several and step.axis in _DEEP:
                self._tally.add(DUPLICATE, found.rounds + 2, depth=nested)
            if step.axis == "namespace":
                self._tally.add_bindings()
                self._tally.add(DUPLICATE, before.rounds + before.size + several, depth=nested)
                self._tally.add(4.0, before.rounds + before.size, depth=nested, text=1)
            asked = _Context(found.rounds, found.size, nested)
            # Without its duplicates, a node below is there once for each context node around it.
            found = found._replace(nested=min(nested, context.nested + (context.size > 0)))
        else:
            several = found.each
            sideways = step.axis in SIDEWAYS
            each = 1 if sideways else several
            unsorted = found.unsorted or step.axis.startswith("preceding")
            siblings = step.axis.endswith("-sibling") or step.axis == "parent"
            repeats = 0 if siblings and not several else 1
            found = _Found(context.power, each, each, True, unsorted, context.nested, repeats)
            power = found.rounds + 1 + several + (several and sideways)
            self.pay(power, step.at, weight=comparing, nested=context.nested)
            if step.axis.startswith("ancestor"):  # the nearest comes first, so that they are sorted
                self._tally.add(VISIT, context.power + several, depth=context.nested + 2)
            # Each node of a set brings candidates of its own, and predicates see all of them.
            asked = _Context(found.rounds + several, each, context.nested)
        for predicate in step.predicates:
            if not isinstance(predicate, Number):  # positions are counted, not evaluated
                self.expression(predicate, asked)
        if step.predicates[-1:] == _FIRST and not several:
            found = found._replace(each=0, size=0 if found.apart else found.size, unsorted=False)
        return found


def _pairs(left: _Found, right: _Found, context: _Context) -> int:
    """The power of the pairs of one context node, on average: together, one side's nodes are spread over all."""
    powers = [left.each + right.each]
    if context.size and not left.apart:
        powers.append(right.each)
    if context.size and not right.apart:
        powers.append(left.each)
    return min(powers)
