"""Patterns that are one line are verified by paths: the same witnesses as from the kernel for all patterns."""

from random import Random

import numpy as np
import pytest

from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.engines.verification import verify
from winnow.engines.verification.lines import NO_LINE, LineTable
from winnow.engines.verification.verify import Verifier
from winnow.patterns.store import PatternStore
from winnow.xpath import compile_profile
from xpath_strategies import document

from .test_boxfilter import patterns_of
from .test_matches import SEEDS


def lines_are_unknown(table: LineTable, twigs: object, patterns: np.ndarray) -> object:
    """In place of `LineTable.lines`: no pattern is a line."""
    known = real_lines(table, twigs, patterns)  # type: ignore[arg-type]
    return known._replace(start=np.full_like(known.start, NO_LINE))


real_lines = LineTable.lines


@pytest.mark.parametrize("seed", SEEDS)
def test_paths_tell_what_nodes_tell(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    r = Random(seed)
    labels = ["a", "b", "c", "*", "@x", "@*"]
    xpaths = {
        "".join(r.choice(["/", "//"]) + r.choice(labels[:4]) for _ in range(r.randint(1, 5)))
        + (r.choice(["/", "//"]) + r.choice(labels[4:]) if r.random() < 0.2 else "")
        for _ in range(150)
    }
    patterns = [compile_profile(xpath).alternatives[0] for xpath in sorted(xpaths)] + patterns_of(r, 5)
    store, paths = PatternStore(Vocabulary()), PathTable()
    ids = store.add(patterns)
    batch = Encoder(store.vocabulary, paths).encode([document(r).encode() for _ in range(20)], values=True)
    documents = np.repeat(np.arange(20, dtype=np.int32), ids.size)
    asked = np.tile(ids, 20)
    verifier = Verifier(store, paths)
    found = verifier.verify(batch, documents, asked)
    again = verifier.verify(batch, documents, asked)
    monkeypatch.setattr(LineTable, "lines", lines_are_unknown)
    by_nodes = Verifier(store, paths).verify(batch, documents, asked)
    assert found.tolist() == again.tolist() == by_nodes.tolist()
    assert 0 < (found >= 0).sum() < found.size


XPATHS = ("/a//b/@c", "//a[b][c]", "//a/text()", "/a[. = '1']", "//b/*")


def test_lines_are_flattened_once_they_are_asked_for() -> None:
    store = PatternStore(Vocabulary())
    ids = store.add([compile_profile(x).alternatives[0] for x in XPATHS])
    table = LineTable()
    known = table.lines(store.twigs, ids[:1])
    assert (known.start != 0).tolist() == [True, False, False, False, False]
    known = table.lines(store.twigs, ids)
    assert (known.start > 0).tolist() == [True, False, False, False, True]
    count = known.steps[known.start[0]]
    assert [step & 1 for step in known.steps[known.start[0] + 1 :][:count]] == [0, 1, 0]


def test_stamps_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    store, paths = PatternStore(Vocabulary()), PathTable()
    ids = store.add([compile_profile(x).alternatives[0] for x in ("//b", "/a/c")])
    batch = Encoder(store.vocabulary, paths).encode([b"<a><b/></a>", b"<a><c/></a>"], values=False)
    verifier = Verifier(store, paths)
    monkeypatch.setattr(verify, "_LAST_STAMP", 1)
    for _ in range(4):
        pairs = np.array([0, 0, 1, 1], np.int32), np.tile(ids, 2)
        assert verifier.verify(batch, *pairs).tolist() == [1, -1, -1, 3]
