"""Hostile documents by the million: DOCTYPEs, encodings, entities, namespaces and attributes, near what is allowed.

A document is drawn from a grammar, then sometimes damaged. The same random numbers give the same bytes.
"""

from collections.abc import Callable
from random import Random

_NAMES = ("a", "b", "item", "p:a", "q:b", "élan", "Ω", "x-1.y_z", "xmlnsx", "xml:lang", "p:xmlns")
_URIS = (
    "urn:x",
    "urn:y",
    "",
    "http://www.w3.org/XML/1998/namespace",
    "a&amp;b",
    "&#120;",
    "u\tv",
    "http://e.org/?a=1&amp;b",
)
_REFERENCES = (
    "&amp;",
    "&lt;",
    "&gt;",
    "&quot;",
    "&apos;",
    "&#65;",
    "&#x41;",
    "&#13;",
    "&#10;",
    "&#x1F600;",
    "&#0;",
    "&e;",
    "&f;",
    "&x",
    "&#xD800;",
    "&nbsp;",
    "&p:q;",
)
_TEXTS = (
    "",
    "x",
    " ",
    "\n",
    "\r\n",
    "\r",
    "]]",
    "é",
    "😀",
    "\u0085",
    "\u2028",
    "a b",
    "<!--",
    "-->",
    "x" * 70,
    ">",
    "'",
    '"',
    "%p;",
)
_SPACES = (" ", "\n", "\t", "\r\n", "  ")
_COMMENTS = ("<!---->", "<!-- x -->", "<!--<a>-->", "<!--&f;-->", "<!-- <!DOCTYPE a [ -->", "<!-->-->")
_INSTRUCTIONS = ("<?a?>", "<?a <b> ?>", "<?a <!-- ?>", "<?xml-x encoding='latin-1'?>", "<?a '?>")
_SECTIONS = ("<![CDATA[]]>", "<![CDATA[<a>&f;]]>", "<![CDATA[]]]]>", "<![CDATA[\r\n]]>", "<![CDATA[<!--]]>")
_LITERALS = (
    "x",
    "<!--",
    "-->",
    "[",
    "]",
    ">",
    "a'b",
    'a"b',
    "%p;",
    "&f;",
    "http://e.org/a.dtd?b=1&c=2",
    "<!DOCTYPE",
    "é",
)
_DECLARATIONS = (
    "<!ELEMENT a ANY>",
    "<!ELEMENT a (b|c)*>",
    "<!ATTLIST a d CDATA 'x'>",
    "<!ATTLIST a d CDATA ' x &#10; y '>",
    "<!ATTLIST a n NMTOKENS #IMPLIED>",
    "<!ATTLIST b xmlns CDATA 'urn:z'>",
    "<!ATTLIST b xmlns:p CDATA 'urn:z' p:d CDATA 'y'>",
    "<!ATTLIST a d CDATA '&f;'>",
    "<!ATTLIST a d CDATA '&lt;'>",
    "<!NOTATION n SYSTEM 'x'>",
    "<!ENTITY e 'text'>",
    "<!ENTITY e '<b/>'>",
    "<!ENTITY % p '<!ENTITY f \"x\">'>",
    "<!ENTITY f SYSTEM 'file:///etc/hostname'>",
    "%p;",
    "<?a ]> ?>",
    "<!-- ]> -->",
    "<!--' -->",
    "\n",
    "<!ATTLIST a e (x|y) 'x'>",
    "<!ATTLIST a xml:space (default|preserve) 'preserve'>",
)  # fmt: skip
_ENCODINGS = (
    "UTF-8",
    "utf-8",
    "UTF8",
    "US-ASCII",
    "ISO-8859-1",
    "latin1",
    "UTF-16",
    "UTF-16LE",
    "UTF-16BE",
    "UTF-7",
    "x",
    "",
)
_CODECS = ("utf-8",) * 8 + ("latin-1", "latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32", "cp1252")
DAMAGE = (
    *(bytes([code]) for code in b"<>&;'\"/!?[]=- \0\xff\xc3:%"),
    b"]]>",
    b"<!--",
    b"<![CDATA[",
    b"xmlns='u'",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"--",
    b"\x01",
    b"\x7f",
    b"\xef\xbf\xbe",
    b"\xed\xa0\x80",
    b"\xc1\xbf",
    b"\xf4\x90\x80\x80",
    b"&#x1F;",
    b"&#xFFFF;",
    b"<?xml version='1.0'?>",
    b"<?XML?>",
    b"<?a:b?>",
    b" a=''",
    b" xml:id='a'",
    b" xmlns:p='urn:x'",
    b" xmlns:p='u v'",
    b"<b>" * 255,
)


def hostile_document(random: Random) -> bytes:
    codec = random.choice(_CODECS)
    text = _prolog(random, codec) + _element(random, 0) + _misc(random)
    content = text.encode(codec, "replace")
    for _ in range(random.choice((0, 0, 0, 0, 0, 1, 2))):
        content = _damaged(random, content)
    return content


def _prolog(random: Random, codec: str) -> str:
    declaration = ""
    if random.random() < 0.5:
        version = random.choice(("1.0",) * 8 + ("1.1", "2.0"))
        honest = {"latin-1": "ISO-8859-1", "utf-16": "UTF-16"}.get(codec, "UTF-8" if codec == "utf-8" else codec)
        encoding = honest if random.random() < 0.8 else random.choice(_ENCODINGS)
        quote = random.choice("'\"")
        parts = [f"version={quote}{version}{quote}"]
        if random.random() < 0.7:
            parts.append(f"encoding{random.choice(('=', ' = '))}{quote}{encoding}{quote}")
        if random.random() < 0.2:
            parts.append(f"standalone={quote}{random.choice(('yes', 'no'))}{quote}")
        space = random.choice((*_SPACES, " " * 500)) if random.random() < 0.1 else " "
        declaration = f"<?xml {space.join(parts)}?>"
    doctype = _doctype(random) if random.random() < 0.5 else ""
    return declaration + _misc(random) + doctype + _misc(random)


def _misc(random: Random) -> str:
    return _some(random, 0.3, lambda: random.choice((*_COMMENTS[:5], *_INSTRUCTIONS, *_SPACES)))


def _doctype(random: Random) -> str:
    def literal() -> str:
        text = random.choice(_LITERALS)
        return f"'{text}'" if '"' in text or random.random() < 0.5 else f'"{text}"'

    outside = random.choice(("", "", f" SYSTEM {literal()}", f" PUBLIC {literal()} {literal()}", " "))
    subset = f" [{_some(random, 0.6, lambda: random.choice(_DECLARATIONS))}]" if random.random() < 0.6 else ""
    return f"<!DOCTYPE {random.choice(_NAMES)}{outside}{subset}>"


def _element(random: Random, depth: int) -> str:
    """The root mostly binds both prefixes."""
    name = random.choice(_NAMES[:8])
    names = random.choices(_NAMES, k=_few(random))
    names = names if random.random() < 0.1 else list(dict.fromkeys(names))
    pieces = [f"{attribute}={_quoted(random, _value(random))}" for attribute in names]
    if (depth == 0 and random.random() < 0.9) or random.random() < 0.2:
        uris = ("urn:x", "urn:y") if random.random() < 0.9 else random.choices(_URIS, k=2)
        pieces += [f"xmlns:{prefix}={_quoted(random, uri)}" for prefix, uri in zip("pq", uris, strict=True)]
    if random.random() < 0.15:
        pieces.append(f"xmlns={_quoted(random, random.choice(_URIS))}")
    if random.random() < 0.005:
        pieces += [f"n{k}=''" for k in range(random.choice((20, 60, 600)))]
    random.shuffle(pieces)
    start = "<" + name + "".join(random.choice(_SPACES) + piece for piece in pieces)
    if depth > 4 or random.random() < 0.3:
        return start + random.choice(("/>", " />"))
    inside = _some(random, 0.65, lambda: _content(random, depth))
    return f"{start}>{inside}</{name}{random.choice(('', '', ' '))}>"


def _content(random: Random, depth: int) -> str:
    kind = random.random()
    if kind < 0.4:
        return _element(random, depth + 1)
    if kind < 0.7:
        return random.choice(_TEXTS[:12])
    if kind < 0.85:
        return random.choice(_REFERENCES[:10] if random.random() < 0.97 else _REFERENCES)
    return random.choice((*_COMMENTS[:4], *_INSTRUCTIONS, *_SECTIONS))


def _value(random: Random) -> str:
    return _some(
        random,
        0.5,
        lambda: (
            random.choice((*_TEXTS[:12], *_REFERENCES[:9], ">", "\t"))
            if random.random() < 0.95
            else random.choice(_REFERENCES)
        ),
    )


def _quoted(random: Random, value: str) -> str:
    quote = random.choice("'\"")
    return quote + value.replace(quote, "").replace("<", "") + quote


def _damaged(random: Random, content: bytes) -> bytes:
    at = random.randrange(len(content) + 1)
    kind = random.random()
    if kind < 0.3:
        return content[:at] + random.choice(DAMAGE) + content[at:]
    if kind < 0.5:
        return content[:at] + content[at + random.randint(1, 8) :]
    if kind < 0.7:
        return content[:at] + random.choice(DAMAGE) + content[at + 1 :]
    if kind < 0.85:
        other = random.randrange(len(content) + 1)
        return content[:at] + content[min(at, other) : max(at, other)][:60] + content[at:]
    return content[:at] if kind < 0.9 else content[:at] + bytes([random.randrange(256)]) + content[at:]


def _some(random: Random, more: float, make: Callable[[], str]) -> str:
    parts = []
    while random.random() < more and len(parts) < 8:
        parts.append(make())
    return "".join(parts)


def _few(random: Random) -> int:
    return random.choice((0, 0, 0, 1, 1, 2, 3))
