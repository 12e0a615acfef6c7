"""What names mean: from raw bytes in a namespace context to expanded names. The slow, careful part behind the scanner.

A context is the set of prefix bindings in scope, numbered; context 0 is that of a document's root.
"""

import re

XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XMLNS_NAMESPACE = "http://www.w3.org/2000/xmlns/"

# Documents are hostile, and every context is a set of its own: what has more namespaces is left to libxml2.
MAX_BINDINGS, MAX_SIZE = 256, 2**20

Bindings = frozenset[tuple[str, str]]

_ENCODING = re.compile(rb"\sencoding\s*=\s*[\"']([^\"']*)[\"']")
_UTF8_NAMES = frozenset({b"utf-8", b"utf8", b"us-ascii", b"ascii"})
_REFERENCE = re.compile(r"&(?:#x([0-9A-Fa-f]+)|#([0-9]+)|(amp|lt|gt|quot|apos));")
_PREDEFINED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class UnresolvedNameError(ValueError):
    """Only libxml2 can say what this name means, or that the document is not well-formed."""


class Contexts:
    """Namespace contexts, each distinct set of bindings once.

    >>> contexts = Contexts()
    >>> outer = contexts.declare(0, b'xmlns:p="urn:x"')
    >>> contexts.expand(outer, b"p:a"), contexts.expand(outer, b"a"), contexts.expand(outer, b"xml:lang")
    ('{urn:x}a', 'a', '{http://www.w3.org/XML/1998/namespace}lang')
    >>> contexts.declare(outer, b"xmlns:p = 'urn:x'") == outer
    True
    """

    def __init__(self) -> None:
        root = frozenset({("xml", XML_NAMESPACE)})
        self._bindings: list[dict[str, str]] = [dict(root)]
        self._ids: dict[Bindings, int] = {root: 0}
        self.size = 1  # bindings of all contexts

    def declare(self, context: int, declaration: bytes) -> int:
        """The context inside an element of `context` that carries `xmlns="…"` or `xmlns:p="…"`, given raw."""
        name, _, quoted = _decode(declaration).partition("=")
        prefix = name.strip().partition(":")[2]
        uri = _attribute_value(quoted.strip()[1:-1])
        if prefix == "xmlns" or uri == XMLNS_NAMESPACE or (prefix == "xml") != (uri == XML_NAMESPACE):
            raise UnresolvedNameError(f"namespace {uri!r} for prefix {prefix!r}")
        if prefix and not uri:
            raise UnresolvedNameError(f"prefix {prefix!r} without namespace")
        bindings = {**self._bindings[context], prefix: uri}
        if not uri:
            del bindings[""]
        key = frozenset(bindings.items())
        if key not in self._ids:
            if len(bindings) > MAX_BINDINGS or self.size > MAX_SIZE:
                raise UnresolvedNameError("too many namespaces to keep")
            self.size += len(bindings)
            self._ids[key] = len(self._bindings)
            self._bindings.append(bindings)
        return self._ids[key]

    def expand(self, context: int, name: bytes) -> str:
        """The expanded name of an element."""
        prefix, local = _split(name)
        uri = self._bindings[context].get(prefix, "" if not prefix else None)
        if uri is None:
            raise UnresolvedNameError(f"prefix {prefix!r} is not bound")
        return f"{{{uri}}}{local}" if uri else local

    def expand_attribute(self, context: int, name: bytes) -> str:
        """The label of an attribute; without prefix it has no namespace."""
        return "@" + (_split(name)[1] if b":" not in name else self.expand(context, name))


def declares_utf8(declaration: bytes) -> bool:
    """Whether bytes under this XML declaration are UTF-8.

    >>> declares_utf8(b"<?xml version='1.0'?>"), declares_utf8(b"<?xml version='1.0' encoding='ISO-8859-1'?>")
    (True, False)
    """
    encoding = _ENCODING.search(declaration)
    return encoding is None or encoding[1].lower() in _UTF8_NAMES


def _split(name: bytes) -> tuple[str, str]:
    prefix, colon, local = _decode(name).rpartition(":")
    if not local or (colon and not prefix) or ":" in prefix:
        raise UnresolvedNameError(f"name {name!r}")
    return prefix, local


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
