"""The broker against a naive model: a dictionary of profiles, and lxml for each document as it comes."""

from random import Random

import pytest
from lxml import etree

from winnow import Matcher
from winnow.broker import Broker, Delivery, Subscription
from winnow.errors import UsageError
from winnow.xpath import Rejected, compile_profile
from xpath_strategies import NAMESPACES, document, native_profile, profile

from .test_matches import SEEDS


class Model:
    """One document after the other."""

    def __init__(self) -> None:
        self.profiles: dict[str, Subscription] = {}
        self.sent: list[tuple[str, str, frozenset[str]]] = []

    def subscribe(self, row: Subscription) -> None:
        try:
            compile_profile(row[1], row[2], ordered=row[3])
        except Rejected:
            return
        self.profiles[row[0]] = row

    def publish(self, name: str, content: bytes) -> None:
        root = etree.fromstring(content)
        holding: dict[str, set[str]] = {}
        for profile_id, xpath, namespaces, _, destination in self.profiles.values():
            if destination is not None and etree.XPath(f"boolean({xpath})", namespaces=dict(namespaces))(root):
                holding.setdefault(destination, set()).add(profile_id)
        self.sent += [(name, place, frozenset(ids)) for place, ids in sorted(holding.items())]


@pytest.mark.parametrize("engine", ["boxpath", "boxfilter", "b-boxfilter"])
@pytest.mark.parametrize("seed", SEEDS)
def test_any_order_of_changes_and_documents(engine: str, seed: int) -> None:
    """Documents that wait meet the profiles of when they came, whatever the size of a batch."""
    r = Random(seed)
    xpaths = [r.choice((native_profile, profile))(r) for _ in range(12)] + ["//a[", "/*", "/*"]
    sent: list[Delivery] = []
    broker = Broker(sent.append, Matcher(engine=engine), batch_documents=r.choice((1, 3, 100)))
    model = Model()
    for number in range(60):
        move = r.random()
        if move < 0.4:
            destination = r.choice(("x", "y", "z", None))
            row = (r.choice("abcdefgh"), r.choice(xpaths), NAMESPACES, False, destination)
            broker.subscribe([row])
            model.subscribe(row)
        elif move < 0.5 and model.profiles:
            gone = r.choice(sorted(model.profiles))
            broker.unsubscribe([gone])
            del model.profiles[gone]
        else:
            content = document(r, 4).encode()
            broker.publish(str(number), content)
            model.publish(str(number), content)
        assert {i: (*route[:3], route.destination) for i, route in broker.routing_table.items()} == {
            i: row[1:] for i, row in model.profiles.items()
        }
    broker.flush()
    order = {name: k for k, (name, _, _) in enumerate(model.sent)}
    found = [(row.document, row.destination, frozenset(row.profile_ids)) for row in sent]
    assert [order[name] for name, _, _ in found] == sorted(order[name] for name, _, _ in found)
    assert sorted(found, key=str) == sorted(model.sent, key=str)
    assert not broker.matcher.refused
    assert not broker.document_table


def test_a_destination_alone_is_changed_without_the_index() -> None:
    sent: list[Delivery] = []
    broker = Broker(sent.append)
    broker.subscribe([("p", "//a", {}, False, "x"), ("q", "//a", {}, False, "x"), ("r", "/a", {}, False, "y")])
    patterns = len(broker.matcher.engine.store)
    slots = len(broker.matcher.profile_ids)
    assert patterns == 2  # equal profiles share one
    broker.publish("1", b"<a/>")
    broker.subscribe([("p", "//a", {}, False, "y")])
    broker.publish("2", b"<a/>")
    broker.flush()
    assert sent == [("1", "x", ("p", "q")), ("1", "y", ("r",)), ("2", "x", ("q",)), ("2", "y", ("p", "r"))]
    assert (len(broker.matcher.engine.store), len(broker.matcher.profile_ids)) == (patterns, slots)
    assert {"a"} <= set(broker.dictionary.labels())


def test_a_rejected_change_changes_nothing() -> None:
    sent: list[Delivery] = []
    broker = Broker(sent.append)
    broker.subscribe([("p", "//a", {}, False, "x")])
    rejected = broker.subscribe(
        [("p", "//a[", {}, False, "y"), ("q", "//a", {}, False, "y"), ("q", "//b", {}, False, "z")]
    )
    assert [(row.profile_id, row.code) for row in rejected] == [("p", "syntax_error")]
    broker.publish("1", b"<a/>")
    broker.publish("1", b"<b/>")  # the same name again: nothing is lost
    broker.flush()
    assert sent == [("1", "x", ("p",)), ("1", "z", ("q",))]


def test_documents_wait_for_a_batch_and_survive_a_failure() -> None:
    tries: list[Delivery] = []

    def send(delivery: Delivery) -> None:
        tries.append(delivery)
        if len(tries) == 2:
            raise OSError("not now")

    broker = Broker(send, batch_documents=3)
    broker.subscribe([("p", "//a", {}, False, "x")])
    broker.publish("1", b"<a/>")
    broker.publish("2", b"<a")
    assert set(broker.document_table) == {"1", "2"}
    with pytest.raises(OSError, match="not now"):
        broker.publish("3", b"<a/>")
    assert set(broker.document_table) == {"1", "2", "3"}
    broker.flush()
    assert [delivery.document for delivery in tries] == ["1", "3", "1", "3"]
    assert {row.document for row in broker.matcher.refused} == {"2"}


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="profiles_without_route"):
        Broker(print, Matcher([("p", "//a")]))
    broker = Broker(print)
    broker.subscribe([("p", "//a", {}, False, "x")])
    with pytest.raises(UsageError, match="unknown_profile"):
        broker.unsubscribe(["p", "q"])
    assert set(broker.routing_table) == {"p"}
