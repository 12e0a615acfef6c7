"""Estimates are lxml's fractions when everything is sampled; samples merge exactly; answers never depend on them."""

import pickle
from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from lxml import etree

from engines.truth import Profile, assert_same, pairs_of, taken, truth
from winnow import Matcher
from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.engines import ENGINES
from winnow.engines.filtering import FilteringEngine
from winnow.engines.symbols import PathSymbols
from winnow.index.codes import text_codes
from winnow.values.counting import LABEL, NUMBER, SHOWN, TEXT, count_values, merged, selectivity_of
from winnow.values.reservoir import last_rank, ranks
from winnow.values.selectivity import UNKNOWN, Selectivity
from winnow.xpath.numbers import to_number
from xpath_strategies import NAMESPACES, document, native_profile


def count(documents: list[bytes]) -> pa.Table:
    vocabulary, paths = Vocabulary(), PathTable()
    batch = Encoder(vocabulary, paths).encode(documents, values=True)
    return count_values(batch, PathSymbols(paths, vocabulary).signed(), vocabulary)


def by_key(rows: pa.Table) -> dict[tuple[str, str, str | None], int]:
    """Values are told apart by what is shown of them."""
    found: Counter[tuple[str, str, str | None]] = Counter()
    for row in rows.to_pylist():
        found[row["label"], row["counted"], row["value"]] += row["occurrences"]
    return dict(found)


def naive(documents: list[bytes]) -> Counter[tuple[str, str, str | None]]:
    found: Counter[tuple[str, str, str | None]] = Counter()
    for content in documents:
        root = etree.fromstring(content)
        nodes = [(node.tag, node.xpath("string()")) for node in root.xpath("//*")]
        nodes += [(f"@{name}", value) for node in root.xpath("//*") for name, value in node.attrib.items()]
        nodes += [("text()", str(text)) for text in root.xpath("//text()")]
        for label, value in nodes:
            found[label, LABEL, None] += 1
            found[label, TEXT, value[:SHOWN]] += 1
    return found


@pytest.mark.parametrize("seed", range(6))
def test_everything_sampled_is_everything_known(seed: int) -> None:
    r = Random(seed)
    documents = [document(r).encode() for _ in range(30)]
    rows = count(documents)
    expected = naive(documents)
    got = {key: occurrences for key, occurrences in by_key(rows).items() if key[1] != NUMBER}
    assert got == expected
    known = selectivity_of(rows, len(documents))
    for row in rows.to_pylist():
        label = text_codes([row["label"]])
        total = expected[row["label"], LABEL, None]
        assert known.per_document(label).tolist() == [total / 30]
        if row["counted"] != LABEL:
            assert known.share(np.array([row["code"]]), label).tolist() == [row["occurrences"] / total]


def test_texts_of_one_number_are_counted_together() -> None:
    rows = count([b"<a><n>7</n><n> 7.0 </n><n>8</n><n>x</n><n>-0</n><n>0</n></a>"])
    numbers = {row["value"]: row["occurrences"] for row in rows.to_pylist() if row["counted"] == NUMBER}
    assert {to_number(str(value)): occurrences for value, occurrences in numbers.items()} == {7: 2, 8: 1, 0: 2}


def test_values_are_cut_between_characters() -> None:
    long = "é" * 300
    (value,) = {row["value"] for row in count([f"<a>{long}</a>".encode()]).to_pylist() if row["value"]}
    assert value == long[:SHOWN]


@pytest.mark.parametrize("seed", range(4))
def test_counts_of_parts_add_up(seed: int) -> None:
    r = Random(seed)
    documents = [document(r).encode() for _ in range(20)]
    parts = [count(documents[:7]), count(documents[7:8]), count(documents[8:])]
    whole = sorted(count(documents).to_pylist(), key=lambda row: (row["code"], row["counted"]))
    assert sorted(merged(parts).to_pylist(), key=lambda row: (row["code"], row["counted"])) == whole
    one, other = (selectivity_of(rows, 20) for rows in (merged(parts), pa.concat_tables(parts)))
    for left, right in zip(one, other, strict=True):
        assert np.array_equal(left, right)
    assert all(map(np.array_equal, one, pickle.loads(pickle.dumps(one))))


def test_what_was_not_seen_is_rarer_than_what_was() -> None:
    label, other = np.array([1]), np.array([2])
    known = Selectivity.of(10, label, np.array([1000]), np.array([5]), np.array([1]))
    once, never = known.share(np.array([5, 6]), np.repeat(label, 2))
    assert 0 < never < once == 1 / 1000
    assert known.share(np.array([5]), other).tolist() == [UNKNOWN]
    assert 0 < known.per_document(other)[0] < known.per_document(label)[0] == 100
    nothing = Selectivity.of(0, *(np.zeros(0, np.int64) for _ in range(4)))
    assert nothing.share(np.array([5]), label).tolist() == [UNKNOWN]


# -- the sample


def test_a_sample_is_the_same_however_it_came_about() -> None:
    names = [f"document {k}" for k in range(5000)]
    whole = ranks(pa.array(names))
    assert np.unique(whole).size == whole.size
    shuffled = Random(1).sample(names, len(names))
    last = last_rank(whole, 300)
    assert last_rank(ranks(pa.array(shuffled)), 300) == last
    assert (whole <= last).sum() == 300
    parts = [ranks(pa.chunked_array([shuffled[:3], shuffled[3:1700]])), ranks(pa.array(shuffled).slice(1700))]
    kept = np.concatenate([part[part <= last_rank(part, 300)] for part in parts])
    assert sorted(kept[kept <= last_rank(kept, 300)]) == sorted(whole[whole <= last])
    assert ranks(pa.array([], pa.string())).size == 0


def test_a_sample_is_even() -> None:
    """Names that count up: every tenth of them has about a tenth of the sample."""
    whole = ranks(pa.array([f"{k:064d}" for k in range(50_000)]))
    chosen = np.flatnonzero(whole <= last_rank(whole, 5000))
    shares = np.bincount(chosen // 5000, minlength=10)
    assert ((shares - 500) ** 2 / 500).sum() < 30  # chi-square, 9 degrees of freedom: beyond 28 one time in 1000


# -- engines


def wrong(documents: list[bytes], r: Random) -> Selectivity:
    """All that is common is said to be rare, and the other way round; some is made up, some is missing."""
    right = selectivity_of(count(documents), len(documents))
    kept = np.array([r.random() < 0.8 for _ in right.codes])
    labels = np.array([r.random() < 0.8 for _ in right.labels])
    return Selectivity.of(
        right.documents,
        right.labels[labels],
        right.totals.max() + 1 - right.totals[labels],
        right.codes[kept],
        right.counts.max() + 1 - right.counts[kept],
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(6))
def test_wrong_statistics_lose_nothing(engine: str, seed: int) -> None:
    r = Random(seed)
    documents = [document(r).encode() for _ in range(8)]
    profiles: list[Profile] = [(f"p{k}", native_profile(r), NAMESPACES, False) for k in range(150)]
    for known in (wrong(documents, r), selectivity_of(count(documents), 8)):
        matcher = Matcher(engine=engine)
        matcher.engine.selectivity = known
        matcher.add(profiles)
        asked = taken(matcher, profiles)
        assert_same(pairs_of(matcher, documents), truth(asked, documents), asked, documents)


def skewed(r: Random, documents: int = 400) -> tuple[list[bytes], list[Profile]]:
    """Every article is of 2026 and about news; writers are many (the example of §5)."""
    contents = [
        f"<dblp><article year='2026'><about>news</about><by>b{r.randrange(200)}</by><note/></article></dblp>".encode()
        for _ in range(documents)
    ]
    tests = [
        "//article[about = 'news'][@year = 2026]/by[. = 'b{}']",
        "/dblp/article[by = 'b{}'][@year = '2026'][about = 'news']",
        "//article[about = 'news'][by = 'b{}']/note",
    ]
    return contents, [(f"p{k}", tests[k % 3].format(k), {}, False) for k in range(200)]


@pytest.mark.parametrize("engine", ["boxpath", "nfa", "buff", "xfilter"])
def test_right_statistics_leave_fewer_to_look_at(engine: str) -> None:
    """Counted, not timed: candidates, and in engines that ask for all conditions, patterns that were waited for."""
    documents, profiles = skewed(Random(5))
    looked_at = []
    for known in (None, selectivity_of(count(documents[:100]), 100)):
        matcher = Matcher(engine=engine)
        matcher.engine.selectivity = known
        matcher.add(profiles)
        assert_same(pairs_of(matcher, documents), truth(profiles, documents), profiles, documents)
        by_conditions = isinstance(matcher.engine, FilteringEngine)
        looked_at.append(matcher.engine.stats["waited"] if by_conditions else matcher.funnel.verified)
    assert looked_at[1] <= 400 < looked_at[0] / 20
