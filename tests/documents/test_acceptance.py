"""What the scanner proves, libxml2 accepts; each rule of XML is broken here once, and then nothing is proven."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.differences import LIMITS, Encoders, judge
from documents.generator import DAMAGE
from encoding.documents import documents, examples
from encoding.test_corpora import archive, articles
from winnow.documents.acceptance import bounds_of, encode_accepted, encode_accepted_buffer
from winnow.documents.doctype import find_doctype
from winnow.encoding import EncodedBatch, Encoder, PathTable, Status, Vocabulary
from winnow.ingest.accept import Accepted, Limits, Refused, accept
from winnow.ingest.reasons import Reason
from winnow.matcher import Matcher

ENCODERS = Encoders()
GOOD = b"<a x='1'>one<b/></a>"


def statuses(*contents: bytes, limits: Limits = LIMITS) -> list[int]:
    """What the scanner alone says; the same without values."""
    encoder, bounds = ENCODERS.get(), bounds_of(limits)
    batch, bare = (encoder.encode(contents, values=values, bounds=bounds) for values in (True, False))
    assert batch.status.tolist() == bare.status.tolist()
    return batch.status.tolist()


# What is wrong, and the same document without the fault: libxml2 refuses the first, the scanner proves the second.
FAULTS: dict[str, tuple[bytes, bytes]] = {
    "nothing": (b"", b"<a/>"),
    "blanks alone": (b" \n", b" \n<a/>"),
    "no element": (b"<!-- x -->", b"<!-- x --><a/>"),
    "two roots": (b"<a/><b/>", b"<a/><!--b-->"),
    "text behind the root": (b"<a/>x", b"<a/> \n"),
    "text before the root": (b"x<a/>", b"\n<a/>"),
    "a section behind the root": (b"<a/><![CDATA[x]]>", b"<a/><?x?>"),
    "an element that stays open": (b"<a><b></a>", b"<a><b></b></a>"),
    "an element that ends as another": (b"<a></b>", b"<a></a>"),
    "a NUL byte": (b"<a>\0</a>", b"<a>0</a>"),
    "a control character": (b"<a>\x1f</a>", b"<a>\x7f\t\r\n</a>"),
    "a control character in a comment": (b"<a><!--\x08--></a>", b"<a><!--\x7f--></a>"),
    "a control character in an instruction": (b"<a><?x \x0c?></a>", b"<a><?x \t?></a>"),
    "a control character in a value": (b"<a b='\x0b'/>", b"<a b='\t'/>"),
    "a byte of Latin-1": (b"<a>\xe9</a>", b"<a>\xc3\xa9</a>"),
    "a byte of Latin-1 in a name": (b"<\xe9/>", b"<\xc3\xa9/>"),
    "a character cut short": (b"<a>\xe2\x82</a>", b"<a>\xe2\x82\xac</a>"),
    "a character cut short by the end": (b"<a/>\xe2\x82", b"<a/>"),
    "a byte that only continues": (b"<a>\x80</a>", b"<a>\xc2\x80</a>"),
    "an overlong form of two bytes": (b"<a>\xc1\xbf</a>", b"<a>\xc2\x80</a>"),
    "an overlong form of three bytes": (b"<a>\xe0\x9f\xbf</a>", b"<a>\xe0\xa0\x80</a>"),
    "an overlong form of four bytes": (b"<a>\xf0\x8f\xbf\xbf</a>", b"<a>\xf0\x90\x80\x80</a>"),
    "a surrogate": (b"<a>\xed\xa0\x80</a>", b"<a>\xed\x9f\xbf</a>"),
    "U+FFFE": (b"<a>\xef\xbf\xbe</a>", b"<a>\xef\xbf\xbd</a>"),
    "U+FFFF": (b"<a>\xef\xbf\xbf</a>", b"<a>\xee\x80\x80</a>"),
    "beyond Unicode": (b"<a>\xf4\x90\x80\x80</a>", b"<a>\xf4\x8f\xbf\xbf</a>"),
    "a byte that never is UTF-8": (b"<a>\xff</a>", b"<a>\xf0\x9f\x98\x80</a>"),
    "a name that begins with a digit": (b"<1a/>", b"<a1/>"),
    "a name that begins with a dot": (b"<.a/>", b"<a./>"),
    "a quote in a name": (b"<a'/>", b"<a-/>"),
    "a tag in a name": (b"<a<b/>", b"<a_b/>"),
    "an attribute's name that begins with a dash": (b"<a -b=''/>", b"<a b-=''/>"),
    "a name with a multiplication sign": ("<a×b/>".encode(), "<a·b/>".encode()),
    "a colon at the end of a name": (b"<a:/>", b"<a/>"),
    "a colon before a name": (b"<:a/>", b"<a/>"),
    "two colons in a name": (b"<p:a:b xmlns:p='urn:x'/>", b"<p:a xmlns:p='urn:x'/>"),
    "a local name that begins with a digit": (b"<p:1 xmlns:p='urn:x'/>", b"<p:a1 xmlns:p='urn:x'/>"),
    "an unbound prefix": (b"<p:a/>", b"<p:a xmlns:p='urn:x'/>"),
    "an unbound prefix of an attribute": (b"<a p:b=''/>", b"<a xmlns:p='urn:x' p:b=''/>"),
    "an unbound prefix before a warning": (b"<a><p:b/><c xmlns='x'/></a>", b"<a><b/><c xmlns='x'/></a>"),
    "a prefix that is no longer bound": (b"<a><b xmlns:p='urn:x'/><p:c/></a>", b"<a><b xmlns:p='urn:x'><p:c/></b></a>"),
    "a blank before a name": (b"< a/>", b"<a />"),
    "a blank in an empty tag": (b"<a/ >", b"<a />"),
    "a slash before an attribute": (b"<a/b=''>", b"<a b=''/>"),
    "an attribute without value": (b"<a b/>", b"<a b=''/>"),
    "a value without quotes": (b"<a b=c/>", b"<a b='c'/>"),
    "a value that stays open": (b"<a b='/>", b"<a b=''/>"),
    "attributes without blank": (b"<a b=''c=''/>", b"<a b='' c=''/>"),
    "an attribute in an end tag": (b"<a></a b=''>", b"<a></a \n>"),
    "an attribute twice": (b"<a b='1' c='' b='2'/>", b"<a b='1' c=''/>"),
    "an expanded name twice": (
        b"<a xmlns:p='urn:x' xmlns:q='urn:x' p:b='' q:b=''/>",
        b"<a xmlns:p='urn:x' xmlns:q='urn:y' p:b='' q:b=''/>",
    ),
    "a prefix bound twice": (b"<a xmlns:p='urn:x' xmlns:p='urn:x'/>", b"<a xmlns:p='urn:x' xmlns:q='urn:x'/>"),
    "two default namespaces": (b"<a xmlns='urn:x' xmlns='urn:y'/>", b"<a xmlns='urn:x'><b xmlns='urn:y'/></a>"),
    "a prefix without namespace": (b"<a xmlns:p=''/>", b"<a xmlns=''/>"),
    "no prefix behind a colon": (b"<a xmlns:='urn:x'/>", b"<a xmlns='urn:x'/>"),
    "a namespace that is no URI": (b"<a xmlns='urn x'/>", b"<a xmlns='urn:x'/>"),
    "a namespace with a letter": ("<a xmlns:p='urn:é'/>".encode(), b"<a xmlns:p='urn:%c3%a9'/>"),
    "a tag in a namespace": (b"<a xmlns:p='urn:<'/>", b"<a xmlns:p='urn:&#120;'/>"),
    "a reference in a namespace": (b"<a xmlns='urn:&x;'/>", b"<a xmlns='urn:&amp;'/>"),
    "another namespace for xml": (b"<a xmlns:xml='urn:x'/>", b"<a xmlns:x='urn:x'/>"),
    "another prefix for xml": (b"<a xmlns:x='http://www.w3.org/XML/1998/namespace'/>", b"<a xml:lang='en'/>"),
    "the prefix xmlns": (b"<a xmlns:xmlns='urn:x'/>", b"<a xmlns:x='urn:x'/>"),
    "an identifier that is no name": (b"<a xml:id='1'/>", b"<a xml:ie='1'/>"),
    "an identifier twice": (b"<a xml:id='i'><b xml:id='i'/></a>", b"<a id='i'><b id='i'/></a>"),
    "a tag in a value": (b"<a b='<'/>", b"<a b='>'/>"),
    "an unknown reference in a value": (b"<a b='&c;'/>", b"<a b='&lt;'/>"),
    "an ampersand in a value": (b"<a b='c & d'/>", b"<a b='c &amp; d'/>"),
    "a reference that a value cuts short": (b"<a b='&amp'/>", b"<a b='&amp;'/>"),
    "the end of a section in text": (b"<a>x]]>y</a>", b"<a>x]]y></a>"),
    "the end of a section behind its end": (b"<a><![CDATA[x]]>]]></a>", b"<a><![CDATA[x]]>]]</a>"),
    "an unknown reference": (b"<a>&nbsp;</a>", b"<a>&quot;</a>"),
    "an ampersand": (b"<a>b & c</a>", b"<a>b &#38; c</a>"),
    "a reference that a tag cuts short": (b"<a>&amp</a>", b"<a>&amp;</a>"),
    "a reference to NUL": (b"<a>&#0;</a>", b"<a>&#9;</a>"),
    "a reference to a control character": (b"<a>&#x1f;</a>", b"<a>&#x20;</a>"),
    "a reference to a surrogate": (b"<a>&#xDFFF;</a>", b"<a>&#xE000;</a>"),
    "a reference to U+FFFE": (b"<a>&#xFFFE;</a>", b"<a>&#xFFFD;</a>"),
    "a reference to U+FFFF in a value": (b"<a b='&#65535;'/>", b"<a b='&#65536;'/>"),
    "a reference beyond Unicode": (b"<a>&#x110000;</a>", b"<a>&#x10FFFF;</a>"),
    "a reference with a capital X": (b"<a>&#X41;</a>", b"<a>&#x41;</a>"),
    "a reference without digits": (b"<a>&#;</a>", b"<a>&#1065;</a>"),
    "two dashes in a comment": (b"<a><!-- -- --></a>", b"<a><!-- - - --></a>"),
    "three dashes at the end of a comment": (b"<!-- ---><a/>", b"<!-- --><a/>"),
    "a comment that stays open": (b"<a/><!-- x", b"<a/><!-- x-->"),
    "half a comment": (b"<!--->-->", b"<!---->\n<a/>"),
    "an instruction without name": (b"<? x?><a/>", b"<?x?><a/>"),
    "an instruction that begins with a digit": (b"<?1?><a/>", b"<?_1?><a/>"),
    "an instruction named xml": (b"<a><?xml x?></a>", b"<a><?xml-x x?></a>"),
    "an instruction named XML": (b"<?XmL?><a/>", b"<?XmLx?><a/>"),
    "an instruction with a colon": (b"<?a:b?><a/>", b"<?a.b?><a/>"),
    "an instruction with a question": (b"<?a?b?><a/>", b"<?a ?b?><a/>"),
    "an instruction that stays open": (b"<a/><?x >", b"<a/><?x ?>"),
    "a declaration of something": (b"<a><!ELEMENT a ANY></a>", b"<a><!--ELEMENT a ANY--></a>"),
    "a DOCTYPE that stays open": (b"<!DOCTYPE a [<a/>", b"<a/>"),
    "a section that stays open": (b"<a><![CDATA[x]]</a>", b"<a><![CDATA[x]]]]></a>"),
    "a section in lower case": (b"<a><![cdata[x]]></a>", b"<a><![CDATA[x]]></a>"),
    "an XML declaration behind a blank": (b" <?xml version='1.0'?><a/>", b"<?xml version='1.0'?><a/>"),
    "an XML declaration behind a comment": (b"<!----><?xml version='1.0'?><a/>", b"<?xml version='1.0'?><!----><a/>"),
    "an XML declaration without version": (b"<?xml encoding='UTF-8'?><a/>", b"<?xml version='1.0'?><a/>"),
    "version 2.0": (b"<?xml version='2.0'?><a/>", b'<?xml version="1.0" ?><a/>'),
    "an XML declaration without blank": (
        b"<?xml version='1.0'encoding='UTF-8'?><a/>",
        b"<?xml version='1.0' encoding='utf-8'?><a/>",
    ),
    "an XML declaration in disorder": (
        b"<?xml version='1.0' standalone='yes' encoding='UTF-8'?><a/>",
        b"<?xml version='1.0' encoding='UTF-8' standalone='yes'?><a/>",
    ),
    "standalone maybe": (b"<?xml version='1.0' standalone='maybe'?><a/>", b"<?xml version='1.0' standalone='no'?><a/>"),
    "an unknown encoding": (b"<?xml version='1.0' encoding='x'?><a/>", b"<?xml version='1.0' encoding = 'Utf-8'?><a/>"),
    "an XML declaration that ends as a tag": (b"<?xml version='1.0'><a/>", b"<?xml version='1.0'?><a/>"),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbf<a/>", b"\xef\xbb\xbf<a/>"),
    "257 levels": (b"<a>" * 257 + b"</a>" * 257, b"<a>" * 256 + b"</a>" * 256),
    "257 levels, the last empty": (b"<a>" * 256 + b"<b/>" + b"</a>" * 256, b"<a>" * 255 + b"<b/>" + b"</a>" * 255),
    "ten million bytes of text": (b"<a>" + b"x" * 10_000_001 + b"</a>", b"<a>" + b"x" * 8_999_900 + b"</a>"),
    "a name of 1001 bytes": (b"<" + b"n" * 1001 + b"/>", b"<" + b"n" * 1000 + b"/>"),
    "a namespace of 1001 bytes": (b"<a xmlns='urn:" + b"n" * 997 + b"'/>", b"<a xmlns='urn:" + b"n" * 900 + b"'/>"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_not_proven_and_without_it_the_document_is(fault: str) -> None:
    broken, mended = FAULTS[fault]
    assert statuses(GOOD, broken, GOOD, mended) == [0, Status.UNPROVEN, 0, 0]
    assert isinstance(accept(broken, LIMITS), Refused)
    assert isinstance(accept(mended, LIMITS), Accepted)


@pytest.mark.parametrize("before", ["", "a"])
def test_characters_of_names_and_text_are_those_of_libxml2(before: str) -> None:
    """All characters of the basic plane and some beyond, at the start of a name or behind it."""
    codes = [*range(1, 0xD800), *range(0xE000, 0x10000), *range(0x10000, 0x110000, 0xFFF), 0xEFFFF, 0xF0000]
    contents = [f"<{before}{chr(code)}/>".encode() for code in codes]
    contents += [f"<a>{chr(code)}</a>".encode() for code in codes if before]
    batch = Encoder(Vocabulary(), PathTable()).encode(contents, values=False, bounds=bounds_of(LIMITS))
    for content, status in zip(contents, batch.status.tolist(), strict=True):
        assert (status == Status.SCANNED) == isinstance(accept(content, LIMITS), Accepted), content


# Acceptable, and yet for libxml2 to say.
DOUBTFUL = {
    "a DOCTYPE": b"<!DOCTYPE a><a/>",
    "version 1.1": b"<?xml version='1.1'?><a/>",
    "ASCII": b"<?xml version='1.0' encoding='US-ASCII'?><a/>",
    "Latin-1": "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>".encode("latin-1"),
    "UTF-16": "<a>é</a>".encode("utf-16"),
    "UTF-8 by its mark": b"\xef\xbb\xbf<?xml version='1.0' encoding='ISO-8859-1'?><a/>",
    "an identifier": b"<a xml:id='i'/>",
    "an instruction with a letter": "<?é?><a/>".encode(),
    "the end of a section in a value": b"<a b=']]>'/>",
    "100 attributes": b"<a " + b" ".join(b"a%d=''" % k for k in range(100)) + b"/>",
    "33 namespaces": b"<a " + b" ".join(b"xmlns:p%d='urn:x'" % k for k in range(33)) + b"/>",
    "a long XML declaration": b"<?xml version='1.0'" + b" " * 300 + b"?><a/>",
}


@pytest.mark.parametrize("doubt", DOUBTFUL)
def test_what_is_doubtful_is_left_to_libxml2(doubt: str) -> None:
    content = DOUBTFUL[doubt]
    assert statuses(GOOD, content, GOOD) == [0, Status.UNPROVEN, 0]
    encoder = ENCODERS.get()
    batch, refused = encode_accepted(encoder, [GOOD, content, GOOD], LIMITS, values=True)
    assert not refused
    assert_same(batch, encoder.encode([GOOD, content, GOOD], values=True))


LIMITED: dict[str, tuple[Limits, bytes, Reason]] = {
    "bytes": (Limits(max_bytes=20), b"<a>" + b"x" * 14 + b"</a>", Reason.OVERSIZED),
    "nodes": (Limits(max_nodes=3), b"<a b='' c=''/>=", Reason.TOO_MANY_NODES),
    "bytes of a name": (Limits(max_name_bytes=4), b"<a><nnnnn/></a>", Reason.LONG_NAMES),
    "bytes of a namespace": (Limits(max_name_bytes=6), b"<a xmlns='urn:xyz'/>", Reason.LONG_NAMES),
    "bytes of a name, by libxml2": (Limits(max_name_bytes=10**6), b"<" + b"n" * 50_001 + b"/>", Reason.MALFORMED),
    "bytes of all names": (
        Limits(),
        b"<a xmlns='" + b"u" * 900 + b"'>" + b"<b/>" * 300_000 + b"</a>",
        Reason.LONG_NAMES,
    ),
}


@pytest.mark.parametrize("limit", LIMITED)
def test_limits_are_those_of_acceptance(limit: str) -> None:
    limits, content, reason = LIMITED[limit]
    assert statuses(content, limits=limits) == [Status.UNPROVEN]
    _, refused = encode_accepted(ENCODERS.get(), [b"<a/>", content], limits, values=False)
    assert {document: refusal.reason for document, refusal in refused.items()} == {1: reason}


@given(documents(), st.data())
@settings(max_examples=examples(400))
def test_whatever_is_damaged_nobody_contradicts(text: str, data: st.DataObject) -> None:
    content = text.encode()
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(content)))
        rest = at + data.draw(st.sampled_from([0, 0, 1, 4]))
        content = content[:at] + data.draw(st.sampled_from(DAMAGE)) + content[rest:]
    assert judge(content, ENCODERS).difference == "", content


@given(
    st.lists(st.one_of(documents().map(str.encode), st.sampled_from(list(DOUBTFUL.values())), st.binary(max_size=9)))
)
@settings(max_examples=examples(60))
def test_every_document_stays_in_place(contents: list[bytes]) -> None:
    """As if each had been accepted alone, and the accepted ones encoded together."""
    encoder = ENCODERS.get()
    offsets = np.cumsum([0, *map(len, contents)])
    data = np.frombuffer(b"".join(contents), np.uint8)
    verdicts = [accept(content, LIMITS) for content in contents]
    expected = {d: verdict for d, verdict in enumerate(verdicts) if isinstance(verdict, Refused)}
    for values in (True, False):
        batch, refused = encode_accepted(encoder, contents, LIMITS, values=values)
        assert refused == expected
        assert np.flatnonzero(batch.status == Status.MALFORMED).tolist() == list(refused)
        known = [content if d not in refused else b"" for d, content in enumerate(contents)]
        assert_same(batch, encoder.encode(known, values=values))
        in_place, refused = encode_accepted_buffer(encoder, data, offsets, LIMITS, values=values)
        assert refused == expected
        assert_same(in_place, batch)


def test_a_document_larger_than_a_batch_may_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.encoding.encoder._MAX_BYTES", 1000)
    _, refused = encode_accepted(
        ENCODERS.get(), [GOOD, b"<a>" + b"x" * 2000 + b"</a>"], Limits(max_bytes=100), values=True
    )
    assert {document: refusal.reason for document, refusal in refused.items()} == {1: Reason.OVERSIZED}


def test_the_matcher_reports_what_acceptance_says() -> None:
    contents = [GOOD, *(broken for broken, _ in FAULTS.values()), *DOUBTFUL.values(), GOOD]
    matcher = Matcher([("p", "/*")])
    named = [(f"{number}.xml", content) for number, content in enumerate(contents)]
    verdicts = [(name, accept(content, LIMITS)) for name, content in named]
    matched = [match.document for match in matcher.match(named)]
    assert matched == [name for name, verdict in verdicts if isinstance(verdict, Accepted)]
    assert [tuple(row) for row in matcher.refused] == [
        (name, *verdict._replace(reason=verdict.reason.value))
        for name, verdict in verdicts
        if isinstance(verdict, Refused)
    ]


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "read"),
    [("invoices-800.tar.gz", archive), ("malformed-feeds.tar.gz", archive), ("pubmed-5000.xml.gz", articles)],
)
def test_real_documents_without_doctype_are_proven(
    corpora: Path, name: str, read: Callable[[Path], list[bytes]]
) -> None:
    contents = read(corpora / name)
    for content, status in zip(contents, statuses(*contents), strict=True):
        verdict = accept(content, LIMITS)
        if isinstance(verdict, Refused):
            assert status == Status.UNPROVEN
        elif verdict.encoding == "utf-8" and find_doctype(content) is None:
            assert status == Status.SCANNED, content[:500]


def assert_same(left: EncodedBatch, right: EncodedBatch) -> None:
    for name, a, b in zip(left._fields, left, right, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
