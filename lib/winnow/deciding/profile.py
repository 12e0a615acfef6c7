"""A hybrid profile: what libxml2 is asked, and what that may cost."""

import math
from typing import cast

from lxml import etree

from winnow.deciding.question import Prepared, Question
from winnow.xpath.ast import Call, Expr, Filter, Number, Path
from winnow.xpath.compiled import Class, Compiled
from winnow.xpath.cost import effort
from winnow.xpath.effort import Effort, Size, total
from winnow.xpath.functions import Type, type_of
from winnow.xpath.printer import to_xpath
from winnow.xpath.probe import Probe, probe

_REMEMBERED = 256  # sizes
NO_PROBE = Probe(Path(True, None, (), 0), Effort((), False), Effort((), False))


class HybridProfile:
    """Everything on first use: most profiles never meet a document that their relaxation lets through."""

    __slots__ = ("_bounds", "_compiled", "_effort", "_prepared", "_probe", "_question")

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._question: Question | None = None
        self._effort = Effort((), False)
        self._prepared: Prepared | None = None
        self._probe: Probe | None = None
        self._bounds: dict[Size, float] = {}

    def __reduce__(self) -> "tuple[type[HybridProfile], tuple[Compiled]]":
        """What libxml2 compiled stays in its process; another one compiles anew."""
        return HybridProfile, (self._compiled,)

    @property
    def question(self) -> Question:
        if self._question is None:
            self._read()
        assert self._question is not None
        return self._question

    def prepared(self) -> Prepared:
        if self._prepared is None:
            self._prepared = Prepared(self.question)
        return self._prepared

    def nanoseconds(self, size: Size) -> float:
        """What an answer may take at worst, with the witness."""
        if self._question is None:
            self._read()
        return self._effort.of(size)

    def bound(self, rounded: Size) -> float:
        """The same, remembered: for sizes that many documents share."""
        found = self._bounds.get(rounded)
        if found is None:
            if len(self._bounds) >= _REMEMBERED:
                self._bounds.clear()
            found = self._bounds[rounded] = self.nanoseconds(rounded)
        return found

    def looked_at(self, root: etree._Element, size: Size, budget: float) -> float:
        """What an answer on this very document may take, if that can be told within the budget; else infinite."""
        if self._probe is None:
            self._probe = probe(self._compiled.asked, dict(self._compiled.namespaces)) or NO_PROBE
        if self._probe is NO_PROBE or self._probe.counting.of(size) > budget:
            return math.inf
        path, namespaces = to_xpath(self._probe.beginning), dict(self._compiled.namespaces) or None
        count = cast(float, etree.XPath(f"count({path})", namespaces=namespaces, regexp=False)(root))
        return 2 * (self._probe.counting.of(size) + count * self._probe.each.of(size))  # and again for the witness

    def _read(self) -> None:
        asked, namespaces = self._compiled.asked, self._compiled.namespaces
        selects = type_of(asked) is Type.NODE_SET
        expressions: list[Expr] = [Call("boolean", (asked,), 0)]
        if selects:
            expressions.append(Filter(asked, (Number("1", 0),), 0))
        self._effort = total(effort(expression, dict(namespaces)) for expression in expressions)
        self._question = Question(to_xpath(asked), namespaces, selects)


def hybrid_of(compiled: Compiled) -> HybridProfile | None:
    return HybridProfile(compiled) if compiled.klass is Class.HYBRID else None
