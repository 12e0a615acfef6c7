"""The scanner sees what libxml2 sees: every node, path, region, string-value and text node."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from winnow.encoding import EncodedBatch, Encoder, PathTable, Status, Vocabulary, concat
from winnow.encoding.tree import encode_content
from winnow.errors import UsageError

from .documents import documents, examples
from .naive import naive_document, seen_document

_ENCODER = Encoder(Vocabulary(), PathTable())


def assert_exact(contents: list[bytes], encoder: Encoder = _ENCODER) -> EncodedBatch:
    batch = encoder.encode(contents, values=True)
    for document, content in enumerate(contents):
        expected = naive_document(content)
        if batch.status[document] == Status.MALFORMED or expected is None:
            assert expected is None, content
        else:
            assert seen_document(batch, document, encoder.paths, encoder.vocabulary) == expected, content
    return batch


@given(st.lists(documents(), min_size=1, max_size=4))
@settings(max_examples=examples(200), deadline=None)
def test_generated_documents(texts: list[str]) -> None:
    contents = [text.encode() for text in texts]
    accepted = [content for content in contents if naive_document(content) is not None]
    batch = assert_exact(accepted)
    assert not batch.status.any(), "the generator makes nothing that the scanner may leave to the slow path"


@given(st.lists(documents(), min_size=1, max_size=3))
@settings(max_examples=examples(60), deadline=None)
def test_structure_alone_is_the_same_structure(texts: list[str]) -> None:
    contents = [text.encode() for text in texts]
    full = _ENCODER.encode(contents, values=True)
    bare = _ENCODER.encode(contents, values=False)
    for field in ("status", "doc_offsets", "path", "end", "level", "parent"):
        np.testing.assert_array_equal(getattr(bare, field), getattr(full, field))
    assert bare.values.size == bare.text_parent.size == bare.value_start.size == 0


@given(documents())
@settings(max_examples=examples(100), deadline=None)
def test_the_slow_path_gives_the_same_arrays(text: str) -> None:
    scanned = _ENCODER.encode([text.encode()], values=True)
    assume(naive_document(text.encode()) is not None)
    walked = encode_content(text.encode(), _ENCODER.vocabulary, _ENCODER.paths, values=True)
    for field in scanned._fields:
        if field != "status":
            np.testing.assert_array_equal(getattr(walked, field), getattr(scanned, field), err_msg=field)
            assert (
                getattr(walked, field).dtype == getattr(scanned, field).dtype
                if field not in ("version", "with_values")
                else True
            )


@pytest.mark.parametrize(
    "content",
    [
        "<a/>",
        "<a></a>",
        "<a>x<!--c--><![CDATA[]]></a>",
        "<a><![CDATA[]]></a>",
        "<a>1<![CDATA[2]]>3</a>",
        "<a>a &amp; b</a>",
        "<a>\r\n\r<b>\r</b>&#13;</a>",
        "<a b='\r\n\t&#10;&amp;\"' c=\"'>\"/>",
        "<a><b>1</b>2<b>3</b></a>",
        '<a xmlns="urn:x"><b xmlns=""><c xmlns="urn:y"/></b><d/></a>',
        '<p:a xmlns:p="u" p:x="1" x="2"><p:b xmlns:p="v" p:x="3"/><p:b/></p:a>',
        '<a xml:lang="en"/>',
        "<xml:a/>",
        "<a xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
        "<!DOCTYPE a SYSTEM 'x[y>'><a/>",
        "<?xml version='1.1'?><a>\u0085</a>",
        "\ufeff<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>",
        "<a" + " x='1'" + "><b/>" * 1 + "</a>",
        "<" + "n" * 500 + " " + "m" * 300 + "='v'/>",
        "<a>" + "<b>" * 200 + "</b>" * 200 + "</a>",
        "<a " + " ".join(f"x{k}='{k}'" for k in range(300)) + "/>",
    ],
)  # fmt: skip
def test_small_cases(content: str) -> None:
    assert assert_exact([content.encode()]).status.tolist() == [Status.SCANNED]


@pytest.mark.parametrize(
    "content",
    [
        b"<!DOCTYPE a []><a/>",
        b'<!DOCTYPE a [<!ENTITY e "x<b/>y">]><a>1&e;2&e;</a>',
        b'<!DOCTYPE a [<!ATTLIST a n NMTOKENS #IMPLIED d CDATA "x">]><a n="  p  q "/>',
        "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>".encode("latin-1"),
        "<?xml version='1.0' encoding='UTF-16'?><a>é</a>".encode("utf-16"),
    ],
)
def test_what_only_libxml2_can_read_is_walked(content: bytes) -> None:
    batch = assert_exact([b"<a>1</a>", content, b"<b>2</b>"])
    assert batch.status.tolist() == [Status.SCANNED, Status.WALKED, Status.SCANNED]


@given(documents(), st.data())
@settings(max_examples=examples(100), deadline=None)
def test_damaged_documents_do_no_harm(text: str, data: st.DataObject) -> None:
    """Cut, overwritten, doubled: flagged or encoded, never a crash, and neighbours are untouched."""
    content = bytearray(text.encode())
    at = data.draw(st.integers(0, len(content) - 1))
    damage = data.draw(st.sampled_from(["cut", "overwrite", "insert", "drop"]))
    if damage == "cut":
        del content[at:]
    elif damage == "overwrite":
        content[at] = data.draw(st.sampled_from(b"<>&'\"/!?[]=-; \x00\xff:"))
    elif damage == "insert":
        content[at:at] = data.draw(
            st.sampled_from([b"<", b"</a>", b"&x;", b"<![CDATA[", b"<!--", b"<?", b"xmlns='", b"]]>"])
        )
    else:
        del content[at : at + 5]
    neighbour = b"<a x='1'>one</a>"
    for values in (True, False):
        batch = _ENCODER.encode([neighbour, bytes(content), neighbour], values=values)
        alone = _ENCODER.encode([neighbour], values=values)
        for k in (0, 2):
            assert seen_document(batch, k, _ENCODER.paths, _ENCODER.vocabulary) == seen_document(
                alone, 0, _ENCODER.paths, _ENCODER.vocabulary
            )
    assert_exact([content for content in [bytes(content)] if naive_document(content) is not None])


def test_malformed_documents_have_a_status_and_no_nodes() -> None:
    contents = [
        b"",
        b"<",
        b"<a",
        b"<a>",
        b"</a>",
        b"<a></b>",
        b"x",
        b"<a/><b/>",
        b"<a b/>",
        b"<a>&x;</a>",
        b"<p:a/>",
        b"\xff\xfe",
    ]
    batch = _ENCODER.encode(contents, values=True)
    assert batch.status.tolist() == [Status.MALFORMED] * len(contents)
    assert batch.nodes == 0


@given(st.lists(documents(), min_size=1, max_size=5), st.integers(0, 80), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_any_buffer_gives_the_same_batch(texts: list[str], slack: int, narrow: bool) -> None:
    """Arrow gives a data buffer that starts anywhere and may end right behind the last document."""
    contents = [text.encode() for text in texts]
    expected = _ENCODER.encode(contents, values=True)
    wide = np.cumsum([7, *map(len, contents)])
    offsets = wide.astype(np.int32) if narrow else wide
    data = np.frombuffer(b"<a x=''" + b"".join(contents) + b"<" * slack, np.uint8)
    assert_same(_ENCODER.encode_buffer(data, offsets, values=True), expected)


@given(st.lists(documents(), min_size=2, max_size=5), st.data())
@settings(max_examples=examples(50), deadline=None)
def test_slices_and_concat(texts: list[str], data: st.DataObject) -> None:
    contents = [text.encode() for text in texts]
    batch = _ENCODER.encode(contents, values=True)
    cut = data.draw(st.integers(0, len(contents)))
    assert_same(concat([batch.slice(0, cut), batch.slice(cut, len(contents))]), batch)
    assert_same(batch.slice(0, cut), _ENCODER.encode(contents[:cut], values=True))


def assert_same(left: EncodedBatch, right: EncodedBatch) -> None:
    for field, a, b in zip(left._fields, left, right, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=field)


def test_ids_do_not_depend_on_the_batch_or_the_encoder() -> None:
    """A second encoder over the same tables, or one that has forgotten its names, gives the same ids."""
    contents = [b"<a><b x='1'/></a>", b"<a xmlns='u'><b/></a>", b"<b><a/></b>"]
    vocabulary, paths = Vocabulary(), PathTable()
    first = Encoder(vocabulary, paths).encode(contents, values=True)
    counts = len(vocabulary), len(paths)
    again = Encoder(vocabulary, paths)
    for document, content in enumerate(contents):
        assert_same(again.encode([content], values=True), first.slice(document, document + 1))
    assert (len(vocabulary), len(paths)) == counts


@pytest.mark.parametrize("values", [True, False])
def test_no_documents(values: bool) -> None:
    batch = _ENCODER.encode([], values=values)
    assert (batch.documents, batch.nodes) == (0, 0)
    assert_same(concat([batch, batch]), batch)


def test_offsets_are_checked() -> None:
    data = np.frombuffer(b"<a/>", np.uint8)
    for offsets in ([0, 5], [3, 2], [-1, 2]):
        with pytest.raises(UsageError, match="bad_offsets"):
            _ENCODER.encode_buffer(data, np.array(offsets), values=False)


def test_forgotten_names_are_learnt_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the look-up has forgotten, ids stay."""
    monkeypatch.setattr("winnow.encoding.encoder._MAX_NAMES", 1)
    encoder = Encoder(Vocabulary(), PathTable())
    contents = [b"<a xmlns:p='u'><p:b p:x='1'/></a>", b"<b/>"]
    assert_same(encoder.encode(contents, values=True), encoder.encode(contents, values=True))


def test_many_documents_many_names_many_growths() -> None:
    """More nodes, texts, names and contexts than any first guess."""
    contents = [
        b"<r>"
        + b"".join(b"<n%d_%d xmlns:p%d='u%d'>t<p%d:b/></n%d_%d>" % (d, k, k, k, k, d, k) for k in range(300))
        + b"</r>"
        for d in range(8)
    ] + [b"<r>" + b"<a/>x" * 3000 + b"</r>"]
    encoder = Encoder(Vocabulary(), PathTable())
    assert not assert_exact(contents, encoder).status.any()


def test_the_reference_parser_reads_nothing_from_outside() -> None:
    batch = _ENCODER.encode([b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]><a>&e;</a>'], values=True)
    assert batch.values.size == 0


def test_tags_with_very_many_names_are_left_to_libxml2() -> None:
    """The scanner reads a tag again for each name it has not met: the square of 100,000 names would take hours."""
    attributes = b"<a " + b" ".join(b"a%d='%d'" % (k, k) for k in range(20_000)) + b"/>"
    namespaces = b"<a " + b" ".join(b"xmlns:p%d='u%d'" % (k, k) for k in range(20_000)) + b"><p7:b p9:x='1'/></a>"
    batch = assert_exact([attributes, b"<a/>", namespaces], Encoder(Vocabulary(), PathTable()))
    assert batch.status.tolist() == [Status.WALKED, Status.SCANNED, Status.WALKED]


def test_very_many_namespaces_in_scope_are_left_to_libxml2() -> None:
    """Each distinct set of bindings is kept: 60,000 of them in scope times 400,000 elements would not fit."""
    levels = [
        b"<a " + b" ".join(b"xmlns:p%d='u%d'" % (k, k) for k in range(j, j + 100)) + b">" for j in range(0, 9000, 100)
    ]
    nested = b"".join(levels) + b"<p7:b xmlns:q='v'/>" * 5 + b"</a>" * len(levels)
    batch = assert_exact([nested, b"<a xmlns:p='u'><p:b/></a>"], Encoder(Vocabulary(), PathTable()))
    assert batch.status.tolist() == [Status.WALKED, Status.SCANNED]


def test_namespaces_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.encoding.namespaces.MAX_SIZE", 20)
    monkeypatch.setattr("winnow.encoding.encoder.MAX_SIZE", 20)
    encoder = Encoder(Vocabulary(), PathTable())
    contents = [b"<a xmlns:p%d='u%d'><p%d:b/></a>" % (k, k, k) for k in range(40)]
    assert assert_exact(contents, encoder).status.tolist()[-1] == Status.WALKED
    assert not assert_exact(contents[-1:], encoder).status.any()
