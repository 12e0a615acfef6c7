"""Ways to combine structure and values: the same matches (see test_matches.py), at different costs."""

import pickle
from pathlib import Path
from random import Random
from typing import Any

import pytest

from winnow import Matcher
from winnow.encoding import PathTable, Vocabulary
from winnow.engines import create
from winnow.engines.automata.strategies import STRATEGIES
from winnow.errors import UsageError

from .test_corpora import invoice_profiles, invoices
from .truth import NIGHTLY, assert_same, pairs_of, taken, truth

VALUES = [f"v{n}" for n in range(40)]


def workload(r: Random, documents: int = 20, profiles: int = 400) -> tuple[list[bytes], list[tuple[str, str]]]:
    """Records with three fields each; profiles ask for two of them."""
    names = [f"f{n}" for n in range(12)]

    def record() -> str:
        fields = "".join(f"<{name}>{r.choice(VALUES)}</{name}>" for name in r.sample(names, 3))
        tag = r.choice("abcd")
        return f"<{tag}>{fields}</{tag}>"

    made = [f"<r>{record()}{record()}</r>".encode() for _ in range(documents)]
    xpaths = [
        f"/r/{r.choice('abcd*')}[{r.choice(names)} = '{r.choice(VALUES)}']/{r.choice(names)}[. = '{r.choice(VALUES)}']"
        for _ in range(profiles)
    ]
    return made, [(f"p{n}", xpath) for n, xpath in enumerate(xpaths)]


def run(engine: str, documents: list[bytes], profiles: list[tuple[str, str]]) -> tuple[Any, dict[str, int]]:
    matcher = Matcher(profiles, engine=engine)
    found = pairs_of(matcher, documents)
    stats: dict[str, int] = matcher.engine.stats  # type: ignore[attr-defined]
    return found, stats


def test_values_first_or_last_changes_what_is_looked_at() -> None:
    documents, profiles = workload(Random(1))
    found = {name: run(f"nfa+{name}", documents, profiles) for name in STRATEGIES}
    assert len({frozenset(pairs) for pairs, _ in found.values()}) == 1
    stats = {name: counts for name, (_, counts) in found.items()}
    # Every predicate that is asked early leaves fewer patterns to verify.
    assert stats["step-by-step"]["candidates"] <= stats["bottom-up"]["candidates"] < stats["top-down"]["candidates"]
    assert stats["top-down-pruned"]["candidates"] <= stats["top-down"]["candidates"]
    # Automata without tests on values have fewer states; those of values alone have fewest.
    assert stats["bottom-up"]["states"] < stats["top-down"]["states"] <= stats["step-by-step"]["states"]


def test_documents_go_only_where_their_values_are_asked_for() -> None:
    r = Random(2)
    documents, profiles = workload(r, profiles=60)
    _, stats = run("nfa+top-down-pruned", documents, profiles)
    assert stats["pruned"] > 0
    strangers = [b"<r><a><f1>nobody asks</f1></a></r>"] * 5
    _, stats = run("nfa+top-down-pruned", strangers, profiles)
    assert stats["messages"] == 0
    _, stats = run("nfa+top-down-pruned", strangers, [*profiles, ("any", "/r/a[f1]")])
    assert stats["messages"] == 5  # no value can rule this one out


def test_filters_follow_profiles_that_come_and_go() -> None:
    documents, profiles = workload(Random(3), profiles=300)
    matcher = Matcher(profiles, engine="nfa+top-down-pruned")
    whole = pairs_of(matcher, documents)
    matcher.retire([profile_id for profile_id, _ in profiles[10:]])
    few = pairs_of(matcher, documents)
    assert few == pairs_of(Matcher(profiles[:10], engine="nfa"), documents)
    matcher.add(profiles[10:])
    assert pairs_of(pickle.loads(pickle.dumps(matcher)), documents) == whole
    matcher.retire([profile_id for profile_id, _ in profiles])
    assert not pairs_of(matcher, documents)
    assert matcher.engine.stats["messages"] == 0  # type: ignore[attr-defined]


def test_a_filter_grows_with_its_patterns() -> None:
    profiles = [(f"p{n}", f"/r/a[f = 'v{n}']") for n in range(5000)]
    documents = [b"<r><a><f>v4999</f></a></r>", b"<r><a><f>v5000</f></a></r>"]
    found, stats = run("nfa+top-down-pruned", documents, profiles)
    assert len(found) == 1
    assert stats["messages"] == 1


@pytest.mark.parametrize("engine", ["boxpath", "nfa"])
def test_a_guarded_matcher_looks_at_fewer_documents(engine: str) -> None:
    documents, profiles = workload(Random(5), documents=200, profiles=30)
    plain, guarded = Matcher(profiles, engine=engine), Matcher(profiles, engine=engine)
    guarded.guard_values()
    assert sorted(guarded.match(documents)) == sorted(plain.match(documents))  # witnesses, too
    assert guarded.funnel.documents < plain.funnel.documents / 2
    late = ("late", "/r/a[f1]")
    plain.add([late])
    guarded.add([late])  # and the filter is gone
    assert pairs_of(guarded, documents) == pairs_of(plain, documents)
    guarded.guard_values()  # which no value can pass by
    assert pairs_of(guarded, documents) == pairs_of(plain, documents)


@pytest.mark.parametrize("strategy", STRATEGIES[1:])
def test_invoices(strategy: str, corpora: Path) -> None:
    r = Random(8)
    documents, profiles = invoices(corpora), invoice_profiles(corpora)
    if not NIGHTLY:
        documents, profiles = r.sample(documents, 20), r.sample(profiles, 400)
    matcher = Matcher(profiles, engine=f"nfa+{strategy}")
    profiles = taken(matcher, profiles)
    assert_same(pairs_of(matcher, documents), truth(profiles, documents), profiles, documents)


@pytest.mark.parametrize("name", ["nfa+sideways", "boxpath+bottom-up", "nfa+"])
def test_unknown_strategies_are_named(name: str) -> None:
    with pytest.raises(UsageError, match="there is no engine") as caught:
        create(name, Vocabulary(), PathTable())
    assert "bottom-up" in (caught.value.hint or "")
