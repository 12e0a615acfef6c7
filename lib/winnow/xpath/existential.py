"""Rewrites an expression whose truth is all that matters, so that libxml2 need not collect nodes.

`//a/following-sibling::b` selects nodes, finds duplicates one by one, and is cubic in the number of siblings. As a
truth value it is the same as `//a[following-sibling::b[1]]`, which stops at the first `b` it finds. The `[1]` is for
`not()` and other functions: libxml2 sorts what they are given, walking from sibling to sibling. And a predicate that is
the same for every node, as in `//a[//b]`, is asked once: `//b and //a`.
"""

from winnow.xpath.ast import Call, Expr, Filter, Number, Operation, Path, Step
from winnow.xpath.constants import constant
from winnow.xpath.cost import SIDEWAYS
from winnow.xpath.functions import Type, type_of
from winnow.xpath.values import FLIPPED

_CONSTANT_CALLS = frozenset({"true", "false"})
_CONTEXT_CALLS = frozenset({"lang", "id"})  # they look at the context node though they have an argument


def existential(expr: Expr) -> Expr:
    """An expression that converts to the same boolean."""
    match expr:
        case Path():
            path, everywhere = _hoist(_inner_path(expr))
            found = _split(path, None)
            return Operation("and", (*everywhere, found), expr.at) if everywhere else found
        case Operation("or" | "and" | "|"):
            return Operation("and" if expr.op == "and" else "or", tuple(map(existential, expr.operands)), expr.at)
        case Call("not" | "boolean"):
            return expr._replace(args=tuple(map(existential, expr.args)))
        case Operation() if expr.op in FLIPPED:
            return _comparison(expr)
        case _:
            return _inner(expr)


def _hoist(path: Path) -> tuple[Path, tuple[Expr, ...]]:
    """The path without the predicates that do not depend on the node, and these: false ones leave nothing to select."""
    steps: list[Step] = []
    everywhere: list[Expr] = []
    for step in path.steps:
        free = [p for p in step.predicates if type_of(p) is not Type.NUMBER and _is_context_free(p)]
        everywhere += free
        rest = tuple(p for p in step.predicates if p not in free) if free else step.predicates
        steps.append(step._replace(predicates=rest))
    return (path._replace(steps=tuple(steps)), tuple(everywhere)) if everywhere else (path, ())


def _is_context_free(expr: Expr) -> bool:
    """It has the same value at every node: it starts from the document node, and asks for no position or own value."""
    match expr:
        case Path():
            return expr.absolute or (expr.base is not None and _is_context_free(expr.base))
        case Filter():
            return _is_context_free(expr.base)
        case Operation():
            return all(map(_is_context_free, expr.operands))
        case Call():
            return expr.name in _CONSTANT_CALLS or (
                bool(expr.args) and expr.name not in _CONTEXT_CALLS and all(map(_is_context_free, expr.args))
            )
        case _:
            return True


def _comparison(expr: Operation) -> Expr:
    """A node set and a constant: some node must compare so, and that can be asked further down the path."""
    left, right = expr.operands
    op = expr.op
    if constant(left) is not None:
        left, right, op = right, left, FLIPPED[op]
    if isinstance(left, Path) and constant(right) is not None and type_of(right) is not Type.BOOLEAN:
        path = _inner_path(left)
        return _split(path, Operation(op, (path, right), expr.at))
    return _inner(expr)


def _inner(expr: Expr) -> Expr:
    """The same value, with predicates inside rewritten."""
    match expr:
        case Path():
            return _inner_path(expr)
        case Filter():
            return expr._replace(base=_inner(expr.base), predicates=tuple(map(_predicate, expr.predicates)))
        case Operation():
            return expr._replace(operands=tuple(map(_inner, expr.operands)))
        case Call():
            return expr._replace(args=tuple(map(_inner, expr.args)))
        case _:
            return expr


def _inner_path(path: Path) -> Path:
    base = None if path.base is None else _inner(path.base)
    return path._replace(base=base, steps=tuple(map(_step, path.steps)))


def _step(step: Step) -> Step:
    return step._replace(predicates=tuple(map(_predicate, step.predicates))) if step.predicates else step


def _predicate(expr: Expr) -> Expr:
    """A number is a position, not a truth value."""
    return _inner(expr) if type_of(expr) is Type.NUMBER else existential(expr)


def _split(path: Path, compared: Operation | None) -> Expr:
    """From the last step sideways to the first, it and what follows becomes a predicate of what precedes."""
    found: Expr = path
    for i in range(len(path.steps) - 1, -1, -1):
        if path.steps[i].axis not in SIDEWAYS or (i == 0 and path.base is None):
            continue
        rest = _nearest(path.steps[i:], compared)
        compared = None
        if i == 0 and path.base is not None:
            return Filter(path.base, (rest,), path.at)
        before = path.steps[i - 1]
        path = path._replace(steps=(*path.steps[: i - 1], before._replace(predicates=(*before.predicates, rest))))
        found = path
    if not path.absolute and path.base is None and path.steps[0].axis in SIDEWAYS:
        return _nearest(path.steps, compared)
    return found if compared is None else compared._replace(operands=(found, compared.operands[1]))


def _nearest(steps: tuple[Step, ...], compared: Operation | None) -> Path:
    """A step sideways, with all that is asked of what follows as predicates, and no more than its first node."""
    first, at = steps[0], steps[0].at
    rest: tuple[Expr, ...] = (Path(False, None, steps[1:], at),) if steps[1:] else ()
    if compared is not None:
        left = rest[0] if rest else Path(False, None, (Step("self", "node()", (), at),), at)
        rest = (compared._replace(operands=(left, compared.operands[1])),)
    return Path(False, None, (first._replace(predicates=(*first.predicates, *rest, Number("1", at))),), at)
