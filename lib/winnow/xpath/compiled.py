"""A profile's XPath, compiled: its class, its patterns, and why."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from winnow.xpath import canonical, cost, libxml2
from winnow.xpath.ast import Expr
from winnow.xpath.conditions import Alt, Alts
from winnow.xpath.existential import existential
from winnow.xpath.limits import DEFAULT_LIMITS, Limits
from winnow.xpath.normalise import Normaliser
from winnow.xpath.parser import Parsed, parse
from winnow.xpath.pattern import Axis, Node, Pattern
from winnow.xpath.plain import plain_path
from winnow.xpath.printer import to_xpath
from winnow.xpath.reasons import Reason
from winnow.xpath.rejected import Rejected
from winnow.xpath.tokens import column

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"


_ACCEPTED = Limits(*[1 << 30] * len(Limits._fields))  # for what has passed its limits before


class Class(Enum):
    NATIVE = "native"
    HYBRID = "hybrid"


class Compiled(NamedTuple):
    """NATIVE: true exactly when an alternative holds. HYBRID: true only if an alternative holds, and libxml2 decides.

    No alternatives: never true. `Pattern(())` among them: always true (or, when hybrid, nothing is certain).
    """

    klass: Class
    alternatives: tuple[Pattern, ...]
    reasons: tuple[Reason, ...]
    xpath: str  # as given
    namespaces: tuple[tuple[str, str], ...]  # the prefixes used, sorted

    @property
    def text(self) -> str:
        """XPath for libxml2 with the same truth value; its prefixes are bound by `namespaces`."""
        return to_xpath(self.asked)

    @property
    def asked(self) -> Expr:
        """The same as a tree: what libxml2 is asked instead of `xpath`."""
        return existential(parse(self.xpath, _ACCEPTED).tree)


def compile_profile(
    xpath: str,
    namespaces: Mapping[str, str] | None = None,
    *,
    ordered: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Compiled:
    """Raises `Rejected`. A relative path starts at the root element, as in lxml.

    >>> compile_profile("//a[b or @c = 'x']").klass.value
    'native'
    >>> compile_profile("//a[not(b)]").reasons[0].code
    'not'
    """
    namespaces = namespaces or {}
    if not ordered and len(xpath) <= limits.length and "" not in namespaces:
        used: dict[str, str] = {}
        children = plain_path(xpath, namespaces, used, limits.steps)
        if children is not None:
            return Compiled(Class.NATIVE, (Pattern(children),), (), xpath, _sorted(used))
    parsed = parse(xpath, limits)
    bound = _bound(xpath, parsed, namespaces)
    normaliser = Normaliser(xpath, bound, limits, ordered)
    alts = normaliser.truth(parsed.tree)
    patterns = _patterns(normaliser, alts)
    if not normaliser.noted or not patterns:
        return Compiled(Class.NATIVE, patterns, (), xpath, _sorted(bound))
    rewritten = existential(parsed.tree)
    degree, at = cost.degree(rewritten)
    if degree > limits.cost:
        raise Rejected(
            "cost_limit",
            f"libxml2 may need time in the power of {degree} of the document's size; {limits.cost} is the limit",
            column=column(xpath, at),
            hint="whole-document or sibling axes inside one another's predicates multiply",
        )
    libxml2.Evaluator(to_xpath(rewritten), bound)  # raises when libxml2 would refuse it
    return Compiled(Class.HYBRID, patterns, normaliser.reasons(), xpath, _sorted(bound))


def _sorted(bound: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(bound.items())) if len(bound) > 1 else tuple(bound.items())


def _bound(xpath: str, parsed: Parsed, namespaces: Mapping[str, str]) -> dict[str, str]:
    bound: dict[str, str] = {}
    for prefix, at in parsed.prefixes.items():
        uri = XML_NAMESPACE if prefix == "xml" else namespaces.get(prefix)
        if not uri:
            raise Rejected("unbound_prefix", f"prefix {prefix!r} is not bound to a namespace", column=column(xpath, at))
        bound[prefix] = uri
    if "" in namespaces:
        raise Rejected(
            "empty_prefix",
            "XPath 1.0 has no default namespace: a name without prefix is in no namespace",
            hint="bind a prefix, and write it before the names",
        )
    return bound


def _patterns(normaliser: Normaliser, alts: Alts) -> tuple[Pattern, ...]:
    patterns: list[Pattern] = []
    # An absolute path says nothing about the root element as such.
    is_absolute = len(alts) == 1 and alts[0] == Alt(root=alts[0].root)
    for alt in alts if is_absolute else normaliser.from_document(alts):
        nodes = alt.root
        if len(nodes) == 1 and nodes[0].axis is Axis.CHILD and nodes[0].label is not None:
            children: tuple[Node, ...] | None = nodes
        elif normaliser.ordered:
            try:
                children = canonical.ordered_document(nodes)
            except ValueError as error:
                raise normaliser.not_ordered(str(error), 0) from None
        else:
            children = canonical.document(nodes)
        if children is not None:
            patterns.append(Pattern(children, normaliser.ordered))
    return canonical.alternatives(patterns)
