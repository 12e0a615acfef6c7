"""String functions as conditions on nodes.

A node set becomes a string by its first node in document order, or '' when it is empty (§4.2). That is exact for the
context node, a named attribute, and one step down (`Node.first`); for longer paths "some node passes" is certain.
"""

from typing import TYPE_CHECKING

from winnow.xpath.ast import Call, Expr, Path, Step
from winnow.xpath.conditions import ALWAYS, Alt, Alts
from winnow.xpath.constants import constant
from winnow.xpath.functions import Type, type_of
from winnow.xpath.pattern import Kind, Op, Test
from winnow.xpath.values import STRING_OPS, holds

if TYPE_CHECKING:
    from winnow.xpath.normalise import Normaliser

# Functions whose result is a piece of their first argument.
_PIECES = frozenset({"substring", "substring-before", "substring-after"})
# Functions whose result is empty when their first argument is.
_SHRINKING = _PIECES | {"normalize-space", "translate", "name", "local-name", "namespace-uri"}


def context_node(at: int) -> Path:
    """What a missing argument stands for."""
    return Path(False, None, (Step("self", "node()", (), at),), at)


def substring_test(n: "Normaliser", call: Call) -> Alts:
    """contains() and starts-with()."""
    where, what = call.args
    needle = constant(what)
    if needle == "":
        return ALWAYS
    if not isinstance(needle, str):
        n.because("function", call.at)
        return ALWAYS
    nodes = as_nodes(where)
    if nodes is not None:
        return first_node(n, nodes, Test(Op.CONTAINS if call.name == "contains" else Op.STARTS_WITH, needle), call.at)
    n.because("function", call.at)
    return holding(n, where, (needle,))


def as_nodes(expr: Expr) -> Expr | None:
    """The node set whose first node gives this string."""
    if type_of(expr) is Type.NODE_SET:
        return expr
    if type(expr) is Call and expr.name == "string":
        return as_nodes(expr.args[0]) if expr.args else context_node(expr.at)
    return None


def string_compared(n: "Normaliser", left: Expr, op: str, value: str) -> Alts:
    nodes = as_nodes(left)
    if nodes is not None:
        return first_node(n, nodes, Test(STRING_OPS[op], value), left.at)
    n.because("function", left.at)
    if op == "=":
        return n.both(nonempty(n, left), holding(n, left, (value,)), left.at) if value else ALWAYS
    return ALWAYS if value else nonempty(n, left)


def nonempty(n: "Normaliser", expr: Expr) -> Alts:
    nodes = as_nodes(expr)
    if nodes is not None:
        return first_node(n, nodes, Test(Op.NE, ""), expr.at)
    value = constant(expr)
    if value is not None or type_of(expr) is not Type.STRING:
        return ALWAYS if value != "" else ()
    n.because("function", expr.at)
    if type(expr) is Call and expr.name in _SHRINKING:
        source = expr.args[0] if expr.args else context_node(expr.at)
        if expr.name in {"name", "local-name", "namespace-uri"}:
            return n.nodes(source, ALWAYS)
        return nonempty(n, source)
    return ALWAYS


def holding(n: "Normaliser", expr: Expr, texts: tuple[str, ...]) -> Alts:
    """The string holds all these texts; traced back to the nodes it is made from as far as that is certain."""
    if not texts:
        return ALWAYS
    if type_of(expr) is Type.NODE_SET:
        return n.nodes(expr, (Alt(tests=tuple(Test(Op.CONTAINS, text) for text in texts)),))
    if type(expr) is not Call:
        return ALWAYS
    source = expr.args[0] if expr.args else context_node(expr.at)
    if expr.name == "normalize-space":
        # White space may have been put together, so only the words are certain.
        return holding(n, source, tuple(dict.fromkeys(word for text in texts for word in text.split())))
    return holding(n, source, texts) if expr.name in _PIECES or expr.name == "string" else ALWAYS


def first_node(n: "Normaliser", nodes: Expr, test: Test, at: int) -> Alts:
    """The first node of the set passes; with an empty set, the empty string does."""
    tested: Alts = (Alt(tests=(test,)),)
    path = simple_path(nodes)
    if path is not None and not path.steps and not path.absolute:
        return tested
    if holds(test, ""):
        n.because("first_node", at)
        return ALWAYS
    exact = None if path is None else _first_by_path(n, path, test)
    if exact is not None:
        return exact
    n.because("first_node", at)
    return n.nodes(nodes, tested)


def simple_path(expr: Expr) -> Path | None:
    """A path without `.` steps; None for anything but a path from the context or document node."""
    if type(expr) is not Path or expr.base is not None:
        return None
    return expr._replace(steps=tuple(step for step in expr.steps if step[:3] != ("self", "node()", ())))


def _first_by_path(n: "Normaliser", path: Path, test: Test) -> Alts | None:
    """Exact when at most one node stands before the last step: the context node, a parent, the root element."""
    if not path.steps:
        return n.nodes(path, (Alt(tests=(test,)),))
    *before, last = path.steps
    last_steps: tuple[Step, ...] = (last,)
    if before and before[-1][:3] == ("descendant-or-self", "node()", ()) and last.axis == "child":
        last_steps = (before.pop(), last)
    if not all(_single(step, path.absolute and i == 0) for i, step in enumerate(before)):
        return None
    if any(type_of(predicate) is Type.NUMBER for step in (*before, last) for predicate in step.predicates):
        return None
    noted = dict(n.noted)
    alts = _first_below(n, last_steps, test)
    if alts is None or n.noted != noted:
        n.noted = noted
        return None
    return n.nodes(Path(path.absolute, None, tuple(before), path.at), alts)


def _single(step: Step, from_document: bool) -> bool:
    """The step leads to one node at most."""
    return step.axis in {"self", "parent"} or (from_document and step.axis == "child" and step.test[-1] != ")")


def _first_below(n: "Normaliser", steps: tuple[Step, ...], test: Test) -> Alts | None:
    last = steps[-1]
    if _single(last, False) or (last.axis == "attribute" and last.test != "*" and last.test[-1] != ")"):
        return n.steps(steps, (Alt(tests=(test,)),))
    # Bare wildcards are rewritten on the way, so the node at hand might not be the one that was selected.
    if last.axis != "child" or last.test == "node()" or (last.test == "*" and len(steps) > 1):
        return None
    alts = n.steps(steps, ALWAYS)
    if len(alts) != 1 or len(alts[0].nodes) != 1:
        return None
    (node,) = alts[0].nodes
    # Predicates that test the same node would have to hold before it is known to be the first.
    if node.tests or node.kind is Kind.ATTRIBUTE or alts[0]._replace(nodes=(), root=()) != Alt():
        return None
    if n.ordered:
        raise n.not_ordered("only the first node of the set counts", last.at)
    return (alts[0]._replace(nodes=(node._replace(tests=(test,), first=True),)),)
