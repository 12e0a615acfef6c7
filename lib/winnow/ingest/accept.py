"""Decide whether bytes are a document, with hardened libxml2, or why not.

Documents are hostile: no external entity, DTD or network is ever touched, and size, depth, names and node count are
bounded. The parser is the one whose tree the encoder reads, so what is accepted can be encoded. A DOCTYPE that only
names an external DTD is ordinary (NITF, PubMed) and accepted; the external subset is not read. One that declares
entities is refused: what the text says would depend on the reader.
"""

import codecs
import hashlib
import io
import re
from typing import NamedTuple, cast

from lxml import etree

from winnow.documents.doctype import Doctype, find_doctype, without_doctype
from winnow.documents.transcode import to_utf8
from winnow.errors import DataError
from winnow.ingest.reasons import Reason
from winnow.parsing import parse


class Limits(NamedTuple):
    max_bytes: int = 16 * 1024 * 1024
    max_nodes: int = 1_000_000  # elements and attributes, an upper bound counted on the bytes
    max_name_bytes: int = 1000  # of an element's name, and of a namespace


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
_NAMESPACE = re.compile(rb"""xmlns(?::[^\s=<>"']*+)?\s*+=\s*+(?:"([^"]*)"|'([^']*)')""")
MAX_EXPANDED_NAMES = 1 << 28  # bytes: every node times the longest namespace, which is part of its label
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
    codec = codec_of(content)
    if codec is None:
        return Refused(
            Reason.UNSUPPORTED_ENCODING, f"encoding {_declared(content)!r} is not UTF-8, UTF-16 or Latin-1", 1
        )
    try:
        text = content if codec == "utf-8" else to_utf8(content, codec)
    except DataError as error:
        return Refused(Reason.INVALID_ENCODING, error.message)
    # Every element and attribute needs a '<' or '=': two fast counts bound the work before libxml2 allocates anything.
    if len(text) > limits.max_nodes and (nodes := text.count(b"<") + text.count(b"=")) > limits.max_nodes:
        return Refused(Reason.TOO_MANY_NODES, f"about {nodes} elements and attributes, the limit is {limits.max_nodes}")
    doctype = find_doctype(text)
    try:
        root = parse(content)
        if text is not content and _written(parse(text)) != _written(root):
            return Refused(Reason.INVALID_ENCODING, f"libxml2 reads other characters than {codec} has; send UTF-8")
    except etree.XMLSyntaxError as error:
        return _refusal(error, doctype)
    except (ValueError, LookupError) as error:
        return Refused(Reason.MALFORMED, str(error))
    if refused := _long_names(text, root, limits) or (_judge_doctype(text, doctype) if doctype else None):
        return refused
    document_id = hashlib.sha256(content).hexdigest()
    return Accepted(document_id, codec, str(root.tag), bool(doctype and doctype.internal_subset is not None))


def _long_names(text: bytes, root: etree._Element, limits: Limits) -> Refused | None:
    """Labels repeat the namespace with every name, and paths repeat names, so both are bounded.

    The expressions find what may be too long, quoted text included; only then libxml2 is asked.
    """
    if len(text) <= limits.max_name_bytes:
        return None
    nodes = text.count(b"<") + text.count(b"=")
    longest = min(limits.max_name_bytes, MAX_EXPANDED_NAMES // nodes)
    for declared in _NAMESPACE.finditer(text) if b"xmlns" in text else ():
        if len(declared[1] or declared[2] or b"") > longest:
            for _, (_, uri) in etree.iterparse(io.BytesIO(text), events=("start-ns",), resolve_entities=False):
                if len(uri.encode()) > longest:
                    words = f"a namespace of {len(uri.encode())} bytes in about {nodes} elements and attributes"
                    return Refused(Reason.LONG_NAMES, words, text.count(b"\n", 0, declared.start()) + 1)
            break
    if re.search(rb"<[^\s<>/!?][^\s<>/]{%d}" % limits.max_name_bytes, text):
        for element in root.iter("*"):
            if len(etree.QName(element).localname.encode()) > limits.max_name_bytes:
                words = f"a name of more than {limits.max_name_bytes} bytes"
                return Refused(Reason.LONG_NAMES, words, cast(int, element.sourceline))
    return None


def _written(root: etree._Element) -> str:
    return etree.tostring(root, encoding="unicode")


def _declared(content: bytes) -> str:
    found = _DECLARED.match(content.removeprefix(codecs.BOM_UTF8))
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
    declaration = content[: content.find(b"?>") + 2]
    if b"encoding" not in declaration or b' encoding="UTF-8"' in declaration:  # nearly all
        return "utf-8"
    found = _DECLARED.match(declaration)
    return ENCODINGS.get(found[1].decode("ascii", "replace").lower()) if found else "utf-8"


def _refusal(error: etree.XMLSyntaxError, doctype: Doctype | None = None) -> Refused:
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
    elif doctype and doctype.entity:
        return _declares_entity(doctype.entity)
    return Refused(reason, message, max(line or 0, 0), max(column or 0, 0))


def _declares_entity(name: str) -> Refused:
    message = f"the DOCTYPE declares entity {name!r}; expand it before sending the document"
    return Refused(Reason.DOCTYPE_ENTITIES, message, 1)


def _judge_doctype(text: bytes, doctype: Doctype) -> Refused | None:
    """Refuses text that depends on declarations; `text` is a well-formed document in UTF-8."""
    if doctype.entity:
        return _declares_entity(doctype.entity)
    if doctype.reference:
        return Refused(Reason.UNDEFINED_ENTITY, f"the DOCTYPE uses entity {doctype.reference!r}, which is not read", 1)
    bare = without_doctype(text, doctype)
    if bare is None:
        return None
    try:
        parse(bare)
    except etree.XMLSyntaxError as error:
        # With a DOCTYPE libxml2 lets an unknown reference pass, in text and in attributes: its text is unknown to us.
        refused = _refusal(error)
        return refused._replace(message=f"{refused.message}; external DTDs are never read")
    return None
