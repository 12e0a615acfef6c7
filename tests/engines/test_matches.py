"""The one sentence that must stay true: matches are what lxml says, pair by pair."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from winnow import Matcher
from winnow.engines import ENGINES
from winnow.engines.automata.strategies import STRATEGIES
from xpath_strategies import NAMESPACES, document, native_profile, ordered_profile, profile

from .truth import NIGHTLY, Profile, assert_same, pairs_of, taken, truth

CASES = settings(
    max_examples=1000 if NIGHTLY else 15,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
)
SEEDS = range(400 if NIGHTLY else 12)
NAMES = (*ENGINES, *(f"nfa+{name}" for name in STRATEGIES[1:]), "buff+bottom-up", "xfilter+top-down-pruned")
MAKERS = {"native": native_profile, "hybrid": profile, "ordered": ordered_profile}


def make(kind: str, count: int, r: Random) -> list[Profile]:
    return [(f"{kind}{n}", MAKERS[kind](r), NAMESPACES, kind == "ordered") for n in range(count)]


def check(engine: str, documents: list[bytes], profiles: list[Profile]) -> None:
    matcher = Matcher(profiles, engine=engine)
    profiles = taken(matcher, profiles)
    assert_same(pairs_of(matcher, documents), truth(profiles, documents), profiles, documents)
    assert not matcher.refused


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize("kind", MAKERS)
@CASES
@given(r=st.randoms(use_true_random=False))
def test_a_counterexample_would_be_small(engine: str, kind: str, r: Random) -> None:
    check(engine, [document(r, 3).encode()], make(kind, 4, r))


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize("seed", SEEDS)
def test_matches_are_the_references(engine: str, seed: int) -> None:
    r = Random(seed)
    check(engine, [document(r).encode() for _ in range(8)], [row for kind in MAKERS for row in make(kind, 80, r)])


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize("seed", SEEDS)
def test_add_retire_add_again_is_building_afresh(engine: str, seed: int) -> None:
    r = Random(seed)
    documents = [document(r).encode() for _ in range(6)]
    profiles = [row for kind in MAKERS for row in make(kind, 15, r)]
    r.shuffle(profiles)
    profiles = taken(Matcher(profiles), profiles)
    forgotten, resumed, kept, late = profiles[:10], profiles[10:20], profiles[20:30], profiles[30:]
    matcher = Matcher([*forgotten, *resumed, *kept], engine=engine)
    pairs_of(matcher, documents[:3])  # what was joined before the change must not matter
    matcher.retire(row[0] for row in (*forgotten, *resumed))
    matcher.add(late)
    pairs_of(matcher, documents[2:4])
    matcher.add(resumed)
    fresh = Matcher([*kept, *late, *resumed], engine=engine)
    assert len(matcher) == len(fresh)
    assert pairs_of(matcher, documents) == pairs_of(fresh, documents)


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize("seed", SEEDS)
def test_chunked_is_unchunked(engine: str, seed: int) -> None:
    r = Random(seed)
    documents = [document(r).encode() for _ in range(8)]
    profiles = [row for kind in MAKERS for row in make(kind, 15, r)]
    whole, parts = Matcher(profiles, engine=engine), Matcher(profiles, engine=engine)
    cut = r.randrange(9)
    matches = list(whole.match(documents))
    chunked = [*parts.match(enumerate(documents[:cut])), *parts.match(enumerate(documents[cut:], start=cut))]
    assert sorted(matches) == sorted(chunked)  # witnesses, too
