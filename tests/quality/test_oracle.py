"""Which pairs are asked, and what libxml2 says of them."""

import random

from winnow.quality.labels import held, needed
from winnow.quality.oracle import Job, Profile, evaluate
from winnow.quality.sample import Universe, census, matches, non_matches

DOCUMENTS = [b"<a><b x='1'>t</b><c/></a>", b"<a><c/><b/></a>", b"<r>" + b"<i/>" * 3000 + b"</r>"]
SLOW = "count(//*[count(//*[count(//*) > 0]) > 0]) > 0"


def profile(xpath: str, *, ordered: bool = False, **namespaces: str) -> Profile:
    return Profile(xpath, namespaces, ordered)


def test_the_oracle_answers_by_the_profiles_own_words() -> None:
    profiles = [
        profile("//b[@x > 0]"),
        profile("/a[b]/c", ordered=True),
        profile("count(//c) - 1"),
        profile("//n:b", n="urn:n"),
        profile("//\u17b4"),  # a name of the fifth edition of XML 1.0: libxml2's XPath refuses it
        profile("//a["),
    ]
    pairs = [(document, asked) for document in (0, 1) for asked in range(len(profiles))]
    said = evaluate(Job(DOCUMENTS, profiles, pairs), seconds=30)
    assert said == [True, True, False, False, False, None, False, False, False, False, False, None]


def test_a_pair_that_takes_too_long_is_left_out_alone() -> None:
    profiles = [profile("//i"), profile(SLOW), profile("//j"), profile("/r")]
    job = Job(DOCUMENTS, profiles, [(2, asked) for asked in range(4)], pair_seconds=0.3)
    assert evaluate(job, seconds=60) == [True, None, False, True]
    assert evaluate(job, seconds=0) == [None] * 4


def universe(**rest: object) -> Universe:
    """A hundred documents, each with ten matches of native profiles; the first of them has the only hybrid match."""
    classes = ["native"] * 900 + ["hybrid"] * 100
    answers = {d: frozenset(range(10 * d % 500, 10 * d % 500 + 10)) for d in range(100)}
    answers[0] |= {950}
    return Universe(100, classes, answers, **rest)  # type: ignore[arg-type]


def test_samples_have_all_kinds_of_pairs() -> None:
    some, rng = universe(), random.Random(1)
    hits = matches(some, 50, rng)
    assert len(set(hits)) == 50
    assert (0, 950) in hits  # the rare class is all there
    assert all(some.is_match(pair) for pair in hits)
    labels = {number: [frozenset({f"l{number % 50}"})] for number in range(1000)}
    held_labels = [frozenset({f"l{d % 50}"}) for d in range(100)]
    others = non_matches(some, 300, rng, labels, held_labels)
    assert len(set(others)) == 300
    assert not any(some.is_match(pair) for pair in others)
    likely = [(d, p) for d, p in others if d % 50 == p % 50]
    assert len(likely) >= 90
    assert any(p >= 900 for _, p in likely)
    assert sum(p < 500 for _, p in others) > 50  # profiles that match others
    assert non_matches(some, 300, random.Random(1), labels, held_labels) != others


def test_what_is_undecided_or_to_be_asked_later_is_not_sampled() -> None:
    some = universe(unsure=frozenset({(1, 700)}), unasked={2: frozenset(range(300, 1000))})
    every = census(some)
    assert len(every) == 100 * 1000 - 1 - 700
    assert {(1, 700), (2, 300)}.isdisjoint(every)
    drawn = non_matches(some, 2000, random.Random(2), {700: [frozenset()]}, [frozenset()] * 3)
    assert (0, 700) in drawn
    assert (1, 700) not in drawn
    assert not any(d == 2 and p >= 300 for d, p in drawn)


def test_labels_say_where_a_profile_could_hold() -> None:
    own = held(DOCUMENTS[0])
    assert any(labels <= own for labels in needed(profile("//b[@x][not(d)]")))
    assert not any(labels <= own for labels in needed(profile("//b/d | //b/@y")))
    assert needed(profile("1 = 2")) == needed(profile("//a[")) == []
