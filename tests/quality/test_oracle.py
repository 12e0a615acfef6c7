"""Which pairs are asked, and what libxml2 says of them."""

import pyarrow as pa

from winnow.quality.label_tasks import held, needed
from winnow.quality.libxml2_tasks import Job, Profile, evaluate
from winnow.quality.oracle import Probe
from winnow.quality.oracle_tasks import answer

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


def probe(key: int, xpath: str, *, is_recent: bool = False, kind: str = "native") -> Probe:
    return Probe(key, f"p{key}", kind, xpath, (), False, is_recent)


def drawn(content: bytes, answers: list[int], *, is_new: bool = True, **rest: object) -> dict[str, object]:
    row = {"document_id": "d", "content": content, "is_new": is_new, "answers": answers, "undecided": [], "matched": []}
    return row | rest


def asked(*rows: dict[str, object], probes: list[Probe], limit: int | None = None) -> dict[str, object]:
    found: list[dict[str, object]] = answer(pa.RecordBatch.from_pylist(list(rows)), probes, limit, "seed").to_pylist()
    return found[0]


def test_lost_and_made_up_matches_are_told() -> None:
    probes = [probe(1, "//b"), probe(2, "//c"), probe(3, "//d", kind="hybrid")]
    found = asked(drawn(DOCUMENTS[0], [1, 3]), probes=probes)
    assert {name: found[name] for name in ("pairs", "known", "matches", "hybrid", "wrong")} == {
        "pairs": 3, "known": 3, "matches": 2, "hybrid": 1, "wrong": 2,
    }  # fmt: skip
    assert found["examples"] == [
        "document d, profile p2: not staged, libxml2 says it matches",
        "document d, profile p3: staged as a match, libxml2 says it does not match",
    ]


def test_pairs_that_were_given_up_or_not_asked_are_not_judged() -> None:
    probes = [probe(1, "//b"), probe(2, "//c"), probe(3, "//a", is_recent=True)]
    assert asked(drawn(DOCUMENTS[0], [3], is_new=False), probes=probes)["pairs"] == 1
    assert asked(drawn(DOCUMENTS[0], [3], undecided=[1, 2]), probes=probes)["wrong"] == 0


def test_profiles_whose_labels_a_document_has_come_first() -> None:
    probes = [probe(key, f"//x{key}") for key in range(50)] + [probe(99, "//b[@x]")]
    own = {"profile_key": 7, "profile_id": "p7", "class": "native", "xpath": "//c", "namespaces": [], "ordered": False}
    found = asked(drawn(DOCUMENTS[0], [7], matched=[own]), probes=probes, limit=3)
    assert (found["pairs"], found["matches"], found["wrong"]) == (3, 1, 1)
    assert found["examples"] == ["document d, profile p99: not staged, libxml2 says it matches"]


def test_labels_say_where_a_profile_could_hold() -> None:
    own = held(DOCUMENTS[0])
    assert any(labels <= own for labels in needed(profile("//b[@x][not(d)]")))
    assert not any(labels <= own for labels in needed(profile("//b/d | //b/@y")))
    assert needed(profile("1 = 2")) == needed(profile("//a[")) == []
