"""Codes of predicates and values meet exactly where lxml says they do; filters never lose one."""

from random import Random

import numpy as np
import pytest
from lxml import etree

from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.encoding.path_symbols import PathSymbols
from winnow.errors import UsageError
from winnow.index.codes import text_codes
from winnow.patterns.lines import lines_of
from winnow.patterns.store import PatternStore
from winnow.values.bloom import CountingBloom
from winnow.values.predicates import asked_kinds, predicates_of, values_of
from winnow.xpath import compile_profile

XPATHS = [
    "//b = 'x'", "/a/b = ''", "//@k = 7", "//@k = '7'", "/a/b[text() = 'long enough to fill words']",
    "//c = -0", "//b = 'é'", "//c[. = 0]",
]  # fmt: skip
DOCUMENTS = [
    b"<a><b>x</b></a>", b"<a><b/></a>", b"<a k='7'/>", b"<a k=' 7.0'/>", b"<a><b>long enough to fill words</b></a>",
    b"<a><c>0</c></a>", "<a><b>é</b></a>".encode(), b"<a><b>xx</b><c>-0</c></a>",
    b"<b>long enough to fill <i>words</i></b>",
]  # fmt: skip


def test_codes_meet_where_the_predicate_is_satisfied() -> None:
    store, paths = PatternStore(Vocabulary()), PathTable()
    owners = [int(store.add(compile_profile(xpath).alternatives)[0]) for xpath in XPATHS]
    batch = Encoder(store.vocabulary, paths).encode(DOCUMENTS, values=True)
    labels = text_codes(store.vocabulary.labels())
    asked = predicates_of(lines_of(store.twigs, 0, len(store), store.height), store.twigs.tests, labels)
    kinds = asked_kinds(asked, len(store.vocabulary))
    values = values_of(batch, PathSymbols(paths, store.vocabulary).signed(), labels, kinds)
    for number, content in enumerate(DOCUMENTS):
        own = values.codes[values.ends[number] : values.ends[number + 1]]
        for owner, xpath in zip(owners, XPATHS, strict=True):
            (code,) = asked.codes[asked.owner == owner]
            anywhere = "//" + xpath.split("/")[-1]
            if "text()" in xpath:
                anywhere = "//text()[. = 'long enough to fill words']"
            assert (code in own) == bool(etree.fromstring(content).getroottree().xpath(anywhere)), (xpath, content)


def test_any_element_has_no_predicate() -> None:
    store = PatternStore(Vocabulary())
    store.add([p for x in ("//*[. = 'x']", "//@*[. = 'x']", "//a[@k > 3]") for p in compile_profile(x).alternatives])
    lines = lines_of(store.twigs, 0, len(store), store.height)
    labels = text_codes(store.vocabulary.labels())
    assert not predicates_of(lines, store.twigs.tests, labels).owner.size


@pytest.mark.parametrize("rate", [0.1, 0.01, 0.001])
def test_a_filter_loses_nothing_and_keeps_its_rate(rate: float) -> None:
    r = np.random.default_rng(int(1 / rate))
    codes = r.integers(-(2**63), 2**63 - 1, 100_000)
    known, gone, others = codes[:5000], codes[5000:8000], codes[8000:]
    bloom = CountingBloom(8000, rate)
    bloom.add(np.concatenate([known, gone, known[:10]]))
    assert bloom.has(known).all()
    assert bloom.has(gone).all()
    assert bloom.has(others).mean() < 1.5 * rate
    bloom.remove(np.concatenate([gone, known[:10]]))
    assert bloom.has(known).all()
    assert bloom.has(gone).mean() < rate
    fresh = CountingBloom(8000, rate)
    fresh.add(known)
    assert np.array_equal(fresh.counts, bloom.counts)  # retiring is as if it had never been there


def test_a_count_that_is_full_stays() -> None:
    bloom = CountingBloom(10, 0.01)
    bloom.add(np.full(300, 5))
    bloom.remove(np.full(299, 5))
    assert bloom.has(np.array([5])).all()


def test_runs_are_probed_as_wholes() -> None:
    r = Random(3)
    bloom = CountingBloom(100, 1e-6)
    bloom.add(np.arange(50))
    runs = [[r.randrange(200) for _ in range(r.randrange(4))] for _ in range(200)]
    ends = np.concatenate([[0], np.cumsum([len(run) for run in runs])])
    found = bloom.has_any(np.array([code for run in runs for code in run], np.int64), ends)
    assert found.tolist() == [any(code < 50 for code in run) for run in runs]


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(UsageError, match="no filter holds"):
        CountingBloom(0, 0.1)
