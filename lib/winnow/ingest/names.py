"""Names of files and archive members as text that tables and terminals can show. They are never used as paths."""

import re

# Controls, and what breaks lines or turns the direction of writing.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(name: str) -> str:
    """Escapes bytes that are not UTF-8 (surrogates, as `os.fsdecode` makes them) and characters that steer a terminal.

    >>> print(printable("caf\\udce9.xml"), printable("../a\\n\\x1b[2J.xml"))
    caf\\xe9.xml ../a\\n\\x1b[2J.xml
    """
    if name.isprintable():
        return name
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
