"""Estimates are lxml's fractions when everything is sampled; samples merge exactly; answers never depend on them."""

import pickle
from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from lxml import etree

from engines.test_matches import MAKERS, make
from engines.truth import Profile, assert_same, pairs_of, taken, truth
from winnow import Matcher
from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.encoding.path_symbols import PathSymbols
from winnow.engines import ENGINES
from winnow.engines.automata.filtering import FilteringEngine
from winnow.index.codes import text_codes
from winnow.values.counting import LABEL, NUMBER, SHOWN, TEXT, count_values, merged, selectivity_of
from winnow.values.selectivity import UNKNOWN, Counts, Selectivity
from winnow.xpath.numbers import to_number
from xpath_strategies import document


def count(documents: list[bytes]) -> pa.Table:
    vocabulary, paths = Vocabulary(), PathTable()
    batch = Encoder(vocabulary, paths).encode(documents, values=True)
    return count_values(batch, PathSymbols(paths, vocabulary).signed(), vocabulary)


Key = tuple[str, str, str | None]


def by_key(rows: pa.Table) -> dict[Key, tuple[int, int]]:
    """Without numbers, by what is shown; no two values here begin alike for 200 characters."""
    return {
        (row["label"], row["counted"], row["value"]): (row["occurrences"], row["documents"])
        for row in rows.to_pylist()
        if row["counted"] != NUMBER
    }


def naive(documents: list[bytes]) -> dict[Key, tuple[int, int]]:
    nodes: Counter[Key] = Counter()
    owners: Counter[Key] = Counter()
    for content in documents:
        root = etree.fromstring(content)
        found = [(node.tag, node.xpath("string()")) for node in root.xpath("//*")]
        found += [(f"@{name}", value) for node in root.xpath("//*") for name, value in node.attrib.items()]
        found += [("text()", str(text)) for text in root.xpath("//text()")]
        keys: list[Key] = [(label, LABEL, None) for label, _ in found]
        keys += [(label, TEXT, value[:SHOWN]) for label, value in found]
        nodes.update(keys)
        owners.update(set(keys))
    return {key: (count, owners[key]) for key, count in nodes.items()}


@pytest.mark.parametrize("seed", range(6))
def test_everything_sampled_is_everything_known(seed: int) -> None:
    r = Random(seed)
    documents = [document(r).encode() for _ in range(30)]
    rows = count(documents)
    expected = naive(documents)
    assert by_key(rows) == expected
    known = selectivity_of(rows, len(documents))
    for row in rows.to_pylist():
        label, code = text_codes([row["label"]]), np.array([row["code"]])
        nodes, owners = expected[row["label"], LABEL, None]
        assert known.documents_labelled(label).tolist() == [owners / 30]
        if row["counted"] != LABEL:
            assert known.share(code, label).tolist() == [row["occurrences"] / nodes]
            assert known.documents_with(code).tolist() == [row["documents"] / 30]


def test_texts_of_one_number_are_counted_together() -> None:
    rows = count([b"<a><n>7</n><n> 7.0 </n><n>8</n><n>x</n><n>-0</n><n>0</n></a>"])
    numbers = [row for row in rows.to_pylist() if row["counted"] == NUMBER]
    nodes = {to_number(row["value"]): row["occurrences"] for row in numbers if row["label"] == "n"}
    assert nodes == {7: 2, 8: 1, 0: 2}
    assert {row["documents"] for row in numbers} == {1}


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
    for known in (other, pickle.loads(pickle.dumps(one))):
        for left, right in zip((*one.labels, *one.values), (*known.labels, *known.values), strict=True):
            assert np.array_equal(left, right)


def test_what_was_not_seen_is_rarer_than_what_was() -> None:
    label, other = np.array([1]), np.array([2])
    known = selected(10, [(1, 1000, 9)], [(5, 1, 1)])
    once, never = known.share(np.array([5, 6]), np.repeat(label, 2))
    assert 0 < never < once == 1 / 1000
    once, never = known.documents_with(np.array([5, 6]))
    assert 0 < never < once == 1 / 10
    assert known.share(np.array([5]), other).tolist() == [UNKNOWN]
    assert 0 < known.documents_labelled(other)[0] < known.documents_labelled(label)[0] == 0.9
    nothing = selected(0, [], [])
    assert nothing.share(np.array([5]), label).tolist() == [UNKNOWN]
    assert 0 < nothing.documents_with(np.array([5]))[0] < 1


def selected(documents: int, labels: list[tuple[int, int, int]], values: list[tuple[int, int, int]]) -> Selectivity:
    """Rows of code, nodes, documents."""
    rows = (np.array(table, np.int64).reshape(-1, 3).T for table in (labels, values))
    return Selectivity(documents, *(Counts.of(*columns) for columns in rows))


# -- engines


def wrong(documents: list[bytes], r: Random) -> Selectivity:
    """All that is common is said to be rare, and the other way round; some is missing."""

    def turned(counts: Counts) -> Counts:
        kept = np.array([r.random() < 0.8 for _ in counts.codes])
        nodes, owners = (column.max() + 1 - column[kept] for column in counts[1:])
        return Counts.of(counts.codes[kept], nodes, owners)

    right = selectivity_of(count(documents), len(documents))
    return Selectivity(right.documents, turned(right.labels), turned(right.values))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(6))
def test_wrong_statistics_lose_nothing(engine: str, seed: int) -> None:
    r = Random(seed)
    documents = [document(r).encode() for _ in range(8)]
    profiles = [row for kind in MAKERS for row in make(kind, 60, r)]
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
