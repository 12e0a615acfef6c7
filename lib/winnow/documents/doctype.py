"""The document type declaration of a well-formed document, found in its bytes: libxml2 copies a DTD to show it.

Every expression reads each byte a bounded number of times; groups are possessive, so nothing is tried again.
"""

import re
from typing import NamedTuple

_COMMENT_OR_INSTRUCTION = rb"<!--.*?-->|<\?.*?\?>"
_DECLARATION = rb"""<!(?!--)(?:[^"'>]++|"[^"]*+"|'[^']*+')*+>"""
_DOCTYPE = re.compile(
    rb"""(?:\xef\xbb\xbf)?(?:\s++|%(skipped)s)*+(?P<whole><!DOCTYPE(?:[^"'\[>]++|"[^"]*+"|'[^']*+')*+"""
    rb"""(?:\[(?P<subset>(?:[^\]<]++|%(skipped)s|%(declaration)s)*+)\]\s*+)?>)"""
    % {b"skipped": _COMMENT_OR_INSTRUCTION, b"declaration": _DECLARATION},
    re.DOTALL,
)
_SUBSET_TOKEN = re.compile(
    rb"""%s|<!ENTITY\s++(?:%%\s++)?(?P<entity>[^\s"'>]++)|&(?!#)(?P<reference>[^;\s"'<>&]++);"""
    % _COMMENT_OR_INSTRUCTION,
    re.DOTALL,
)
_NAMED_REFERENCE = re.compile(rb"&(?!#|amp;|lt;|gt;|quot;|apos;)")
_PREDEFINED = frozenset({"amp", "lt", "gt", "quot", "apos"})


class Doctype(NamedTuple):
    start: int
    end: int
    internal_subset: bytes | None
    entity: str = ""  # the first that the internal subset declares
    reference: str = ""  # the first entity that a default value in the internal subset uses and XML does not define


def find_doctype(text: bytes) -> Doctype | None:
    """Returns the declaration in front of the root element of a document in UTF-8.

    >>> find_doctype(b"<!-- <!DOCTYPE b> --><!DOCTYPE a [<!ENTITY e 'x'>]><a/>").entity
    'e'
    """
    found = _DOCTYPE.match(text) if b"<!DOCTYPE" in text else None
    if not found:
        return None
    subset = found["subset"]
    for token in _SUBSET_TOKEN.finditer(subset or b""):
        entity, reference = ((token[kind] or b"").decode("utf-8", "replace") for kind in ("entity", "reference"))
        if entity or (reference and reference not in _PREDEFINED):
            return Doctype(*found.span("whole"), subset, entity, reference)
    return Doctype(*found.span("whole"), subset)


def without_doctype(text: bytes, doctype: Doctype) -> bytes | None:
    """Returns the document without its DOCTYPE, lines kept; None if it has no reference that could need one."""
    if not _NAMED_REFERENCE.search(text, doctype.end):
        return None
    lines = b"\n" * text.count(b"\n", doctype.start, doctype.end)
    return text[: doctype.start] + lines + text[doctype.end :]
