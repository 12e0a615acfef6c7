"""Why does a document satisfy a profile, or where does it fail first?

A match gets a witness for each branch. A failure gets, for each branch, the first step that nothing fits, or the test
that no value passes; and where every branch is found but not on one node, that is said.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from lxml import etree

from winnow.deciding.judge import Judge, size_of
from winnow.deciding.limits import DEFAULT_EVALUATION, EvaluationLimits
from winnow.deciding.profile import hybrid_of
from winnow.deciding.undecided import Undecided
from winnow.parsing import parse
from winnow.xpath import Compiled, Node, Pattern, branches, compile_profile, pattern_text
from winnow.xpath.cost import effort
from winnow.xpath.functions import Type, type_of
from winnow.xpath.parser import parse as parse_xpath
from winnow.xpath.reference import Doc, candidates, chosen, pattern_holds, read
from winnow.xpath.values import holds

if TYPE_CHECKING:
    from winnow.mistakes import Mistake

_SHOWN = 60  # characters of a value


class Branch(NamedTuple):
    text: str
    found: bool
    finding: str  # the witness's location, or where and why it fails


class PatternStory(NamedTuple):
    text: str
    holds: bool
    branches: tuple[Branch, ...]
    note: str = ""


class Story(NamedTuple):
    matches: bool
    klass: str
    reasons: tuple[str, ...]  # why libxml2 had to decide
    patterns: tuple[PatternStory, ...]
    undecided: str = ""  # why nobody knows whether it matches
    selected: str = ""  # where it matches: the first node that the XPath selects, if it selects nodes
    mistake: "Mistake | None" = None  # where it does not match: what would


def explain(
    content: bytes,
    xpath: str,
    namespaces: dict[str, str] | None = None,
    *,
    ordered: bool = False,
    evaluation: EvaluationLimits = DEFAULT_EVALUATION,
) -> Story:
    """Raises `Rejected` for what is not a profile.

    >>> story = explain(b"<r><a><b>y</b></a><a><c/></a></r>", "//a[b = 'x']/c")
    >>> story.matches, [branch.finding for branch in story.patterns[0].branches]
    (False, ["fails at b[. = 'x']: 1 such node, none passes; /r/a[1]/b[1] is 'y'", '/r/a[2]/c[1]'])
    """
    compiled = compile_profile(xpath, namespaces, ordered=ordered)
    document = read(parse(content))
    patterns = tuple(_pattern(pattern, document, compiled) for pattern in compiled.alternatives)
    matches = any(story.holds for story in patterns)
    undecided = ""
    if matches and (hybrid := hybrid_of(compiled)):
        with Judge(evaluation) as judge:
            judge.open(content, size_of(content))
            answer = judge.ask(hybrid)
        matches = not isinstance(answer, Undecided) and answer >= 0
        undecided = f"{answer.reason}: {answer.message}" if isinstance(answer, Undecided) else ""
    reasons = tuple(f"{reason.code} (column {reason.column}): {reason.message}" for reason in compiled.reasons)
    told = Story(matches, compiled.klass.value, reasons, patterns, undecided)
    if matches:
        return told._replace(selected=selected(content, compiled, evaluation))
    return told if undecided else told._replace(mistake=_mistake(content, xpath, namespaces, ordered=ordered))


def selected(content: bytes, compiled: Compiled, evaluation: EvaluationLimits = DEFAULT_EVALUATION) -> str:
    """Returns the location of the first node that an XPath selects; nothing where it selects none, or not surely soon.

    >>> selected(b"<r><a/><a k='1'/></r>", compile_profile("//a/@k"))
    '/r/a[2]/@k'
    """
    tree = parse_xpath(compiled.xpath).tree
    if (
        type_of(tree) is not Type.NODE_SET
        or effort(tree, dict(compiled.namespaces)).of(size_of(content)) > evaluation.budget
    ):
        return ""
    first = etree.XPath(f"({compiled.xpath})[1]", namespaces=dict(compiled.namespaces) or None, regexp=False)
    found = cast("list[Any]", first(parse(content)))
    return _location(found[0]) if found else ""


def _location(node: Any) -> str:
    """The location of a node of libxml2, as `winnow.encoding.locate` writes it."""
    if not isinstance(node, etree._Element):
        owner = node.getparent()
        if getattr(node, "is_attribute", False):
            return f"{_location(owner)}/@{_step(node.attrname)}"
        if getattr(node, "is_tail", False):
            before = [owner, *owner.itersiblings(preceding=True)]
            parent = owner.getparent()
            texts = sum(sibling.tail is not None for sibling in before) + (parent.text is not None)
            return f"{_location(parent)}/text()[{texts}]"
        return f"{_location(owner)}/text()[1]"
    if not isinstance(node.tag, str):
        return ""
    parent = node.getparent()
    if parent is None:
        return f"/{_step(node.tag)}"
    same = 1 + sum(1 for _ in node.itersiblings(node.tag, preceding=True))
    return f"{_location(parent)}/{_step(node.tag)}[{same}]"


def _step(name: str) -> str:
    return name.replace("{", "Q{", 1)


def _mistake(content: bytes, xpath: str, namespaces: dict[str, str] | None, *, ordered: bool) -> "Mistake | None":
    from winnow.mistakes import find_mistakes  # its kernels are needed for this alone

    return next(find_mistakes([("", xpath, namespaces, ordered)], [("", content)]), None)


def _pattern(pattern: Pattern, document: Doc, compiled: Compiled) -> PatternStory:
    text = pattern_text(pattern, compiled.namespaces)
    lines = list(_lines(pattern.children))
    texts = branches(pattern, compiled.namespaces)
    if pattern_holds(pattern, document):
        places = _witnesses(pattern.children, document, ordered=pattern.ordered)
        return PatternStory(text, True, tuple(Branch(t, True, place) for t, place in zip(texts, places, strict=True)))
    told = tuple(_branch(t, line, document, compiled) for t, line in zip(texts, lines, strict=True))
    note = ""
    if all(branch.found for branch in told):
        together = "in document order below one node" if pattern.ordered else "below one node"
        note = f"every branch is found by itself, but not all of them {together}"
    return PatternStory(text, False, told, note)


def _lines(nodes: tuple[Node, ...]) -> Iterator[list[Node]]:
    """Root-to-leaf lines in the order of `branches`."""
    for node in nodes:
        if node.children:
            yield from ([node, *line] for line in _lines(node.children))
        else:
            yield [node]


def _witnesses(nodes: tuple[Node, ...], doc: Doc, *, ordered: bool) -> list[str]:
    """The location of each branch's leaf in one way to satisfy the whole."""
    picks = chosen(nodes, doc, ordered=ordered) or []
    places: list[str] = []
    for node, pick in zip(nodes, picks, strict=True):
        places += _witnesses(node.children, pick, ordered=ordered) if node.children else [pick.location]
    return places


def _branch(text: str, line: list[Node], document: Doc, compiled: Compiled) -> Branch:
    reached = [document]
    for node in line:
        step = pattern_text(Pattern((node._replace(children=()),)), compiled.namespaces)
        fitting = _unique(d for doc in reached for d in _fitting(node, doc))
        if not fitting:
            above = f"below {_some(reached)}" if reached[0].location else "in the document"
            return Branch(text, False, f"fails at {step.lstrip('/')}: no such node {above}")
        passing = [d for d in fitting if all(holds(test, d.value) for test in node.tests)]
        if not passing:
            count = f"{len(fitting)} such node{'s' if len(fitting) > 1 else ''}"
            value = fitting[0].value if len(fitting[0].value) <= _SHOWN else fitting[0].value[:_SHOWN] + "…"
            finding = f"fails at {step.lstrip('/')}: {count}, none passes; {fitting[0].location} is {value!r}"
            return Branch(text, False, finding)
        reached = passing
    return Branch(text, True, reached[0].location)


def _fitting(node: Node, doc: Doc) -> list[Doc]:
    found = [candidate for candidate in candidates(node, doc) if candidate.fits(node)]
    return found[:1] if node.first and not node.children else found


def _unique(docs: Iterator[Doc]) -> list[Doc]:
    return list({id(doc): doc for doc in docs}.values())


def _some(docs: list[Doc]) -> str:
    return docs[0].location + (f" or {len(docs) - 1} more" if len(docs) > 1 else "")
