"""No answer of libxml2 hangs a task: it is given here or by a child process, or the pair is reported as undecided."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from winnow import Matcher
from winnow.deciding.judge import Judge, size_of
from winnow.deciding.limits import EvaluationLimits
from winnow.deciding.profile import HybridProfile, hybrid_of
from winnow.deciding.undecided import Undecided
from winnow.explain import explain
from winnow.matcher import UndecidedPair
from winnow.xpath import compile_profile
from xpath_strategies import NAMESPACES, document, profile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PID = os.getpid()
NIGHTLY = bool(os.environ.get("WINNOW_NIGHTLY"))
ELSEWHERE = EvaluationLimits(budget=0.0)  # nothing is surely quick
WIDE = b"<r>" + b"<a>1</a>" * 40_000 + b"<b/></r>"
SLOW = ["//a[count(preceding-sibling::*) = 77777777]", "count(//a[. = //b]) = 5", "//a[not(//z)][count(../a) = 3]"]


def hybrid(xpath: str) -> HybridProfile:
    found = hybrid_of(compile_profile(xpath, NAMESPACES))
    assert found is not None
    return found


def children(parent: int = 0) -> set[int]:
    """Processes whose parent is that one, or this, zombies included."""
    return {int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if state(stat)[1] == str(parent or PID)}


def state(stat: Path) -> tuple[str, str]:
    """The state and the parent of a process."""
    try:
        name, parent, *_ = stat.read_text().rpartition(")")[2].split()
    except OSError:  # it is gone
        return "", ""
    return name, parent


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


def assert_equal_tiers(r: Random, count: int) -> None:
    documents = [document(r, 3).encode() for _ in range(max(count // 5, 1))]
    profiles = [(str(number), profile(r), NAMESPACES) for number in range(count)]
    here, elsewhere = (Matcher(profiles, evaluation=limits) for limits in (EvaluationLimits(), ELSEWHERE))
    matches = list(here.match(documents))
    assert list(elsewhere.match(documents)) == matches  # witnesses, too
    assert not here.undecided
    assert not elsewhere.undecided
    found = {(match.document, match.profile_id) for match in matches}
    rejected = {row.profile_id for row in here.rejected}
    roots = [etree.fromstring(content) for content in documents]
    for profile_id, xpath, namespaces in profiles:
        if profile_id not in rejected:
            asked = etree.XPath(f"boolean({xpath})", namespaces=namespaces)
            for number, root in enumerate(roots):
                assert ((number, profile_id) in found) is asked(root), (xpath, documents[number])


@settings(
    max_examples=300 if NIGHTLY else 15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
)
@given(st.randoms(use_true_random=False))
def test_a_counterexample_would_be_small(r: Random) -> None:
    assert_equal_tiers(r, 4)


@pytest.mark.parametrize("seed", range(100 if NIGHTLY else 6))
def test_both_tiers_say_what_lxml_says(seed: int) -> None:
    assert_equal_tiers(Random(seed), 80)


@pytest.mark.parametrize("xpath", SLOW)
def test_what_takes_too_long_is_undecided_and_its_neighbours_are_not(xpath: str) -> None:
    limits = EvaluationLimits(pair_seconds=0.3)
    matcher = Matcher([("slow", xpath), ("easy", "//a[not(z)]"), ("native", "//b")], evaluation=limits)
    began = time.process_time()
    found = [match[:2] for match in matcher.match([("wide", WIDE), ("small", b"<r><a/><b/></r>")])]
    assert time.process_time() - began < 20  # parsing and matching; the time of children is not in it
    assert sorted(found) == [(name, profile_id) for name in ("small", "wide") for profile_id in ("easy", "native")]
    words = "libxml2 needs more than 0.3 s for this pair"
    assert matcher.undecided == [UndecidedPair("wide", "slow", "pair_deadline", words)]


def test_a_batch_tells_in_flat_arrays() -> None:
    matcher = Matcher([("n", "//b"), ("s", SLOW[1])], evaluation=EvaluationLimits(pair_seconds=0.2))
    found = matcher.match_contents([b"<r><a/><b/></r>", WIDE])
    assert (found.undecided_documents.tolist(), found.undecided_profiles.tolist()) == ([1], [1])
    assert [why.reason for why in found.undecided_reasons] == ["pair_deadline"]
    assert matcher.match_contents([b"<r><b/></r>"]).undecided_documents.tolist() == []


def test_many_slow_profiles_on_one_document_share_its_time() -> None:
    profiles = [(str(number), f"count(//a[. = //b]) = {number}") for number in range(1, 200)]
    limits = EvaluationLimits(pair_seconds=0.3, document_seconds=2.0)
    matcher = Matcher(profiles, evaluation=limits)
    began = time.monotonic()
    assert not list(matcher.match([WIDE]))
    assert time.monotonic() - began < 60
    reasons = [pair.reason for pair in matcher.undecided]
    assert len(reasons) == len(profiles)
    given_up = reasons.count("pair_deadline")
    assert 3 <= given_up <= 6
    assert reasons == ["pair_deadline"] * given_up + ["document_deadline"] * (len(profiles) - given_up)


def test_quick_profiles_share_the_time_of_a_document_too() -> None:
    profiles = [(str(number), f"count(//a[not(b = {number})]) = {number}") for number in range(2, 500)]
    matcher = Matcher(profiles, evaluation=EvaluationLimits(document_seconds=0.05))
    content = b"<r>" + b"<a><b>1</b></a>" * 2_000 + b"</r>"
    assert not list(matcher.match([content]))
    numbers = [int(pair.profile_id) for pair in matcher.undecided]
    assert 0 < len(numbers) < len(profiles)
    assert numbers == list(range(numbers[0], 500))  # from the deadline on, all
    assert {pair.reason for pair in matcher.undecided} == {"document_deadline"}
    easy = Matcher(profiles)
    assert not list(easy.match([content]))
    assert not easy.undecided


def test_a_failed_evaluation_is_undecided() -> None:
    content = b"<r>" + b"x" * 8_000_000 + b"</r>"
    much = f"string-length(concat({', '.join(['/'] * 25)})) = 3"
    with Judge(EvaluationLimits(memory_bytes=200 << 20)) as judge:
        judge.open(content, size_of(content))
        answer = judge.ask(hybrid(much))
        assert isinstance(answer, Undecided)
        assert answer.reason == "evaluation_failed"
        assert judge.ask(hybrid("not(a)")) == 0


def test_a_proved_match_survives_the_search_for_its_witness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "from winnow.deciding import question\ndef endless(*_):\n    while True: pass\n"
    (tmp_path / "sitecustomize.py").write_text(script + "question.Prepared.first_element = endless\n")
    monkeypatch.syspath_prepend(str(tmp_path))  # children look there, too
    matcher = Matcher([("p", "//a[not(b)]")], evaluation=EvaluationLimits(budget=0.0, pair_seconds=0.3))
    assert [match.witness for match in matcher.match([b"<r><c/><a/></r>"])] == ["/r"]
    assert not matcher.undecided


def test_the_matcher_travels_with_its_limits() -> None:
    limits = EvaluationLimits(budget=0.0, pair_seconds=0.2)
    matcher = Matcher([("slow", SLOW[1]), ("easy", "//a[not(z)]")], evaluation=limits)
    assert len(list(matcher.match([b"<r><a/></r>"]))) == 1
    other = pickle.loads(pickle.dumps(matcher))
    assert [match.profile_id for match in other.match([WIDE])] == ["easy"]
    assert [pair.profile_id for pair in other.undecided] == ["slow"]


def test_a_child_that_dies_is_replaced() -> None:
    content = b"<r><a/></r>"
    with Judge(ELSEWHERE) as judge:
        judge.open(content, size_of(content))
        before = children()
        assert judge.ask(hybrid("//a[not(b)]")) == 1
        (child,) = children() - before
        os.kill(child, signal.SIGKILL)
        answer = judge.ask(hybrid("//a[not(c)]"))
        assert isinstance(answer, Undecided)
        assert answer.reason == "evaluation_failed"
        assert judge.ask(hybrid("//a[not(d)]")) == 1


def test_a_child_dies_with_its_parent() -> None:
    script = f"""
from winnow import Matcher
print("ready", flush=True)
list(Matcher([("slow", {SLOW[1]!r})]).match([b"<r>" + b"<a>1</a>" * 40_000 + b"<b/></r>"]))
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    parent.stdout.readline()
    wait_until(lambda: bool(children(parent.pid)))
    (child,) = children(parent.pid)
    time.sleep(0.5)  # it is at work
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: state(Path(f"/proc/{child}/stat"))[0] in {"", "Z"})


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_quick_work_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", None)
    matcher = Matcher([("p", "//a[not(b)]"), ("q", "//a[count(preceding-sibling::a) = 1]")])
    assert len(list(matcher.match([b"<r>" + b"<a/>" * 100 + b"</r>"] * 10))) == 20


def test_a_stored_document_that_libxml2_refuses_is_reported_and_the_others_go_on() -> None:
    refused = b"<a><b xml:id='i'/><b xml:id='i'/><c xmlns='relative'/></a>"  # an error before a warning
    matcher = Matcher([("p", "//a[not(zz)]")])
    assert [match.document for match in matcher.match([("x", refused), ("y", b"<a/>")], trusted=True)] == ["y"]
    (pair,) = matcher.undecided
    assert (pair.document, pair.reason) == ("x", "evaluation_failed")
    assert pair.message.startswith("libxml2 refuses the document: ")


def test_a_process_that_cannot_start_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    matcher = Matcher([("p", "//a[not(b)]")], evaluation=ELSEWHERE)
    assert not list(matcher.match([b"<r><a/></r>"]))
    assert [pair.reason for pair in matcher.undecided] == ["evaluation_failed"]


def test_explain_is_bounded_too() -> None:
    story = explain(WIDE, SLOW[1], evaluation=EvaluationLimits(pair_seconds=0.2))
    assert (story.matches, story.undecided) == (False, "pair_deadline: libxml2 needs more than 0.2 s for this pair")
    assert explain(b"<r><a/></r>", "//a[not(b)]", evaluation=ELSEWHERE).matches
    assert not explain(b"<r><a/></r>", "//a[not(b)]", evaluation=ELSEWHERE).undecided


@pytest.mark.spark
def test_a_spark_worker_gives_up_as_well(spark: "SparkSession") -> None:
    limits = EvaluationLimits(pair_seconds=0.3)
    matcher = pickle.dumps(Matcher([("slow", SLOW[1]), ("easy", "//a[not(z)]")], evaluation=limits))
    content = WIDE

    def task(_: int) -> tuple[list[str], list[str], str]:
        loaded = pickle.loads(matcher)
        found = [match.profile_id for match in loaded.match([content])]
        with Path(f"/proc/self/task/{os.getpid()}/children").open() as left:
            return found, [pair.profile_id for pair in loaded.undecided], left.read()

    answers = spark.sparkContext.parallelize(range(2), 2).map(task).collect()
    assert answers == [(["easy"], ["slow"], "")] * 2
