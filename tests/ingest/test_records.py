"""Records come out the same however the stream is cut, and as lxml sees them."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from winnow.ingest.records import split_records

TRICKY = (
    b'<?xml version="1.0"?><!DOCTYPE set [<!ELEMENT r ANY><!-- don\'t -->]>\n'
    b'<!-- <r>not</r> --><set xmlns="u:d" xmlns:p="u:p" a=" xmlns:p=\'no\'">'
    b"<head><![CDATA[<r>no</r>]]></head>\n<r a='1>2'>one<!-- </r> --></r><p:r p:k=\"v\"/>"
    b"<?pi <r> ?><sub xmlns:q='u:q' xmlns=''><r><q:x/><r>inner</r></r><r a=' xmlns:q=\"no\"'><q:x/></r></sub>"
    b"<r a='>' xmlns='u:own' xmlns:p = 'u:p2'><p:x/></r><rr/><r\n>last</r></set>"
)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(places)]


def contents(chunks: list[bytes], tag: str = "r", max_bytes: int = 10_000) -> list[tuple[int, bytes, int, str]]:
    return [tuple(record) for record in split_records(chunks, tag, max_bytes=max_bytes)]


@given(st.lists(st.integers(0, 10_000), max_size=40))
def test_cuts_do_not_matter(cuts: list[int]) -> None:
    assert contents(pieces(TRICKY, cuts)) == contents([TRICKY])


def test_records_mean_what_they_meant_in_the_container() -> None:
    def canonical(element: etree._Element) -> bytes:
        return etree.tostring(element, method="c14n", exclusive=True, with_tail=False)

    tree = etree.fromstring(TRICKY)
    expected = [e for e in tree.iter("{*}r") if not any(a.tag.endswith("r") for a in e.iterancestors("{*}r"))]
    found = contents([TRICKY])
    assert [canonical(etree.fromstring(content)) for _, content, _, _ in found] == [canonical(e) for e in expected]
    assert [line for _, _, line, _ in found][:3] == [e.sourceline for e in expected][:3]


def test_a_cut_off_container_keeps_whole_records_and_reports_the_rest() -> None:
    found = contents([b"<s><r>1</r><r>2</r><r>thr"])
    assert [(content, fault) for _, content, _, fault in found] == [
        (b"<r>1</r>", ""),
        (b"<r>2</r>", ""),
        (b"<r>thr", "truncated"),
    ]


def test_an_oversized_record_is_given_up_and_its_neighbours_go_on() -> None:
    big = b"<r>" + b"x" * 5000 + b"</r>"
    chunks = [b"<s><r>1</r>" + big[:2000], big[2000:4000], big[4000:] + b"<r>2</r></s>"]
    assert [(content, fault) for _, content, _, fault in contents(chunks, max_bytes=1000)] == [
        (b"<r>1</r>", ""),
        (b"", "oversized"),
        (b"<r>2</r>", ""),
    ]


def test_names_that_only_begin_alike_are_not_records() -> None:
    assert contents([b"<s><rx/><x-r/><r.1/></s>"]) == []


def test_tags_quoted_in_an_internal_subset_are_not_records() -> None:
    data = b"""<!DOCTYPE s [<!ENTITY e "<r>no"><!ENTITY f '</r>'><!ATTLIST r a CDATA "it's">]><s><r>1</r><r/></s>"""
    assert [content for _, content, _, _ in contents([data])] == [b"<r>1</r>", b"<r/>"]
