"""Tokens of XPath 1.0 (§3.7), found by one compiled expression.

A token is its text and nothing else, so that tokenizing is a single `findall`; where a token stood is worked out again
only when a message needs it.
"""

import re
from typing import Final

# XML 1.0 names without the colon (Namespaces in XML, NCName).
_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
NCNAME: Final = f"[{_START}][-.0-9\u00b7\u0300-\u036f\u203f\u2040{_START}]*"

# A colon belongs to a name only when another name or `*` follows directly: `child::a` is three tokens, `p:a` is one.
_VALID = (
    rf"{NCNAME}(?::(?:{NCNAME}|\*))?"
    r"|[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
    r"|\"[^\"]*\"|'[^']*'"
    r"|//|::|\.\.|!=|<=|>=|[/.@()\[\],|+\-=<>*$]"
)
# What no rule takes becomes a token of one character, for the parser to refuse.
# White space matches nothing, and `findall` passes over it.
TOKEN: Final = re.compile(rf"{_VALID}|[^ \t\r\n]")
VALID: Final = re.compile(_VALID)
NAME: Final = re.compile(rf"{NCNAME}(?::(?:{NCNAME}|\*))?")
# Characters that XML 1.0 does not allow; libxml2 cannot take them in an expression.
NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def column(text: str, index: int) -> int:
    """The column, from 1, of token number `index`; past the last token, the column after the text."""
    for number, match in enumerate(TOKEN.finditer(text)):
        if number == index:
            return match.start() + 1
    return len(text) + 1
