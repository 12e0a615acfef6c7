"""Syntax tree to alternatives: exact where the pattern language can say it, a sound relaxation where it cannot.

`truth` gives the conditions under which an expression is true at the context node, `nodes` those under which it selects
a node that meets further conditions. Wherever something is left out, a reason is noted: no reasons, exact answer.
"""

from collections.abc import Callable, Mapping
from sys import intern

from winnow.xpath import comparisons, strings
from winnow.xpath.ast import Call, Expr, Filter, Operation, Path, Step
from winnow.xpath.canonical import element
from winnow.xpath.conditions import ALWAYS, NEVER, Algebra, Alt, Alts, TooManyError
from winnow.xpath.constants import as_boolean, constant
from winnow.xpath.functions import Type, type_of
from winnow.xpath.limits import Limits
from winnow.xpath.pattern import Axis, Kind, Node
from winnow.xpath.reasons import MESSAGES, Reason
from winnow.xpath.rejected import Rejected
from winnow.xpath.tokens import column
from winnow.xpath.values import NUMBER_OPS

NodeKind = Kind | None  # None: node(), any kind


class Normaliser:
    __slots__ = ("algebra", "depth", "namespaces", "noted", "ordered", "text")

    def __init__(self, text: str, namespaces: Mapping[str, str], limits: Limits, ordered: bool) -> None:
        self.text = text
        self.namespaces = namespaces
        self.algebra = Algebra(limits.alternatives, ordered)
        self.ordered = ordered
        self.depth = 0  # of predicates
        self.noted: dict[tuple[str, int], None] = {}

    def because(self, code: str, at: int) -> None:
        """Notes that from here on the alternatives are a relaxation."""
        if self.ordered:
            raise self.not_ordered(MESSAGES[code], at)
        self.noted[code, at] = None

    def not_ordered(self, why: str, at: int) -> Rejected:
        return Rejected("not_ordered", f"an ordered profile cannot hold this: {why}", column=column(self.text, at))

    def reasons(self) -> tuple[Reason, ...]:
        found = {Reason(code, column(self.text, at), MESSAGES[code]) for code, at in self.noted}
        return tuple(sorted(found, key=lambda reason: (reason.column, reason.code)))

    # -- truth

    def truth(self, expr: Expr, wanted: bool = True) -> Alts:
        """When `expr`, converted to a boolean, is `wanted`."""
        if type(expr) is Path:
            return self.nodes(expr, ALWAYS) if wanted else self.negated(lambda: self.nodes(expr, ALWAYS), expr.at)
        known = constant(expr)
        if known is not None:
            return ALWAYS if as_boolean(known) is wanted else NEVER
        match expr:
            case Operation("or" | "and"):
                return self._junction(expr, wanted)
            case Call("not"):
                return self.truth(expr.args[0], not wanted)
            case Call("boolean"):
                return self.truth(expr.args[0], wanted)
            case Operation() if expr.op in NUMBER_OPS:
                return comparisons.comparison(self, expr, wanted)
        return self._positive(expr) if wanted else self.negated(lambda: self._positive(expr), expr.at)

    def _positive(self, expr: Expr) -> Alts:
        if type(expr) is Call and expr.name in {"contains", "starts-with"}:
            return strings.substring_test(self, expr)
        match type_of(expr):
            case Type.NODE_SET:
                return self.nodes(expr, ALWAYS)
            case Type.STRING:
                return strings.nonempty(self, expr)
            case Type.NUMBER:
                return comparisons.number_compared(self, expr, "!=", 0.0, nan_differs=False)
            case Type.BOOLEAN:
                self.because("function", expr.at)
                return ALWAYS

    def negated(self, positive: Callable[[], Alts], at: int) -> Alts:
        """Absence is not in the pattern language; only a constant can be turned round."""
        before = dict(self.noted)
        alts = positive()
        if alts == ALWAYS and self.noted == before:
            return NEVER
        self.noted = before
        if alts:
            self.because("not", at)
        return ALWAYS

    def _junction(self, expr: Operation, wanted: bool) -> Alts:
        if (expr.op == "and") is wanted:
            alts = ALWAYS
            for operand in expr.operands:
                alts = self.both(alts, self.truth(operand, wanted), operand.at)
            return alts
        alts = NEVER
        for operand in expr.operands:
            alts = self.either(alts, self.truth(operand, wanted), operand.at)
        return alts

    def both(self, one: Alts, two: Alts, at: int) -> Alts:
        try:
            return self.algebra.both(one, two)
        except TooManyError:
            self.because("alternatives", at)
            return min(one, two, key=len)

    def either(self, one: Alts, two: Alts, at: int) -> Alts:
        try:
            return self.algebra.either(one, two)
        except TooManyError:
            self.because("alternatives", at)
            return ALWAYS

    # -- node sets

    def nodes(self, expr: Expr, alts: Alts) -> Alts:
        """When `expr` selects a node that meets one of `alts`."""
        if type(expr) is Path:
            alts = self.steps(expr.steps, alts)
            if expr.absolute:
                if self.ordered and self.depth:
                    raise self.not_ordered("a path from the document node inside a predicate", expr.at)
                return self.algebra.at_document(alts)
            return alts if expr.base is None else self.nodes(expr.base, alts)
        match expr:
            case Filter():
                return self.nodes(expr.base, self.filtered(expr.predicates, alts))
            case Operation():
                found = NEVER
                for operand in expr.operands:
                    found = self.either(found, self.nodes(operand, alts), operand.at)
                return found
            case _:  # id() selects elements of the document
                self.because("function", expr.at)
                return self.anywhere(Kind.ELEMENT, None, alts)

    def filtered(self, predicates: tuple[Expr, ...], alts: Alts) -> Alts:
        """`alts` of a node that also passes the predicates.

        A node that comes through passes each of them, whatever positions the others count; so a positional one may be
        left out, and the rest is still certain.
        """
        self.depth += 1
        found = ALWAYS
        for i, predicate in enumerate(predicates):
            if type_of(predicate) is Type.NUMBER:
                number = constant(predicate)
                if isinstance(number, float) and not (number >= 1 and number.is_integer()):
                    found = NEVER
                # The first or last of some nodes exists when any of them does.
                ends = number == 1 or (type(predicate) is Call and predicate.name == "last")
                if not (ends and i == len(predicates) - 1 and alts == ALWAYS):
                    self.because("position", predicate.at)
            else:
                found = self.both(found, self.truth(predicate), predicate.at)
        self.depth -= 1
        return self.both(found, alts, predicates[0].at)

    def steps(self, steps: tuple[Step, ...], alts: Alts) -> Alts:
        i = len(steps) - 1
        while i >= 0:
            step = steps[i]
            if step.predicates:
                alts = self.filtered(step.predicates, alts)
            if len(alts) == 1 and _is_named_child(step) and _is_one_step(alts[0]):
                # The common case, worth its own lines: named steps, and nothing but one step after each.
                nodes = alts[0].nodes
                while True:
                    i -= 1
                    axis = Axis.CHILD
                    if i >= 0 and is_anywhere(steps[i]):
                        axis = Axis.DESCENDANT
                        i -= 1
                    nodes = (Node(axis, Kind.ELEMENT, self.label(step), (), nodes),)
                    step = steps[i]
                    if i < 0 or step.predicates or not _is_named_child(step):
                        break
                alts = (Alt(None, None, (), nodes, alts[0].root),)
                continue
            i -= 1
            try:
                if step.axis == "child" and i >= 0 and is_anywhere(steps[i]) and step.test != "node()":
                    alts = self._step("descendant", step, alts)
                    i -= 1
                else:
                    alts = self._step(step.axis, step, alts)
            except TooManyError:
                self.because("alternatives", step.at)
                return ALWAYS
        return alts

    def from_document(self, alts: Alts) -> Alts:
        """Conditions on the root element, the context node of a profile, as conditions from the document node."""
        try:
            return self.algebra.at_root_element(alts)
        except TooManyError:
            self.because("alternatives", 0)
            return self.algebra.at_root_element(forgetful(alts))

    def _step(self, axis: str, step: Step, alts: Alts) -> Alts:
        """One step back: conditions on the node reached become conditions on the node it is reached from."""
        algebra = self.algebra
        test = step.test
        if axis == "attribute":
            return self._attribute(step, alts)
        if test[-1] != ")":
            kind: NodeKind = Kind.ELEMENT
            label = self.label(step)
        elif test == "text()":
            kind, label = Kind.TEXT, None
        elif test == "node()":
            kind, label = None, None
        else:
            return self._unindexed(step, alts)
        match axis:
            case "child":
                return self.below(algebra.child, kind, label, alts, step.at)
            case "descendant":
                return self.below(algebra.descendant, kind, label, alts, step.at)
            case "descendant-or-self":
                if kind is None:
                    return self._descendant_or_self_node(alts, step.at)
                found = self.below(algebra.descendant, kind, label, alts, step.at)
                return algebra.either(algebra.both((Alt(kind, label),), alts), found)
            case "self":
                return alts if kind is None else algebra.both((Alt(kind, label),), alts)
            case "parent" | "ancestor" | "ancestor-or-self":
                return self._upwards(axis, kind, label, alts, step.at)
            case "following-sibling" | "preceding-sibling":
                self.because("axis", step.at)
                return tuple(Alt(up=alt) for alt in self.below(algebra.child, kind, label, alts, step.at))
            case "following" | "preceding":
                self.because("axis", step.at)
                return self.anywhere(kind, label, alts)
            case _:
                self.because("axis", step.at)
                return rooted(alts)

    def label(self, step: Step) -> str | None:
        name = step.test
        prefix, colon, local = name.partition(":")
        if not colon:
            return None if name == "*" else intern(name)
        if local == "*":
            self.because("namespace_wildcard", step.at)
            return None
        return intern(f"{{{self.namespaces[prefix]}}}{local}")

    def _attribute(self, step: Step, alts: Alts) -> Alts:
        if step.test[-1] == ")":
            return self.algebra.child(Kind.ATTRIBUTE, None, alts) if step.test == "node()" else NEVER
        return self.algebra.child(Kind.ATTRIBUTE, self.label(step), alts)

    def _unindexed(self, step: Step, alts: Alts) -> Alts:
        """comment() and processing-instruction(): nodes without children, of which the index knows nothing."""
        self.because("node_test", step.at)
        if step.axis == "self":
            return alts
        return rooted(tuple(alt for alt in alts if not alt.nodes and not alt.label))

    def below(
        self, wrap: Callable[[Kind, str | None, Alts], Alts], kind: NodeKind, label: str | None, alts: Alts, at: int
    ) -> Alts:
        """A child or descendant; for node() of the kind that the conditions ask for, if they do."""
        if kind is not None:
            return wrap(kind, label, alts)
        found = NEVER
        for alt in alts:
            if alt.kind in {Kind.ELEMENT, Kind.TEXT} or alt.nodes or alt.label:
                kind = Kind.TEXT if alt.kind == Kind.TEXT else Kind.ELEMENT
                found = self.algebra.either(found, wrap(kind, None, (alt,)))
            elif alt.kind is None:
                self.because("node_test", at)
                found = self.algebra.either(found, rooted((alt,)))
        return found

    def _descendant_or_self_node(self, alts: Alts, at: int) -> Alts:
        """`//`: usually nothing but the next step, one level down or more."""
        found = NEVER
        for alt in alts:
            if alt == Alt(root=alt.root):
                new: Alts = (alt,)
            elif alt == Alt(nodes=alt.nodes[:1], root=alt.root) and not alt.nodes[0].first:
                node = alt.nodes[0]._replace(axis=Axis.DESCENDANT)
                new = (Alt(nodes=(node if self.ordered else element(node),), root=alt.root),)
            else:
                new = (alt, *self.below(self.algebra.descendant, None, None, (alt,), at))
            found = self.algebra.either(found, new)
        return found

    def _upwards(self, axis: str, kind: NodeKind, label: str | None, alts: Alts, at: int) -> Alts:
        if self.ordered:
            raise self.not_ordered("a step upwards", at)
        if kind is Kind.TEXT:
            return self.algebra.both((Alt(kind),), alts) if axis == "ancestor-or-self" else NEVER
        met = alts if kind is None else self.algebra.both((Alt(kind, label),), alts)
        if axis == "parent":
            return tuple(Alt(up=alt) for alt in met)
        found = tuple(Alt(above=(alt,)) for alt in met)
        return found if axis == "ancestor" else self.algebra.either(met, found)

    def anywhere(self, kind: NodeKind, label: str | None, alts: Alts) -> Alts:
        """Some node of the document; what its own surroundings are is forgotten."""
        algebra = self.algebra
        if kind is not None:
            return algebra.at_document(algebra.descendant(kind, label, forgetful(alts)))
        found = NEVER
        for alt in alts:
            inner = alt.kind == Kind.ELEMENT or alt.nodes or alt.label
            new = self.anywhere(Kind.ELEMENT, None, (alt,)) if inner else rooted((alt,))
            found = algebra.either(found, new)
        return found


def is_anywhere(step: Step) -> bool:
    return step.axis == "descendant-or-self" and step.test == "node()" and not step.predicates


def _is_named_child(step: Step) -> bool:
    return step.axis == "child" and step.test[-1] not in ")*"


def _is_one_step(alt: Alt) -> bool:
    return len(alt.nodes) < 2 and alt == (None, None, (), alt.nodes, alt.root, None, ())


def forgetful(alts: Alts) -> Alts:
    """Without what is said about parents and ancestors."""
    return tuple(alt._replace(up=None, above=()) for alt in alts)


def rooted(alts: Alts) -> Alts:
    """Only what is said from the document node."""
    return tuple(dict.fromkeys(Alt(root=alt.root) for alt in alts))
