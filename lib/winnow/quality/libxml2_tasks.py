"""libxml2 as the oracle: pairs of document and profile, evaluated once more and without any engine.

Runs in a child process of a worker: `python -m winnow.quality.libxml2_tasks` takes a pickled `Job` and answers one
byte a pair. libxml2 cannot be stopped, but its process can: a pair that takes too long ends it, and another one goes on
behind that pair.
"""

import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from lxml import etree

from winnow.parsing import parse
from winnow.xpath import Rejected, compile_profile
from winnow.xpath.reference import Doc, pattern_holds, read

_YES, _NO, _UNKNOWN = b"1", b"0", b"?"
_CHILDREN = 20  # that may be lost
_START_SECONDS = 20.0


class Profile(NamedTuple):
    xpath: str
    namespaces: Mapping[str, str]
    ordered: bool


class Job(NamedTuple):
    documents: Sequence[bytes]
    profiles: Sequence[Profile]
    pairs: Sequence[tuple[int, int]]  # document and profile; pairs of one document one after the other
    pair_seconds: float = 2.0


def evaluate(job: Job, *, seconds: float) -> list[bool | None]:
    """What libxml2 says of each pair; None where it could not say, or not within these seconds."""
    answers: list[bool | None] = []
    deadline = time.monotonic() + seconds
    for _ in range(_CHILDREN):
        left = deadline - time.monotonic()
        if len(answers) == len(job.pairs) or left <= 0:
            break
        found = _child(job._replace(pairs=job.pairs[len(answers) :]), left)
        answers += [None if byte == ord(_UNKNOWN) else byte == ord(_YES) for byte in found]
        if len(answers) < len(job.pairs):
            answers.append(None)  # at this pair the child was lost
    return answers + [None] * (len(job.pairs) - len(answers))


def _child(job: Job, seconds: float) -> bytes:
    """The answers of one process, as far as it came."""
    command = [sys.executable, "-m", "winnow.quality.libxml2_tasks"]
    path = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        answers, _ = process.communicate(pickle.dumps(job), timeout=seconds + _START_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        answers, _ = process.communicate()
    return answers


class Document:
    """
    >>> Document(b"<a><b x='1'/></a>").satisfies(Question(Profile("//b[@x > 0]", {}, False)))
    True
    """

    def __init__(self, content: bytes) -> None:
        self.root = parse(content)

    @cached_property
    def nodes(self) -> Doc:
        return read(self.root)

    def satisfies(self, question: "Question") -> bool:
        if question.xpath is not None:
            return bool(question.xpath(self.root))
        return any(pattern_holds(pattern, self.nodes) for pattern in question.patterns)


class Question:
    """A profile as libxml2 compiles it, from its own text. What libxml2 knows nothing of, order and some names of XML
    1.0's fifth edition, is left to the evaluator that tries everything.
    """

    def __init__(self, profile: Profile) -> None:
        namespaces = {prefix: uri for prefix, uri in profile.namespaces.items() if prefix != "xml"}
        self.xpath: etree.XPath | None = None
        if not profile.ordered:
            try:
                self.xpath = etree.XPath(
                    f"boolean({profile.xpath})", namespaces=namespaces or None, regexp=False, smart_strings=False
                )
                return
            except (etree.XPathSyntaxError, ValueError):
                pass
        compiled = compile_profile(profile.xpath, profile.namespaces, ordered=profile.ordered)
        if compiled.reasons:
            raise Rejected("refused_by_libxml2", "libxml2 alone could decide it", column=1)
        self.patterns = compiled.alternatives


def _answer(job: Job) -> None:
    """One byte a pair, at once: what was answered must not be lost with the process."""
    questions: dict[int, Question | None] = {}
    current, document = -1, None
    for number, asked in job.pairs:
        signal.setitimer(signal.ITIMER_PROF, job.pair_seconds)  # nobody catches its signal
        try:
            if number != current:
                current, document = number, None
                document = Document(job.documents[number])
            if asked not in questions:
                questions[asked] = None
                questions[asked] = Question(job.profiles[asked])
            question = questions[asked]
            known = document is not None and question is not None
            reply = (_YES if document.satisfies(question) else _NO) if known else _UNKNOWN  # type: ignore[union-attr,arg-type]
        except (etree.LxmlError, Rejected, MemoryError, RecursionError):
            reply = _UNKNOWN
        os.write(1, reply)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _answer(pickle.load(sys.stdin.buffer))
