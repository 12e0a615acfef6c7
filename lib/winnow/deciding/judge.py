"""Decides profiles on one document after the other, within the limits."""

import time
from types import TracebackType
from typing import cast

from lxml import etree

from winnow.deciding.limits import EvaluationLimits
from winnow.deciding.process import Child, Reply
from winnow.deciding.profile import HybridProfile
from winnow.deciding.question import Document
from winnow.deciding.undecided import Undecided, Why
from winnow.parsing import parse
from winnow.xpath.effort import Size

_NODES = etree.XPath("count(//node()) + count(//@*)")
_LOOK = 64  # answers between two looks at the clock, unless one may be slow
_SLOW = 1e7  # nanoseconds


def rough_size(content: bytes, *, nodes: int, depth: int, text: int = 0) -> Size:
    """An upper bound without reading: `nodes` are those that are counted, a comment or `<?a?>` takes five bytes."""
    size = len(content)
    return Size(nodes + size // 5 + 1, depth, max(size, text), size // 7)


def size_of(content: bytes) -> Size:
    """The size of a document that nobody has measured yet."""
    root = parse(content)
    depth = deepest = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return Size(_nodes(root), deepest + 1, len(content), _bindings(content))


def _nodes(root: etree._Element) -> int:
    return int(cast(float, _NODES(root)))


class Judge:
    """A context: the child process, if one was needed, ends with it.

    An answer that is surely quick is given here. Any other one is given by a child process, which can be stopped.
    """

    def __init__(self, limits: EvaluationLimits) -> None:
        self._limits = limits
        self._budget = limits.budget
        self._watched = min(limits.budget, _SLOW)
        self._child = Child(limits.memory_bytes)

    def __enter__(self) -> "Judge":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close()

    def open(self, content: bytes, rough: Size) -> None:
        """The document that is asked about from now on; `rough` is an upper bound of its size."""
        self._document = Document(content)
        self._size, self._is_rough = rough, True
        self._rounded = Size(*(1 << value.bit_length() for value in rough))
        self._began = time.thread_time()
        self._elsewhere = 0.0  # seconds of CPU in child processes
        self._asked = 0
        self._is_over = False

    def ask(self, profile: HybridProfile) -> int | Undecided:
        """The place of the witness among the document's elements, -1 when the profile does not hold."""
        try:
            return self._ask(profile)
        except etree.XMLSyntaxError as error:  # stored by an acceptance that took more than today's
            return Undecided(Why.EVALUATION_FAILED, f"libxml2 refuses the document: {error}")

    def _ask(self, profile: HybridProfile) -> int | Undecided:
        bound = profile.bound(self._rounded)
        self._asked += 1
        if self._is_over:
            return self._used_up()
        if bound > self._watched or self._asked % _LOOK == 0:
            left = self._left()
            if left <= 0:
                return self._used_up()
            if bound > self._budget and not self.is_quick(profile):
                return self._elsewhere_within(profile, min(left, self._limits.pair_seconds))
        try:
            return self._document.answer(profile.prepared())
        except (etree.XPathError, MemoryError) as error:
            return Undecided(Why.EVALUATION_FAILED, f"libxml2 cannot evaluate this: {error or type(error).__name__}")

    def _left(self) -> float:
        return self._limits.document_seconds - (time.thread_time() - self._began) - self._elsewhere

    def is_quick(self, profile: HybridProfile) -> bool:
        """Surely, as far as a closer and closer look at the document can tell."""
        if profile.nanoseconds(self._size) <= self._budget:
            return True
        if self._is_rough:
            self._is_rough = False
            nodes = min(_nodes(self._document.root), self._size.nodes)
            self._size = self._size._replace(nodes=nodes, bindings=_bindings(self._document.content))
            if profile.nanoseconds(self._size) <= self._budget:
                return True
        return profile.looked_at(self._document.root, self._size, self._budget) <= self._budget

    def _elsewhere_within(self, profile: HybridProfile, seconds: float) -> int | Undecided:
        reply = self._child.ask(self._document.content, profile.question, seconds)
        self._elsewhere += reply.seconds
        if reply.place is not None:
            return reply.place
        return self._undecided(reply, seconds)

    def _used_up(self) -> Undecided:
        self._is_over = True
        words = f"the {self._limits.document_seconds:g} s for the hybrid profiles of one document are used up"
        return Undecided(Why.DOCUMENT_DEADLINE, words)

    def _undecided(self, reply: Reply, seconds: float) -> Undecided:
        if not reply.deadline:
            return Undecided(Why.EVALUATION_FAILED, f"libxml2 cannot evaluate this: {reply.message}")
        if seconds < self._limits.pair_seconds:
            return self._used_up()
        return Undecided(Why.PAIR_DEADLINE, f"libxml2 needs more than {seconds:g} s for this pair")


def _bindings(content: bytes) -> int:
    """Namespace declarations, in UTF-8 or UTF-16 of either order."""
    return content.count(b"xmlns") + content.count(b"x\0m\0l\0n\0s")
