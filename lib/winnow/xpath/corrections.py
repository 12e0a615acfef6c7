"""Rewritten XPaths that undo the commonest mistakes, given the names that documents have.

Names first: in another namespace, in another case, an attribute asked for as an element, a misspelling; all of an XPath
at once. Then, one at a time, steps that look at the wrong level, and texts that differ only by white space.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from winnow.xpath.ast import Call, Expr, Filter, Literal, Operation, Path, Step
from winnow.xpath.parser import parse
from winnow.xpath.printer import to_xpath
from winnow.xpath.rejected import Rejected

PLACE = "{place}"  # stands in a sentence for the node that the corrected XPath finds
MAX_SITES = 24  # places of one XPath at which a level is tried
_ALIKE = 0.75  # of two names, to be a misspelling
_ANYWHERE = Step("descendant-or-self", "node()", (), 0)
_SELF = Step("self", "node()", (), 0)


@dataclass
class Names:
    """The names that documents have, expanded `{uri}local`, and how often."""

    elements: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, int] = field(default_factory=dict)
    defaults: set[str] = field(default_factory=set)  # namespaces that some document binds to no prefix


class Correction(NamedTuple):
    words: tuple[str, ...]  # what is mistaken, a sentence each
    xpath: str
    namespaces: Mapping[str, str]


class _Rewritten(NamedTuple):
    words: tuple[str, ...]
    tree: Expr
    namespaces: Mapping[str, str]


def corrections(xpath: str, namespaces: Mapping[str, str] | None, names: Names) -> Iterator[Correction]:
    """Yields XPaths that differ from a given one by a mistake or two, those that change least first.

    >>> names = Names({"{urn:x}a": 1, "{urn:x}b": 1}, {}, {"urn:x"})
    >>> found = next(corrections("/a/b", {}, names))
    >>> found.xpath, dict(found.namespaces)
    ('/d:a/d:b', {'d': 'urn:x'})
    """
    given = _Rewritten((), parse(xpath).tree, dict(namespaces or {}))
    named = _named(given, names)
    bases = [given, named] if named else [given]
    first = [named] if named else []
    rest = [made for base in bases for made in (*_spaced(base), *_elsewhere(base))]
    for made in [*first, *sorted(rest, key=lambda made: len(made.words))]:
        try:
            prefixes = parse(to_xpath(made.tree)).prefixes
        except Rejected:  # a step more than an XPath may have
            continue
        bound = {prefix: uri for prefix, uri in made.namespaces.items() if prefix in prefixes}
        yield Correction(made.words, to_xpath(made.tree), bound)


class _Naming:
    """Gives every step a name that the documents have, and remembers why."""

    def __init__(self, names: Names, namespaces: Mapping[str, str]) -> None:
        self._names, self.namespaces = names, dict(namespaces)
        self._told: dict[str, None] = {}
        self._elsewhere: dict[str, dict[str, None]] = {}  # names by what is said of their namespace

    @property
    def words(self) -> tuple[str, ...]:
        named = []
        for told, names in self._elsewhere.items():
            verb = "is" if len(names) == 1 else "are"
            named.append(f"{' and '.join(f'`{name}`' for name in names)} {verb} {told}")
        return (*self._told, *named)

    def step(self, step: Step) -> Step:
        if step.axis in {"namespace", "self"} or step.test == "*" or step.test.endswith((":*", ")")):
            return step
        prefix, _, local = step.test.rpartition(":")
        uri = self.namespaces.get(prefix, "") if prefix else ""
        is_attribute = step.axis == "attribute"
        own, others = self._names.elements, self._names.attributes
        if is_attribute:
            own, others = others, own
        asked = f"{{{uri}}}{local}" if uri else local
        if asked in own:
            return step
        found = self._near(asked, local, own)
        if found is None and not step.predicates and step.axis in {"child", "attribute"}:
            other = asked if asked in others else self._near(asked, local, others)
            if other is not None:
                told = "an element here, not an attribute" if is_attribute else "an attribute here, not an element"
                self._told[f"`{local}` is {told}"] = None
                if is_attribute or _local(other) != local:  # attributes are in no namespace, as a rule
                    self._tell(asked, other)
                axis = "child" if is_attribute else "attribute"
                return step._replace(axis=axis, test=self._written(other))
        if found is None:
            return step
        self._tell(asked, found)
        return step._replace(test=self._written(found))

    def _near(self, asked: str, local: str, known: Mapping[str, int]) -> str | None:
        """The most frequent name of the same local part, else of the same letters, else one that is spelt alike."""
        by_frequency = sorted(known, key=lambda name: -known[name])
        for same in (str, str.casefold):
            for name in by_frequency:
                if same(_local(name)) == same(local) and name != asked:
                    return name
        letters = {_local(name).casefold(): name for name in reversed(by_frequency)}
        alike = difflib.get_close_matches(local.casefold(), letters, 1, _ALIKE)
        return letters[alike[0]] if alike else None

    def _tell(self, asked: str, found: str) -> None:
        if asked == found:
            return
        local, uri = _local(found), _uri(found)
        if _local(asked) != local:
            is_case = _local(asked).casefold() == local.casefold()
            told = "upper and lower case differ" if is_case else "is it misspelt?"
            self._told[f"there is no `{_local(asked)}` here, but `{local}`: {told}"] = None
        if _uri(asked) == uri:
            return
        if not uri:
            self._tell_of(local, f"in no namespace here, and asked for in {_uri(asked)!r}")
            return
        is_default = " (the default namespace of the document)" if uri in self._names.defaults else ""
        asked_in = f", not in {_uri(asked)!r}" if _uri(asked) else "; a name without a prefix is in none"
        self._tell_of(local, f"in the namespace {uri!r} here{is_default}{asked_in}")

    def _tell_of(self, local: str, words: str) -> None:
        self._elsewhere.setdefault(words, {})[local] = None

    def _written(self, name: str) -> str:
        uri = _uri(name)
        if not uri:
            return _local(name)
        prefix = next((prefix for prefix, bound in self.namespaces.items() if bound == uri and prefix), "")
        if not prefix:
            free = (f"d{number or ''}" for number in range(len(self.namespaces) + 1))
            prefix = next(prefix for prefix in free if prefix not in self.namespaces)
            self.namespaces[prefix] = uri
        return f"{prefix}:{_local(name)}"


def _named(given: _Rewritten, names: Names) -> _Rewritten | None:
    naming = _Naming(names, given.namespaces)
    tree = _map_steps(given.tree, naming.step)
    return _Rewritten(naming.words, tree, naming.namespaces) if naming.words else None


def _spaced(given: _Rewritten) -> Iterator[_Rewritten]:
    """Comparisons with a text, without the white space around it and runs of it within."""
    told: dict[str, None] = {}

    def compare(expr: Expr) -> Expr:
        if not (isinstance(expr, Operation) and expr.op == "="):
            return expr
        for literal, other in (expr.operands, expr.operands[::-1]):
            if isinstance(literal, Literal) and isinstance(other, Path):
                text = " ".join(literal.value.split())
                told[f"the text is {text!r} only without the white space around or within it"] = None
                space = Operation("=", (Call("normalize-space", (), 0), Literal(text, 0)), 0)
                if other.steps == (_SELF,) and not other.absolute and other.base is None:
                    return space
                *before, last = other.steps
                if not before and last.axis == "self":
                    return space
                return other._replace(steps=(*before, last._replace(predicates=(*last.predicates, space))))
        return expr

    tree = _map(given.tree, compare)
    if told:
        yield _Rewritten((*given.words, *told), tree, given.namespaces)


def _elsewhere(given: _Rewritten) -> Iterator[_Rewritten]:
    """Each step anywhere below the one before it; then each of the outermost paths from a later step on."""
    for site in range(MAX_SITES):
        made = _at_any_depth(given, site)
        if made is None:
            break
        yield made
    yield from _from_later_steps(given)


def _at_any_depth(given: _Rewritten, site: int) -> _Rewritten | None:
    left = site
    moved: list[Step] = []

    def move(expr: Expr) -> Expr:
        nonlocal left
        if not isinstance(expr, Path):
            return expr
        for i, step in enumerate(expr.steps):
            if step.axis not in {"child", "attribute"} or (i and expr.steps[i - 1].axis == "descendant-or-self"):
                continue
            if left == 0:
                moved.append(step)
                between = (_ANYWHERE,) if i or expr.absolute or expr.base is not None else (_SELF, _ANYWHERE)
                left -= 1
                return expr._replace(steps=(*expr.steps[:i], *between, *expr.steps[i:]))
            left -= 1
        return expr

    tree = _map(given.tree, move)
    if not moved:
        return None
    if isinstance(tree, Path) and not tree.absolute and tree.base is None and tree.steps[:1] == (_SELF,):
        tree = tree._replace(absolute=True, steps=tree.steps[1:])  # relative to the root element, which it may be
    return _Rewritten((*given.words, _level(moved[0])), tree, given.namespaces)


def _from_later_steps(given: _Rewritten) -> Iterator[_Rewritten]:
    path = given.tree
    if not isinstance(path, Path) or path.base is not None:
        return
    for i, step in enumerate(path.steps[1:], start=1):
        if step.axis in {"child", "attribute"}:
            tree = path._replace(absolute=True, steps=(_ANYWHERE, *path.steps[i:]))
            yield _Rewritten((*given.words, _level(step)), tree, given.namespaces)


def _level(step: Step) -> str:
    name = f"@{step.test}" if step.axis == "attribute" else step.test
    return f"`{name}` is at another level: {PLACE}"


def _map_steps(expr: Expr, change: Callable[[Step], Step]) -> Expr:
    def steps(found: Expr) -> Expr:
        return found._replace(steps=tuple(map(change, found.steps))) if isinstance(found, Path) else found

    return _map(expr, steps)


def _map(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The tree with every expression changed, outer ones after those that they hold."""
    match expr:
        case Path():
            base = None if expr.base is None else _map(expr.base, change)
            steps = (s._replace(predicates=tuple(_map(p, change) for p in s.predicates)) for s in expr.steps)
            return change(expr._replace(base=base, steps=tuple(steps)))
        case Filter():
            predicates = tuple(_map(predicate, change) for predicate in expr.predicates)
            return change(expr._replace(base=_map(expr.base, change), predicates=predicates))
        case Operation():
            return change(expr._replace(operands=tuple(_map(operand, change) for operand in expr.operands)))
        case Call():
            return change(expr._replace(args=tuple(_map(arg, change) for arg in expr.args)))
        case _:
            return change(expr)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _uri(name: str) -> str:
    return name[1:].partition("}")[0] if name.startswith("{") else ""
