"""What names mean: from raw bytes in a namespace context to expanded names. The slow, careful part behind the scanner.

A context is what prefixes mean at a place, numbered; context 0 is that of a document's root.
"""

import re

from winnow.encoding.layout import OTHER_ENCODING, PLAIN_UTF8, UTF8
from winnow.xpath.tokens import NCNAME

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XMLNS_NAMESPACE = "http://www.w3.org/2000/xmlns/"

# Documents are hostile, and every context has bindings of its own: what has more namespaces is left to libxml2.
MAX_BINDINGS, MAX_SIZE = 256, 2**20

_PLAIN_DECLARATION = re.compile(
    rb"""<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.0"|'1\.0')"""
    rb"""(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?i:"utf-8"|'utf-8'))?"""
    rb"""(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*\?>"""
)
_ENCODING = re.compile(rb"\sencoding\s*=\s*[\"']([^\"']*)[\"']")
_UTF8_NAMES = frozenset({b"utf-8", b"utf8", b"us-ascii", b"ascii"})
_REFERENCE = re.compile(r"&(?:#x([0-9A-Fa-f]{1,7})|#([0-9]{1,7})|(amp|lt|gt|quot|apos));")
_NAME = re.compile(rf"(?:({NCNAME}):)?({NCNAME})")
_NAMESPACE = re.compile(rf"""xmlns(?::({NCNAME}))?[ \t\r\n]*=[ \t\r\n]*(?:"([^"<]*)"|'([^'<]*)')""")
# RFC 3986 as libxml2 reads it, without brackets and user names: a namespace that is no such reference is an error.
_PATH = r"A-Za-z0-9\-._~!$&'()*+,;=:@/%"
_URI = re.compile(
    r"(?!.*%(?![0-9A-Fa-f]{2}))"  # an escape is two digits
    r"(?:[A-Za-z][A-Za-z0-9+.\-]*+:|(?![^/?#]*:))"  # a scheme, or no colon in the first segment
    r"(?://[A-Za-z0-9\-._~]*+(?::[0-9]{1,5})?(?![^/?#])|(?!//))"  # a host and its port
    rf"[{_PATH}]*+(?:\?[{_PATH}?]*+)?(?:#[{_PATH}?]*+)?"
)
_PREDEFINED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class UnresolvedNameError(ValueError):
    """Only libxml2 can say what this name means, or that the document is not well-formed."""


class Contexts:
    """Namespace contexts: each is one declaration inside another context.

    >>> contexts = Contexts()
    >>> outer = contexts.declare(0, b'xmlns:p="urn:x"')
    >>> contexts.expand(outer, b"p:a"), contexts.expand(outer, b"a"), contexts.expand(outer, b"xml:lang")
    ('{urn:x}a', 'a', '{http://www.w3.org/XML/1998/namespace}lang')
    >>> contexts.declare(outer, b"xmlns:p = 'urn:x'") == outer
    True
    """

    def __init__(self) -> None:
        self._bindings: list[dict[str, str]] = [{"xml": XML_NAMESPACE}]
        self._ids: dict[tuple[int, str, str], int] = {}  # by outer context, prefix and namespace
        self.size = 1  # bindings of all contexts

    def declare(self, context: int, declaration: bytes) -> int:
        """The context inside an element of `context` that carries `xmlns="…"` or `xmlns:p="…"`, given raw."""
        found = _NAMESPACE.fullmatch(_decode(declaration))
        if not found:
            raise UnresolvedNameError(f"declaration {declaration!r}")
        prefix, uri = found[1] or "", _attribute_value(found[2] or found[3] or "")
        if not _URI.fullmatch(uri):
            raise UnresolvedNameError(f"namespace {uri!r} is no URI")
        if prefix == "xmlns" or uri == XMLNS_NAMESPACE or (prefix == "xml") != (uri == XML_NAMESPACE):
            raise UnresolvedNameError(f"namespace {uri!r} for prefix {prefix!r}")
        if prefix and not uri:
            raise UnresolvedNameError(f"prefix {prefix!r} without namespace")
        outer = self._bindings[context]
        if uri == outer.get(prefix, ""):
            return context
        key = (context, prefix, uri)
        if key not in self._ids:
            if len(outer) >= MAX_BINDINGS or self.size > MAX_SIZE:
                raise UnresolvedNameError("too many namespaces to keep")
            self._ids[key] = len(self._bindings)
            self._bindings.append({**outer, prefix: uri})
            self.size += len(outer) + 1
        return self._ids[key]

    def expand(self, context: int, name: bytes) -> str:
        """The expanded name of an element."""
        prefix, local = _split(name)
        uri = self._bindings[context].get(prefix, None if prefix else "")
        if uri is None:
            raise UnresolvedNameError(f"prefix {prefix!r} is not bound")
        return f"{{{uri}}}{local}" if uri else local

    def expand_attribute(self, context: int, name: bytes) -> str:
        """The label of an attribute; without prefix it has no namespace."""
        return "@" + (_split(name)[1] if b":" not in name else self.expand(context, name))


def encoding_of(declaration: bytes) -> int:
    """How bytes under this XML declaration are encoded: `PLAIN_UTF8` when it is surely well-formed, too.

    >>> encoding_of(b"<?xml version='1.0'?>") == PLAIN_UTF8, encoding_of(b"<?xml version='1.1'?>") == UTF8
    (True, True)
    >>> encoding_of(b"<?xml version='1.0' encoding='ISO-8859-1'?>") == OTHER_ENCODING
    True
    """
    if _PLAIN_DECLARATION.fullmatch(declaration):
        return PLAIN_UTF8
    encoding = _ENCODING.search(declaration)
    return UTF8 if encoding is None or encoding[1].lower() in _UTF8_NAMES else OTHER_ENCODING


def _split(name: bytes) -> tuple[str, str]:
    found = _NAME.fullmatch(_decode(name))
    if not found:
        raise UnresolvedNameError(f"name {name!r}")
    return found[1] or "", found[2]


def _attribute_value(raw: str) -> str:
    text = re.sub(r"\r\n|[\t\n\r]", " ", raw)
    if "&" in _REFERENCE.sub("", text):
        raise UnresolvedNameError(f"reference in {raw!r}")
    return _REFERENCE.sub(_character, text)


def _character(reference: re.Match[str]) -> str:
    if reference[3]:
        return _PREDEFINED[reference[3]]
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    try:
        return chr(code)
    except (ValueError, OverflowError):
        raise UnresolvedNameError(f"character {code}") from None


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise UnresolvedNameError(f"not UTF-8: {raw!r}") from None
