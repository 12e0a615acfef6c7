"""Records come out the same however the stream is cut, and as lxml sees them."""

import itertools
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from documents.work import instructions
from winnow.ingest.ancestors import Ancestors
from winnow.ingest.records import split_records
from winnow.ingest.tags import declarations, name_of

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
    return [record[:4] for record in split_records(chunks, tag, max_bytes=max_bytes)]


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


def faults(data: bytes, max_bytes: int = 10_000, size: int = 10_000) -> list[tuple[bytes, str]]:
    chunks = [data[k : k + size] for k in range(0, len(data), size)]
    return [(content, fault) for _, content, _, fault in contents(chunks, max_bytes=max_bytes)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"<s><r>1</r><r>2<r>3</r><r>4</r></s>", ["<r>1</r>", "-<r>2", "<r>3</r>", "<r>4</r>"]),
        (b"<s><r>1<r>2</r><r>3</r></s>\n", ["-<r>1", "<r>2</r>", "<r>3</r>"]),
        (b"<s><r>1</r><r><x>2<r>3</r><r/></s>", ["<r>1</r>", "-<r><x>2", "<r>3</r>", "<r/>"]),
        (b"<s><r>1</r><r>2<r>3<r>4</r><r>5</s>", ["<r>1</r>", "-<r>2", "-<r>3", "<r>4</r>", "-<r>5"]),
        (b"<s><r>1</r><r a<r>2</r></s>", ["<r>1</r>", "-<r a", "<r>2</r>"]),
        (b"<s><r>1</r><r>2<!-- <r> --><r>3</r></s>", ["<r>1</r>", "-<r>2<!-- <r> -->", "<r>3</r>"]),
        (b"<s><r><r>in</r></r><r>2<r>3</r></s>", ["<r><r>in</r></r>", "?<r>2<r>3</r></s>"]),  # here records nest
        (b"<s><r>1<r>2</r>", ["?<r>1<r>2</r>"]),  # who knows, when the container breaks off?
        (b"<s><r>1</r><r>2<r>3</r>", ["<r>1</r>", "-<r>2", "<r>3</r>", "!"]),
    ],
)
def test_the_records_behind_one_without_an_end_are_found(data: bytes, expected: list[str]) -> None:
    signs = {"": "", "endless": "-", "truncated": "?", "unclosed": "!"}
    for size in range(1, len(data) + 1):
        assert [signs[fault] + content.decode() for content, fault in faults(data, size=size)] == expected


def test_the_declarations_in_scope_are_right_behind_a_record_without_an_end() -> None:
    data = b"<t><s xmlns='a'><r>1</r><r>2</s><s xmlns='b'><s/><r>3<s></s><r>4</r></s><s xmlns='c'><r>5</r></s></t>"
    assert faults(data) == [
        (b"<r xmlns='a'>1</r>", ""),
        (b"<r xmlns='a'>2", "endless"),
        (b"<r xmlns='b'>3<s></s>", "endless"),
        (b"<r xmlns='b'>4</r>", ""),
        (b"<r xmlns='c'>5</r>", ""),
    ]


def test_a_record_without_an_end_in_a_container_of_any_size_hides_nothing() -> None:
    good = [b"<r>%d</r>" % n for n in range(2000)]
    data = b"<s>" + b"".join([*good[:1000], b"<r>broken", *good[1000:], b"<r>again" * 50, *good]) + b"</s>"
    for size in (64, 1000, 5000):
        found = faults(data, max_bytes=500, size=size)
        assert [content for content, fault in found if not fault] == good + good
        assert [content for content, fault in found if fault] == [b"<r>broken", *[b"<r>again"] * 50]


Shape = Callable[[int], bytes]
SHAPES: dict[str, Shape] = {
    "depth": lambda n: b"<s>" + b"<x>" * n + b"<r/>" + b"</x>" * n + b"</s>",
    "elements that are never closed": lambda n: b"<s>" + b"<x>" * n + b"<r/>" * n + b"</s>",
    "end tags of nothing": lambda n: b"<s>" + b"<x>" * n + b"</y>" * n + b"<r/></s>",
    "namespaces in scope": lambda n: (
        b"<s>" + b"".join(b"<x xmlns:p%d='u'>" % k for k in range(n)) + b"<r/>" + b"</x>" * n + b"</s>"
    ),
    "namespaces declared anew": lambda n: b"<s>" + b"<x xmlns='u'>" * n + b"<r/>" + b"</x>" * n + b"</s>",
    "records in records": lambda n: b"<s>" + b"<r>" * n + b"</r>" * n + b"</s>",
    "records without ends under many ancestors": lambda n: (
        b"<s><r></r>" + b"".join(b"<x%d>" % k for k in range(n)) + b"<r><y>x" * n + b"</s>"
    ),
    "open tags": lambda n: b"<s>" + b"<x a='" * n + b"<r/></s>",
    "comments": lambda n: b"<s>" + b"<!--x-->" * n + b"<r/></s>",
    "attributes": lambda n: b"<s><x " + b"a='' " * n + b"><r/></x></s>",
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_the_work_for_a_container_is_linear(name: str) -> None:
    """Eight times the size takes eight times the instructions, and the memory; what is quadratic takes 64 times."""

    def work(n: int) -> tuple[int, int]:
        data = SHAPES[name](n)
        chunks = [data[k : k + 1000] for k in range(0, len(data), 1000)]
        tracemalloc.start()
        found = contents(chunks, max_bytes=1 << 20)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert found
        return instructions(lambda: contents(chunks, max_bytes=1 << 20)), most

    small, large = work(250), work(2_000)
    assert large[0] < 10 * max(small[0], 2_000)
    assert large[1] < 12 * max(small[1], 50_000)


@pytest.mark.parametrize("tag", [b"</>", b"</ s>", b"</\n>"])
def test_an_end_tag_without_a_name_is_no_ones(tag: bytes) -> None:
    assert faults(b"<s xmlns='u'>" + tag + b"<r/></s>" + tag) == [(b"<r xmlns='u'/>", "")]


ANCESTORS = [b"<a xmlns='1'>", b"<a xmlns:p='2'>", b"<b xmlns='3' xmlns:q='4'>", b"</a>", b"</b>"]


@given(st.lists(st.sampled_from(ANCESTORS)))
def test_what_is_declared_is_that_of_the_open_elements(tags: list[bytes]) -> None:
    ancestors = Ancestors()
    naive: list[tuple[bytes, dict[bytes, bytes]]] = []
    for tag in tags:
        if tag.startswith(b"</"):
            ancestors.close(tag)
            depths = [depth for depth, (name, _) in enumerate(naive) if name == name_of(tag)]
            del naive[depths[-1] if depths else len(naive) :]
        else:
            ancestors.open(tag)
            naive.append((name_of(tag), {**(naive[-1][1] if naive else {}), **declarations(tag)}))
        assert list(ancestors.declared.items()) == list((naive[-1][1] if naive else {}).items())
        assert len(ancestors) == len(naive)
        assert [name in ancestors for name in (b"a", b"b")] == [
            name in {name for name, _ in naive} for name in (b"a", b"b")
        ]
        assert ancestors.root == (naive[0][0] if naive else b"")


def test_many_records_without_ends_take_linear_time() -> None:
    data = b"<s><r>1</r>" + b"<r>x" * 200_000 + b"</s>"
    began = time.process_time()
    assert len(faults(data, max_bytes=1 << 24, size=1 << 20)) == 200_001
    assert len(faults(data, max_bytes=1 << 16, size=1 << 14)) == 200_001
    assert time.process_time() - began < 30


def test_an_oversized_record_takes_little_memory_however_many_are_open_in_it() -> None:
    data = b"<s><r><r>1</r></r>" + b"<r>" * 200_000 + b"</r>" * 200_000 + b"<r>2</r></s>"
    chunks = [data[k : k + 4096] for k in range(0, len(data), 4096)]
    tracemalloc.start()
    found = [(content, fault) for _, content, _, fault in contents(chunks, max_bytes=10_000)]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [(b"<r><r>1</r></r>", ""), (b"", "oversized"), (b"<r>2</r>", "")]
    assert most < 1_000_000


def test_an_oversized_record_without_an_end_is_given_up_at_the_next() -> None:
    data = b"<s><r>1</r><r>" + b"x" * 5000 + b"<r>2</r><r>3</r></s>"
    for size in (100, 700, 10_000):
        found = faults(data, max_bytes=1000, size=size)
        assert found[0] == (b"<r>1</r>", "")
        assert found[1][1] in {"oversized", "endless"}  # whichever is known first
        assert found[2:] == [(b"<r>2</r>", ""), (b"<r>3</r>", "")]


@st.composite
def nested_records(draw: st.DrawFn, depth: int = 3) -> bytes:
    name = draw(st.sampled_from([b"r", b"r", b"x", b"s"]))
    content = b"".join(draw(st.lists(nested_records(depth - 1), max_size=3))) if depth else b"t"
    return draw(
        st.sampled_from([b"<%s>%s</%s>" % (name, content, name), b"<%s a='>'/>" % name, b"<!--<r>-->" + content])
    )


@given(st.lists(nested_records(), max_size=6), st.integers(1, 50))
def test_in_well_formed_containers_records_may_nest(parts: list[bytes], size: int) -> None:
    data = b"<s>" + b"".join(parts) + b"</s>"
    outermost = [e for e in etree.fromstring(data).iter("r") if next(e.iterancestors("r"), None) is None]
    found = faults(data, size=size)
    assert not [fault for _, fault in found if fault]
    assert [etree.tostring(etree.fromstring(content), method="c14n") for content, _ in found] == [
        etree.tostring(element, method="c14n", with_tail=False) for element in outermost
    ]


def test_unclosed_quotes_and_endless_declarations_swallow_no_record() -> None:
    good = b"<r a='1'>2</r>"
    cases = [b'<r a="1>1</r>', b"<r a=x<y>1</r>", b'<r a="<b>1</b>"/>', b'<x a="1>', b"<x a='1'", b"1 < 2 <3 ", b"</x>"]
    for case in cases:
        found = [content for content, _ in faults(b"<s xmlns='u'>" + case + good * 3 + b"</s>")]
        assert found[-3:] == [b"<r xmlns='u' a='1'>2</r>"] * 3, case
        assert len(found) == 3 + case.startswith(b"<r"), case
    found = faults(b'<!DOCTYPE s SYSTEM "' + b"x" * 500 + b"<s>" + good + b"</s>" + b" " * 500, max_bytes=300, size=100)
    assert "unreadable" in [fault for _, fault in found]


def test_tags_quoted_in_an_internal_subset_are_no_records_wherever_it_is_cut() -> None:
    data = b"""<!DOCTYPE s [<!ENTITY e "<r>no"><!ATTLIST r a CDATA "<r>">]><s><r>1</r></s>"""
    for size in range(1, len(data)):
        assert faults(data, size=size) == [(b"<r>1</r>", "")]
