"""XML text for property tests: documents as strings, with everything the scanner must see the way libxml2 does."""

import os

from hypothesis import strategies as st

NIGHTLY = os.environ.get("WINNOW_NIGHTLY") == "1"


def examples(quick: int) -> int:
    """How many examples a property test takes: so many in a quick run, with `WINNOW_NIGHTLY=1` thirty times as many."""
    return 30 * quick if NIGHTLY else quick


_LOCALS = ("a", "b", "c", "item", "Ωmega", "élan", "x-1.y_z", "aVeryLongElementNameThatDoesNotFitIntoOneBlockOfBytes")
_PREFIXES = ("p", "q", "préfixe")
_URIS = ("urn:x", "urn:y", "http://example.org/?a=1&amp;b=2", "urn:&#x7a;")
_BLANKS = st.sampled_from([" ", "\n", "\t", "\r\n", "  ", " \n\t "])
_MAYBE_BLANK = st.sampled_from(["", "", "", " ", "\n", "\r\n\t"])

_plain_text = st.text(st.sampled_from("abz 019-.eé€😀\u0085\u2028'\"=/>!?[;#\t\n"), max_size=40)
_references = st.sampled_from(
    ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#65;", "&#x41;", "&#x1F600;", "&#13;", "&#10;", "&#9;", "&#00233;"]
)
_character_data = st.one_of(
    _plain_text, _plain_text, _references, st.sampled_from(["\r\n", "\r", "\n  ", "]]", "x" * 31, "y" * 64, "é" * 33])
)
_cdata = st.one_of(
    st.sampled_from(["", "]", "]]", "<a>&amp;</a>", "\r\n", "x\r", "-->", "]]]", "<![CDATA["]), _plain_text
).map(lambda text: f"<![CDATA[{text}]]>")
_comment = st.sampled_from(["", " x ", "<a>", "&amp;", "]]>", " - - ", "a-b", ">", "\r\n", "é" * 20]).map(
    "<!--{}-->".format
)
_instruction = st.sampled_from(
    ["<?a?>", "<?a b?>", "<?a ??>", "<?a <b> ?>", "<?xml-x y='z'?>", "<?a >?>", "<?a &amp;?>"]
)
_misc = st.lists(st.one_of(_comment, _instruction, _BLANKS), max_size=3).map("".join)


@st.composite
def _attribute_value(draw: st.DrawFn) -> str:
    quote = draw(st.sampled_from("'\""))
    parts = draw(st.lists(st.one_of(_character_data, st.sampled_from([">", "/>", "\t", "\r\n", "\r"])), max_size=4))
    return quote + "".join(parts).replace(quote, "").replace("]]>", "") + quote


@st.composite
def _start(draw: st.DrawFn, prefixes: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    """The name, the inside of the start tag, and the prefixes that are bound inside the element."""
    declared = draw(st.lists(st.sampled_from(_PREFIXES), max_size=2, unique=True)) if draw(st.booleans()) else []
    pieces = [(f"xmlns:{prefix}", draw(_quoted(_URIS))) for prefix in declared]
    if draw(st.integers(0, 3)) == 0:
        pieces.append(("xmlns", draw(_quoted((*_URIS, "")))))
    bound = tuple(dict.fromkeys((*prefixes, *declared)))
    qualified = (
        st.sampled_from(_LOCALS)
        if not bound
        else st.one_of(
            st.sampled_from(_LOCALS), st.tuples(st.sampled_from(bound), st.sampled_from(_LOCALS)).map(":".join)
        )
    )
    name = draw(qualified)
    # One attribute per local name: two prefixes bound to one namespace would make the document ill-formed.
    for local in draw(st.lists(st.sampled_from((*_LOCALS, "xmlnsx", "xml:lang")), max_size=3, unique=True)):
        prefixed = bound and ":" not in local and draw(st.booleans())
        pieces.append((f"{draw(st.sampled_from(bound))}:{local}" if prefixed else local, draw(_attribute_value())))
    inside = "".join(
        f"{draw(_BLANKS)}{key}{draw(_MAYBE_BLANK)}={draw(_MAYBE_BLANK)}{value}"
        for key, value in draw(st.permutations(pieces))
    )
    return name, inside + draw(_MAYBE_BLANK), bound


def _quoted(values: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from("'\""), st.sampled_from(values)).map(lambda pair: pair[0] + pair[1] + pair[0])


@st.composite
def _element(draw: st.DrawFn, prefixes: tuple[str, ...], depth: int) -> str:
    name, inside, bound = draw(_start(prefixes))
    if draw(st.integers(0, 3)) == 0:
        return f"<{name}{inside}/>"
    content = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.integers(0, 5))
        if kind <= 1 and depth < 4:
            content.append(draw(_element(bound, depth + 1)))
        elif kind <= 3:
            content.append(draw(_character_data))
        else:
            content.append(draw(st.one_of(_cdata, _comment, _instruction)))
    return f"<{name}{inside}>{''.join(content)}</{name}{draw(_MAYBE_BLANK)}>"


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A document; nearly always well-formed (`]]>` may arise from neighbours), which is for the test to see."""
    declaration = draw(
        st.sampled_from(
            ["", '<?xml version="1.0"?>', '<?xml version="1.0" encoding="UTF-8"?>', "<?xml version='1.0'\n ?>"]
        )
    )
    doctype = draw(
        st.sampled_from(
            ["", "", '<!DOCTYPE a SYSTEM "x[y>.dtd">', "<!DOCTYPE a PUBLIC '-//x' \"y'z\" >", "<!DOCTYPE a\n>"]
        )
    )
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    return mark + declaration + draw(_misc) + doctype + draw(_misc) + draw(_element((), 0)) + draw(_misc)
