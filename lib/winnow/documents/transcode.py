"""Documents in other encodings as UTF-8, the one encoding that the scanner reads."""

import codecs
import re

from winnow.errors import DataError

_DECLARED = re.compile(r"(<\?xml\s[^?>]*?\sencoding\s*=\s*)(\"[^\"]*\"|'[^']*')")


def to_utf8(content: bytes, encoding: str) -> bytes:
    """The same document in UTF-8: decoded, without byte order mark, its XML declaration telling the truth.

    >>> to_utf8('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'.encode("latin-1"), "latin-1").decode()
    '<?xml version="1.0" encoding="UTF-8"?><a>é</a>'
    """
    try:
        text = codecs.decode(content, encoding).removeprefix("\ufeff")
    except (LookupError, UnicodeDecodeError) as error:
        raise DataError("encoding", f"the document cannot be read as {encoding}: {error}") from error
    declared = _DECLARED.match(text)
    if declared:
        text = f'{declared[1]}"UTF-8"{text[declared.end() :]}'
    return text.encode("utf-8")
