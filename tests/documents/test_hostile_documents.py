"""Acceptance, encoder and libxml2 agree on hostile documents, and none of them takes long."""

import gc
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.campaign import campaign
from documents.differences import Encoders, judge
from documents.generator import hostile_document
from documents.work import instructions
from encoding.documents import NIGHTLY, examples
from winnow.documents.acceptance import bounds_of, encode_accepted
from winnow.encoding import Encoder, PathTable, Status, Vocabulary
from winnow.ingest.accept import Accepted, Limits, Refused, accept
from winnow.ingest.reasons import Reason
from winnow.matcher import Matcher

CASES = Path(__file__).parent / "hostile"
ENCODERS = Encoders()


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_found_cases(case: str) -> None:
    assert judge((CASES / case).read_bytes(), ENCODERS).difference == ""


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(300))
def test_whatever_is_accepted_is_encoded_with_the_nodes_of_libxml2(random: Random) -> None:
    content = hostile_document(random)
    assert judge(content, ENCODERS).difference == "", content


@pytest.mark.skipif(not NIGHTLY, reason="a campaign of ten minutes: the nightly setting runs it")
def test_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("WINNOW_SEED", time.time_ns() // 10**9))
    with capsys.disabled():  # its counts are read by people
        assert campaign(documents=10**9, seconds=600, seed=seed) == []


def test_a_campaign_tells_its_counts() -> None:
    said: list[str] = []
    campaign(documents=200, seconds=600, seed=1, say=said.append)
    total, *counts, slowest = said
    assert total.startswith("seed 1: 200 documents in ")
    found = {name.strip(): int(line.split()[-1]) for line in counts for name in [line.rsplit(maxsplit=1)[0]]}
    assert sum(count for name, count in found.items() if name == "accepted" or name.startswith("refused")) == 200
    assert 0 < found["proven by the scanner"] < found["accepted"]
    assert slowest.strip().startswith("slowest, times a plain document")


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "p:", "q:", "xmlns:", "xmlns:"]), st.sampled_from(["x", "&amp;", "\t"]),
                  st.sampled_from([0, 1, 30, 3_000, 9_000])),
        max_size=60,
    ),
    st.integers(1, 3),
)  # fmt: skip
@settings(max_examples=examples(60))
def test_long_tags_are_read_as_by_libxml2(attributes: list[tuple[str, str, int]], times: int) -> None:
    """New names and namespaces are learnt ahead of the scanner, which may be in another context when it comes there."""
    tag = "<p:a xmlns:p='urn:p' xmlns:q='urn:q'" + "".join(
        f" {prefix}n{k}='{'u' * (1 + length % 7) if prefix == 'xmlns:' else piece * length}'"
        for k, (prefix, piece, length) in enumerate(attributes)
    )
    content = "<r>" + "".join(f"{tag} last='{k}' xmlns='urn:{k}'><b/></p:a>" for k in range(times)) + "</r>"
    assert judge(content.encode(), ENCODERS).difference == "", content
    assert judge(content.encode(), Encoders()).difference == "", content


Shape = Callable[[int], bytes]
SHAPES: dict[str, Shape] = {
    "attributes of an element": lambda n: b"<a " + b" ".join(b"a%d='1'" % k for k in range(n)) + b"/>",
    "attributes, walked": lambda n: b"<!DOCTYPE a []><a " + b" ".join(b"a%d='1'" % k for k in range(n)) + b"/>",
    "attributes with long values": lambda n: (
        b"<a " + b" ".join(b"a%d='%s'" % (k, b"\t" * 200) for k in range(n)) + b"/>"
    ),
    "attributes by default": lambda n: (
        b"<!DOCTYPE a [" + b"".join(b"<!ATTLIST a a%d CDATA ''>" % k for k in range(n)) + b"]><a/>"
    ),
    "namespaces of an element": lambda n: b"<a " + b" ".join(b"xmlns:p%d='u%d'" % (k, k) for k in range(n)) + b"/>",
    "namespaces behind attributes": lambda n: (
        b"<a "
        + b" ".join(b"a%d=''" % k for k in range(n - n // 16))
        + b"".join(b" xmlns:p%d='u'" % k for k in range(n // 16))
        + b"/>"
    ),
    "namespaces in scope": lambda n: (
        b"".join(b"<a xmlns:p%d='u'>" % k for k in range(200))
        + b"".join(b"<b xmlns:q='u%d'/>" % k for k in range(n))
        + b"</a>" * 200
    ),
    "siblings": lambda n: b"<a>" + b"<b/>" * n + b"</a>",
    "depth": lambda n: b"<a>" + (b"<b>" * 250 + b"</b>" * 250) * (n // 250) + b"</a>",
    "text pieces": lambda n: b"<a>" + b"x<!---->" * n + b"</a>",
    "text pieces, walked": lambda n: b"<!DOCTYPE a []><a>" + b"x<b/>" * n + b"</a>",
    "CDATA sections": lambda n: b"<a>" + b"<![CDATA[x]]>" * n + b"</a>",
    "character references": lambda n: b"<a b='" + b"&#65;" * n + b"'>" + b"&#65;" * n + b"</a>",
    "entity references": lambda n: b"<!DOCTYPE a SYSTEM 'x'><a>" + b"&amp;" * n + b"</a>",
    "unknown references": lambda n: b"<!DOCTYPE a SYSTEM 'x'><a><!--" + b"&f;" * n + b"--></a>",
    "distinct names": lambda n: b"<a>" + b"".join(b"<b%d/>" % k for k in range(n)) + b"</a>",
    "distinct names of attributes": lambda n: b"<a>" + b"".join(b"<b b%d=''/>" % k for k in range(n)) + b"</a>",
    "comments": lambda n: b"<a>" + b"<!--x-->" * n + b"</a>",
    "comments that quote a DOCTYPE": lambda n: b"<!--" + b"<!DOCTYPE " * n + b"--><!DOCTYPE a SYSTEM 'x'><a>&amp;</a>",
    "comments before a DOCTYPE": lambda n: b"<!--x-->" * n + b"<!DOCTYPE a SYSTEM 'x'><a/>",
    "comments in a DOCTYPE": lambda n: b"<!DOCTYPE a [" + b"<!--x-->" * n + b"]><a/>",
    "a DOCTYPE of open comments": lambda n: b"<!DOCTYPE a [" + b"<!ELEMENT a " * n + b"<!--" * n + b"]><a/>",
    "instructions": lambda n: b"<a>" + b"<?x y?>" * n + b"</a>",
    "open namespaces": lambda n: b"<!DOCTYPE a SYSTEM 'x'><a><!--" + b"xmlns='" * n + b"--></a>",
    "another encoding": lambda n: (
        b"<?xml version='1.0' encoding='ISO-8859-1'?><a>" + b"\xe9<b>x</b>" * n + b"</a>"
    ),
}  # fmt: skip
PROFILES = [("p", "//b[3]"), ("q", "//*[.='zz']"), ("r", "//@*"), ("s", "//b/text()"), ("t", "/a/b[.='x']")]


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    """A collection looks at all objects of the process, which takes longer than to read a document."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collection")
@pytest.mark.parametrize("name", SHAPES)
def test_no_shape_takes_more_than_n_log_n(name: str) -> None:
    """Eight times the size may take sixteen times the CPU time; what is quadratic takes 64 times."""
    matcher = Matcher(PROFILES)
    list(matcher.match([SHAPES[name](250)]))

    def seconds(n: int) -> float:
        content = SHAPES[name](n)
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            encode_accepted(Encoder(Vocabulary(), PathTable()), [content], Limits(), values=True)
            if isinstance(accept(content, Limits()), Accepted):
                Encoder(Vocabulary(), PathTable()).encode([content], values=True)
                matcher.match_contents([content])
            best = min(best, time.process_time() - start)
        return best

    assert seconds(16_000) < 16 * max(seconds(2_000), 0.004)


@pytest.mark.parametrize("name", SHAPES)
def test_no_shape_takes_more_instructions_than_n_log_n(name: str) -> None:
    """Ten times the size takes up to 13.6 times the work; what is quadratic takes a hundred times."""

    def work(n: int) -> int:
        content, matcher = SHAPES[name](n), Matcher(PROFILES)
        list(matcher.match([SHAPES[name](1)]))

        def step() -> None:
            encode_accepted(Encoder(Vocabulary(), PathTable()), [content], Limits(), values=True)
            if isinstance(accept(content, Limits()), Accepted):
                Encoder(Vocabulary(), PathTable()).encode([content], values=True)
                matcher.match_contents([content])

        return instructions(step)

    assert work(3_600) < 14 * max(work(360), 10_000)


@pytest.mark.parametrize("name", SHAPES)
def test_the_scanner_reads_few_bytes_again(name: str) -> None:
    """After a name that it has not met, the scanner reads the tag again; it looks ahead so that this stays rare.

    What it looks at grows with what it read again, so a tag costs a few times its size, however long its values are.
    """
    content = SHAPES[name](4_000)
    for bounds in (None, bounds_of(Limits())):
        encoder = Encoder(Vocabulary(), PathTable())
        encoder.encode([content], values=True, bounds=bounds)
        assert encoder.bytes_read_again < 6 * len(content)


REFUSED = {
    "a name": (b"<a><" + b"n" * 1001 + b"/></a>", 1),
    "a namespace": (b"<a\nxmlns='" + b"u" * 1001 + b"'/>", 2),
    "a namespace of very many nodes": (b"<a xmlns='" + b"u" * 900 + b"'>" + b"<b/>" * 300_000 + b"</a>", 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_names_are_bounded_because_labels_repeat_them(name: str) -> None:
    content, line = REFUSED[name]
    verdict = accept(content, Limits())
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.line) == (Reason.LONG_NAMES, line)


def test_long_text_and_values_are_no_long_names() -> None:
    content = b"<a b='" + b"x" * 5000 + b"'>" + b"y" * 5000 + b"<!--" + b"z" * 5000 + b"-->"
    content += b"<![CDATA[<" + b"c" * 5000 + b"]]><!-- xmlns='" + b"u" * 5000 + b"' <" + b"n" * 5000 + b"--></a>"
    assert isinstance(accept(content, Limits()), Accepted)


def test_tags_with_thousands_of_attributes_are_encoded() -> None:
    for count, status in ((3_000, Status.SCANNED), (40_000, Status.WALKED)):
        batch = Encoder(Vocabulary(), PathTable()).encode([SHAPES["attributes of an element"](count)], values=True)
        assert (batch.nodes, batch.status[0]) == (count + 1, status)
