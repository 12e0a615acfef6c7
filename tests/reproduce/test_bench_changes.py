"""`winnow bench changes` tells what engines cost that have sent what they should."""

import numpy as np
import pytest
from lxml import etree

from winnow import Matcher
from winnow.bench import changes
from winnow.broker import Broker, Delivery
from winnow.engines.boxfilter.engine import BoxFilter
from winnow.envelope import EnvelopeTree, check_invariants, subtree

NAMES = ("boxfilter", "nfa", "buff")


def test_rows_of_a_small_work() -> None:
    told = changes.run(profiles=120, documents=20, engines=NAMES)
    assert told["parse_us"] > 0
    for name in NAMES:
        assert set(told[name]) == {
            "insert_us", "delete_us", "retire_us", "search_before_us", "search_between_us", "search_after_us",
            "search_of_the_rest_alone_us",
        }  # fmt: skip
        assert all(value > 0 for value in told[name].values())


def test_nine_tenths_of_what_is_left_are_retired() -> None:
    work = changes.make_work(200, 1)
    go, stay = changes.left_at_the_end(work)
    assert (len(go), len(stay)) == (90, 10)
    gone_in_rounds = {profile[0] for profile in work.profiles[:100]}
    assert not gone_in_rounds & {*go, *(profile[0] for profile in stay)}


@pytest.mark.parametrize("engine", changes.ENGINES)
def test_what_is_sent_at_the_end_is_what_lxml_says(engine: str) -> None:
    work = changes.make_work(3000, 15)
    sent = changes.measure(engine, work)["sent"]
    stay = changes.left_at_the_end(work).stay
    expected: dict[tuple[str, str], list[str]] = {}
    for number, content in enumerate(work.documents):
        root = etree.fromstring(content)
        for name, xpath, _, _, destination in stay:
            if destination and etree.XPath(f"boolean({xpath})")(root):
                expected.setdefault((f"last-{number}", destination), []).append(name)
    last = {(document, place): list(ids) for document, place, ids in sent if document.startswith("last-")}
    assert last == {key: sorted(ids) for key, ids in expected.items()}
    assert last


def test_a_snapshot_stays_what_it_was_while_profiles_come_and_go() -> None:
    work = changes.make_work(400, 10)
    sent: list[Delivery] = []
    broker = Broker(sent.append, Matcher(engine="boxfilter"))
    engine = broker.matcher.engine
    assert isinstance(engine, BoxFilter)

    def publish(name: str) -> EnvelopeTree:
        for number, content in enumerate(work.documents):
            broker.publish(f"{name}-{number}", content)
        broker.flush()
        return engine.index.tree

    broker.subscribe(work.profiles[:200])
    snapshot = publish("one")
    arrays = [np.copy(array) for array in (*snapshot.arrays.rows, *snapshot.arrays.nodes, *snapshot.arrays[2:])]
    broker.subscribe(work.profiles[200:])
    broker.unsubscribe([profile[0] for profile in work.profiles[:180]])
    changed = publish("two")
    assert changed is not snapshot
    assert len(changed) != len(snapshot)
    for before, now in zip(arrays, (*snapshot.arrays.rows, *snapshot.arrays.nodes, *snapshot.arrays[2:]), strict=True):
        assert np.array_equal(before, now)
    assert check_invariants(subtree(snapshot, snapshot.root)) == check_invariants(changed) == []
