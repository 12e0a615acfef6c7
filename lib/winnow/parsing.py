"""The hardened libxml2 parser, configured once: no network, no external entity or DTD, libxml2's own limits on size."""

import threading

from lxml import etree


class _Parser(threading.local):
    """One for each thread, because a parser holds the messages about the document that it parsed last."""

    def __init__(self) -> None:
        self.of_thread = etree.XMLParser(
            resolve_entities="internal",  # type: ignore[arg-type]  # stubs are old
            no_network=True,
            load_dtd=False,
            dtd_validation=False,
            huge_tree=False,
            recover=False,
        )


_PARSER = _Parser()


def parse(content: bytes) -> etree._Element:
    """The root element of a document. Whoever looks at a tree gets it from here, so that all see the same one.

    lxml overlooks an error in namespaces or identifiers when a warning follows, and libxml2 does not read what stands
    behind the root element after one. So errors are looked for here.

    >>> parse(b"<a><b/></a>").tag
    'a'
    >>> parse(b"<p:a><b xmlns='relative'/></p:a> and more")
    Traceback (most recent call last):
    lxml.etree.XMLSyntaxError: Namespace prefix p on a is not defined, line 1, column 5
    """
    parser = _PARSER.of_thread
    root = etree.fromstring(content, parser)
    for entry in parser.error_log:
        if entry.level > etree.ErrorLevels.WARNING:
            message = f"{entry.message}, line {entry.line}, column {entry.column}"
            raise etree.XMLSyntaxError(message, entry.type, entry.line, entry.column)  # type: ignore[call-arg]
    return root
