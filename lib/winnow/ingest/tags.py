"""The few tokens of XML that matter for splitting a container, as regular expressions on bytes.

The bytes may be malformed: a tag must not swallow what follows it. So a quoted value ends where a tag of a record
begins (no well-formed value holds a `<`), and a tag whose quote was never closed ends at its first `>`. The bytes may
also break off inside a tag, because more are to come: then group `cut` or `broken` says so.
"""

import re

# Every attribute is read, so that a value that quotes a declaration is not taken for one.
_ATTRIBUTE = re.compile(rb"""([^\s=<>"'/]+)\s*=\s*("[^"]*"|'[^']*')""")
_NAME = re.compile(rb"[^\s/>]+")
_START_TAG = re.compile(rb"""<[^!?/<>\s](?:[^<>"']|"[^"]*"|'[^']*')*>""")

# Comments, CDATA and processing instructions may quote tags: they are passed over as a whole.
_OPAQUE = rb"(?P<opaque>!--|!\[CDATA\[|\?)"
END_OF = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
# In a DOCTYPE an entity's value may quote tags; the declarations of an internal subset are passed over one by one.
# Only characters are repeated possessively, never groups: before Python 3.11.5 those match wrongly.
_DECLARATION = (
    rb"""(?P<declaration>!(?!--|\[)(?:[^<>"'\[]|"[^"]*+"|'[^']*+')*(?:[>\[]|(?P<broken>(?:"[^"]*+|'[^']*+)?\Z)))"""
)


class Tokens:
    """All begin with a literal `<`, which the regex engine finds at memory speed."""

    def __init__(self, tag: str) -> None:
        name = rb"(?:[^\s<>/!?:]++:)?" + re.escape(tag.encode()) + rb"(?=[\s/>])"
        rest = _rest_of_start_tag(name)
        self.is_record = re.compile(rb"<" + name)
        self.inside = re.compile(
            rb"<(?:" + _OPAQUE + rb"|(?P<close>/" + name + rb"\s*>)|(?P<open>" + name + rest + rb"))"
        )
        self.outside = re.compile(
            rb"<(?:" + _OPAQUE + rb"|(?P<close>/[^<>]*>)|(?P<open>[^!?/<>\s]" + rest + rb")|" + _DECLARATION + rb")"
        )
        # Behind a record that has no end: the next one, or a tag of any name, which may be that of an ancestor.
        self.behind = re.compile(
            rb"<(?:" + _OPAQUE + rb"|(?P<record>" + name + rb")|(?P<close>/?)(?P<name>[^\s<>/!?][^\s<>/]*+)(?=[\s/>]))"
        )
        self.rest = re.compile(rest)


def _rest_of_start_tag(record: bytes) -> bytes:
    """To its `>`; to a `<` that is in no quotes, where the tag has no end."""
    double, single = (
        quote + rb"[^<" + quote + rb"]*+(?:<(?!/?" + record + rb")[^<" + quote + rb"]*+)*" for quote in (b'"', b"'")
    )
    values = rb"""(?:[^<>"']++|""" + double + rb'"|' + single + rb"')*"
    cut = rb"(?P<cut>(?:" + double + rb"|" + single + rb""")?\Z|["'][^>]*+\Z)"""
    return values + rb"(?:>|" + cut + rb"""|["'][^>]*+>|(?=<))"""


def is_cut(token: re.Match[bytes]) -> bool:
    """The bytes end before the token does."""
    found = token.groupdict()
    return found["cut"] is not None or found.get("broken") is not None


def name_of(tag: bytes) -> bytes:
    """As written, of a start or end tag.

    >>> name_of(b"</p:a >")
    b'p:a'
    """
    found = _NAME.match(tag, 2 if tag.startswith(b"</") else 1)
    return found[0] if found else b""


def declarations(start_tag: bytes) -> dict[bytes, bytes]:
    """Namespaces by `xmlns` or `xmlns:prefix`, in their quotes.

    >>> declarations(b"<a b=' xmlns=no' xmlns:p = 'u'>")
    {b'xmlns:p': b"'u'"}
    """
    return {name: uri for name, uri in _ATTRIBUTE.findall(start_tag) if name.partition(b":")[0] == b"xmlns"}


def with_declarations(content: bytes, inherited: dict[bytes, bytes]) -> bytes:
    """The element with the declarations that it inherits, where it does not make its own."""
    name = _NAME.match(content, 1)
    if name is None:
        return content
    start_tag = _START_TAG.match(content)
    own = declarations(start_tag[0] if start_tag else content)
    added = b"".join(b" " + name + b"=" + uri for name, uri in inherited.items() if name not in own)
    return content[: name.end()] + added + content[name.end() :]
