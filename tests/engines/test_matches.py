"""The one sentence that must stay true: matches are what lxml says, pair by pair."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xpath_strategies import NAMESPACES, document, native_profile, ordered_profile, profile

from winnow import Matcher
from winnow.engines import ENGINES

from .truth import NIGHTLY, Profile, assert_same, pairs_of, taken, truth

CASES = settings(
    max_examples=400 if NIGHTLY else 12, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
MAKERS = {"native": native_profile, "hybrid": profile, "ordered": ordered_profile}


def make(kind: str, count: int, r: Random) -> list[Profile]:
    return [(f"{kind}{n}", MAKERS[kind](r), NAMESPACES, kind == "ordered") for n in range(count)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", MAKERS)
@CASES
@given(r=st.randoms(use_true_random=False))
def test_matches_are_the_references(engine: str, kind: str, r: Random) -> None:
    documents = [document(r).encode() for _ in range(6)]
    profiles = make(kind, 40, r)
    matcher = Matcher(profiles, engine=engine)
    profiles = taken(matcher, profiles)
    assert_same(pairs_of(matcher, documents), truth(profiles, documents), profiles, documents)
    assert not matcher.refused


@pytest.mark.parametrize("engine", ENGINES)
@CASES
@given(r=st.randoms(use_true_random=False))
def test_add_retire_add_again_is_building_afresh(engine: str, r: Random) -> None:
    documents = [document(r).encode() for _ in range(6)]
    profiles = [row for kind in MAKERS for row in make(kind, 15, r)]
    r.shuffle(profiles)
    matcher = Matcher(profiles[:30], engine=engine)
    profiles = taken(matcher, profiles[:30]) + profiles[30:]
    pairs_of(matcher, documents[:3])  # what was joined before the change must not matter
    gone = {row[0] for row in profiles[:20]}
    matcher.retire(gone)
    matcher.add(profiles[30:])
    pairs_of(matcher, documents[2:4])
    matcher.add(profiles[10:20])
    fresh = Matcher([row for row in profiles if row[0] not in {p[0] for p in profiles[:10]}], engine=engine)
    assert len(matcher) == len(fresh)
    assert pairs_of(matcher, documents) == pairs_of(fresh, documents)


@pytest.mark.parametrize("engine", ENGINES)
@CASES
@given(r=st.randoms(use_true_random=False))
def test_chunked_is_unchunked(engine: str, r: Random) -> None:
    documents = [document(r).encode() for _ in range(8)]
    profiles = [row for kind in MAKERS for row in make(kind, 15, r)]
    whole, parts = Matcher(profiles, engine=engine), Matcher(profiles, engine=engine)
    cut = r.randrange(9)
    matches = list(whole.match(documents))
    chunked = [*parts.match(enumerate(documents[:cut])), *parts.match(enumerate(documents[cut:], start=cut))]
    assert sorted(matches) == sorted(chunked)  # witnesses, too
