"""Decide whether bytes are a document, with hardened libxml2, or why not.

Documents are hostile: no external entity, DTD or network is ever touched, and size, depth and node count are bounded.
A DOCTYPE that only names an external DTD is ordinary (NITF, PubMed) and accepted; the external subset is not read. One
that declares entities is refused: what the text says would depend on the reader.
"""

import codecs
import hashlib
import re
from typing import Any, NamedTuple

from lxml import etree

from winnow.ingest.reasons import Reason
from winnow.parsing import document_parser


class Limits(NamedTuple):
    max_bytes: int = 16 * 1024 * 1024
    max_nodes: int = 1_000_000  # elements and attributes, an upper bound counted on the bytes


DEFAULT_LIMITS = Limits()


class Accepted(NamedTuple):
    document_id: str  # sha256 of the bytes
    encoding: str  # one of ENCODINGS' values
    root: str  # expanded name of the root element
    internal_subset: bool  # the DTD in the document may add attributes: encode from libxml2's tree, not from the bytes


class Refused(NamedTuple):
    reason: Reason
    message: str
    line: int = 0
    column: int = 0


# What we decode, by the name libxml2 reports (lower case) -> Python codec.
ENCODINGS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "utf-16": "utf-16",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "iso-8859-1": "latin-1",
    "iso8859-1": "latin-1",
    "latin-1": "latin-1",
    "latin1": "latin-1",
    "iso_8859-1": "latin-1",
    "iso-latin-1": "latin-1",
    "iso-ir-100": "latin-1",
    "l1": "latin-1",
    "ibm819": "latin-1",
    "cp819": "latin-1",
    "csisolatin1": "latin-1",
}

_DECLARED = re.compile(rb"""<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"'>]*)["']""")
# Only a name: a system identifier may hold a bare '&', as in 'http://x/a.dtd?b=1&c=2'.
_GENERAL_REFERENCE = re.compile(rb"""&(?!#|amp;|lt;|gt;|quot;|apos;)([^;&<>=?%/\s"']+);""")
_NOT_MARKUP = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>", re.DOTALL)
_INTERNAL_SUBSET = re.compile(rb"""<!DOCTYPE(?:[^\[>"']|"[^"]*"|'[^']*')*\[""")
_PLACE = re.compile(r", line \d+, column \d+$")

# libxml2's error numbers (xmlParserErrors) that have a reason of their own.
_REASON_OF_CODE = {
    4: Reason.EMPTY,  # XML_ERR_DOCUMENT_EMPTY
    26: Reason.UNDEFINED_ENTITY,
    27: Reason.UNDEFINED_ENTITY,
    31: Reason.UNSUPPORTED_ENCODING,
    32: Reason.UNSUPPORTED_ENCODING,
    79: Reason.UNSUPPORTED_ENCODING,
    81: Reason.INVALID_ENCODING,
    89: Reason.ENTITY_BOMB,  # XML_ERR_ENTITY_LOOP
}


_JUDGE = document_parser(entities="kept")


def accept(content: bytes, limits: Limits) -> Accepted | Refused:
    """Parse once and judge.

    >>> accept(b"<a>", Limits()).reason
    <Reason.MALFORMED: 'malformed'>
    >>> accept(b"<!DOCTYPE a SYSTEM 'a.dtd'><a/>", Limits()).root
    'a'
    """
    if len(content) > limits.max_bytes:
        return Refused(Reason.OVERSIZED, f"{len(content)} bytes, the limit is {limits.max_bytes}")
    if not content or content.isspace():
        return Refused(Reason.EMPTY, "no bytes but white space")
    # Every element and attribute needs a '<' or '=': two fast counts bound the work before libxml2 allocates anything.
    if len(content) > limits.max_nodes and (nodes := content.count(b"<") + content.count(b"=")) > limits.max_nodes:
        return Refused(Reason.TOO_MANY_NODES, f"about {nodes} elements and attributes, the limit is {limits.max_nodes}")
    codec = codec_of(content)
    if codec is None:
        return Refused(
            Reason.UNSUPPORTED_ENCODING, f"encoding {_declared(content)!r} is not UTF-8, UTF-16 or Latin-1", 1
        )
    try:
        root = etree.fromstring(content, _JUDGE)
    except etree.XMLSyntaxError as error:
        return _refusal(error)
    except (ValueError, LookupError) as error:
        return Refused(Reason.MALFORMED, str(error))
    internal_subset = False
    if codec.startswith("utf-16") or b"<!DOCTYPE" in content:
        text = content if codec == "utf-8" else content.decode(codec).encode()
        internal_subset = bool(_INTERNAL_SUBSET.search(text, max(text.find(b"<!DOCTYPE"), 0)))
        refused = _judge_doctype(root, text, internal_subset=internal_subset)
        if refused:
            return refused
    tag = root.tag
    return Accepted(hashlib.sha256(content).hexdigest(), codec, tag if isinstance(tag, str) else "", internal_subset)


def _declared(content: bytes) -> str:
    found = _DECLARED.match(content[:400].lstrip(codecs.BOM_UTF8))
    return found[1].decode("ascii", "replace") if found else "unknown"


def codec_of(content: bytes) -> str | None:
    """The codec by byte order mark, else by declaration, else UTF-8; None when it is not one of ours."""
    if content.startswith(codecs.BOM_UTF8):
        return "utf-8"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None if content.startswith(codecs.BOM_UTF32_LE) else "utf-16"
    if content.startswith(b"<\0"):
        return None if content.startswith(b"<\0\0\0") else "utf-16-le"
    if content.startswith(b"\0<"):
        return "utf-16-be"
    if not content.startswith((b"<?xml ", b"<?xml\t", b"<?xml\r", b"<?xml\n")):  # `<?xml-stylesheet` declares nothing
        return None if content.startswith((b"\0\0", b"\x4c\x6f\xa7\x94")) else "utf-8"
    declaration = content[: content.find(b"?>", 0, 400)]
    if b"encoding" not in declaration or b'"UTF-8"' in declaration:  # nearly all
        return "utf-8"
    found = _DECLARED.match(declaration)
    return ENCODINGS.get(found[1].decode("ascii", "replace").lower()) if found else "utf-8"


def _refusal(error: etree.XMLSyntaxError) -> Refused:
    line, column = error.position
    message = " ".join(_PLACE.sub("", error.msg or "not well-formed").split())
    reason = _REASON_OF_CODE.get(getattr(error, "code", 0), Reason.MALFORMED)
    # libxml2 reports several limits under one number: its words tell them apart.
    if "depth" in message:
        reason = Reason.TOO_DEEP
    elif "amplification" in message:
        reason = Reason.ENTITY_BOMB
    elif "HUGE" in message:
        reason = Reason.OVERSIZED
    return Refused(reason, message, max(line or 0, 0), max(column or 0, 0))


def _judge_doctype(root: etree._Element, text: bytes, *, internal_subset: bool) -> Refused | None:
    """`text` is the document in UTF-8; it may hold a DOCTYPE."""
    dtd: Any = root.getroottree().docinfo.internalDTD if internal_subset else None
    entity = next(dtd.iterentities(), None) if dtd is not None else None
    if entity is not None:
        message = f"the DOCTYPE declares entity {entity.name!r}; expand it before sending the document"
        return Refused(Reason.DOCTYPE_ENTITIES, message, 1)
    # With an external DTD libxml2 lets an unknown reference pass, in text and in attributes: its text is unknown to us.
    if _GENERAL_REFERENCE.search(text) and (unknown := _GENERAL_REFERENCE.search(_NOT_MARKUP.sub(b"", text))):
        message = (
            f"entity {unknown[1].decode('utf-8', 'replace')!r} is declared in an external DTD, which is never read"
        )
        return Refused(Reason.UNDEFINED_ENTITY, message, text.count(b"\n", 0, text.find(b"&" + unknown[1])) + 1)
    return None
