"""What is a document and what is refused, with reason and place."""

import hashlib

import pytest

from winnow.ingest.accept import Accepted, Limits, Refused, accept
from winnow.ingest.reasons import Reason

LIMITS = Limits(max_bytes=12_000_000, max_nodes=1000)
BOMB = (
    b"<!DOCTYPE a [<!ENTITY e0 'lollollollol'>"
    + b"".join(b"<!ENTITY e%d '%s'>" % (i, (b"&e%d;" % (i - 1)) * 10) for i in range(1, 12))
    + b"]><a b='&e9;'/>"
)

REFUSED = {
    "nothing": (b"", Reason.EMPTY, 0, 0),
    "white space": (b" \n ", Reason.EMPTY, 0, 0),
    "cut off": (b"<a>\n<b>", Reason.MALFORMED, 2, 4),
    "two roots": (b"<a/><b/>", Reason.MALFORMED, 1, 5),
    "unbound prefix": (b"<p:a/>", Reason.MALFORMED, 1, 5),
    "unbound prefix before a warning": (b"<a>\n<p:b/><c xmlns='relative'/></a>", Reason.MALFORMED, 2, 5),
    "two roots, an error and a warning": (b"<a xmlns:p='u v'><?xml-x?></a><b/>", Reason.MALFORMED, 1, 17),
    "undefined entity": (b"<a>&nbsp;</a>", Reason.UNDEFINED_ENTITY, 1, 10),
    "entity of an external DTD": (b"<!DOCTYPE a SYSTEM 'x'>\n<a>&nbsp;</a>", Reason.UNDEFINED_ENTITY, 2, 10),
    "the same in an attribute": (b"<!DOCTYPE a SYSTEM 'x'>\n<a b='&nbsp;'/>", Reason.UNDEFINED_ENTITY, 2, 13),
    "internal entity": (b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", Reason.DOCTYPE_ENTITIES, 1, 0),
    "external entity": (
        b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>",
        Reason.DOCTYPE_ENTITIES,
        1,
        0,
    ),
    "parameter entity": (
        b"<!DOCTYPE a [<!ENTITY % x SYSTEM 'file:///etc/passwd'>%x;]><a/>",
        Reason.DOCTYPE_ENTITIES,
        1,
        0,
    ),
    "UTF-7": (b'<?xml version="1.0" encoding="UTF-7"?><a/>', Reason.UNSUPPORTED_ENCODING, 1, 0),
    "UTF-32": ("<a/>".encode("utf-32"), Reason.UNSUPPORTED_ENCODING, 1, 0),
    "not UTF-8": (b"<a>\xff</a>", Reason.INVALID_ENCODING, 1, 4),
    "too many attributes": (
        b"<a " + b" ".join(b"a%d='1'" % i for i in range(2000)) + b"/>",
        Reason.TOO_MANY_NODES,
        0,
        0,
    ),
    "too large": (b"<a>" + b"x" * 12_000_000 + b"</a>", Reason.OVERSIZED, 0, 0),
    "a text node too large": (b"<a>" + b"x" * 11_000_000 + b"</a>", Reason.OVERSIZED, 1, 10004001),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    content, reason, line, column = REFUSED[name]
    verdict = accept(content, LIMITS)
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.line, verdict.column) == (reason, line, column)
    assert verdict.message


def test_depth_and_bombs_are_bounded_by_libxml2() -> None:
    deep = accept(b"<a>" * 300 + b"</a>" * 300, LIMITS)
    bomb = accept(BOMB, LIMITS)
    assert isinstance(deep, Refused)
    assert isinstance(bomb, Refused)
    assert (deep.reason, bomb.reason) == (Reason.TOO_DEEP, Reason.ENTITY_BOMB)


ACCEPTED = {
    "plain": (b"<a/>", "utf-8", "a", False),
    "BOM": (b"\xef\xbb\xbf<a/>", "utf-8", "a", False),
    "UTF-16": ("<a>é</a>".encode("utf-16"), "utf-16", "a", False),
    "UTF-16 without a mark": (
        '<?xml version="1.0" encoding="utf-16"?><a>é</a>'.encode("utf-16-be"),
        "utf-16-be",
        "a",
        False,
    ),
    "Latin-1": ('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'.encode("latin-1"), "latin-1", "a", False),
    "Latin-1 by another name": (b'<?xml version="1.0" encoding="ISO_8859-1"?><a>\xe9</a>', "latin-1", "a", False),
    "an instruction that looks like a declaration": (b'<?xml-x encoding="ISO-8859-1"?><a/>', "utf-8", "a", False),
    "an ampersand in a system identifier": (b"<!DOCTYPE a SYSTEM 'x?b=1&c=2'><a>d;</a>", "utf-8", "a", False),
    "ASCII": (b'<?xml version="1.0" encoding="US-ASCII"?><a/>', "utf-8", "a", False),
    "namespace": (b"<p:a xmlns:p='u'/>", "utf-8", "{u}a", False),
    "DOCTYPE with an external DTD": (
        b'<!DOCTYPE a PUBLIC "x" "http://example.org/a.dtd"><a>&amp;</a>',
        "utf-8",
        "a",
        False,
    ),
    "a reference quoted in CDATA": (b"<!DOCTYPE a SYSTEM 'x'><a><![CDATA[&nbsp;]]></a>", "utf-8", "a", False),
    "attribute defaults": (b"<!DOCTYPE a [<!ATTLIST a b CDATA 'x'>]><a/>", "utf-8", "a", True),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    content, encoding, root, internal_subset = ACCEPTED[name]
    assert accept(content, LIMITS) == Accepted(hashlib.sha256(content).hexdigest(), encoding, root, internal_subset)
