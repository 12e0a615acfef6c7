"""The short cut for plain paths: most profiles are names and slashes, and need neither tokens nor a tree.

It gives exactly what the parser and the normaliser give (a test compares them), or nothing: whatever is unusual, and
everything that might be refused, is left to them.
"""

import re
from collections.abc import Mapping
from sys import intern
from typing import Final

from winnow.xpath import canonical
from winnow.xpath.pattern import Axis, Kind, Node

_NAME = r"[A-Za-z_][-.0-9A-Za-z_]*"
_STEP = rf"(?:{_NAME}(?::{_NAME})?|\*)"
_PLAIN: Final = re.compile(rf"/{{0,2}}{_STEP}(?://?{_STEP})*")


def plain_path(text: str, namespaces: Mapping[str, str], used: dict[str, str], steps: int) -> tuple[Node, ...] | None:
    """The children of the document node; the bindings it needed go to `used`. None: not a plain path."""
    if _PLAIN.fullmatch(text) is None:
        return None
    # An empty part is a slash more: the first makes the path absolute, any other turns the next step into `//`.
    parts = text.split("/")
    if len(parts) > steps:
        return None
    nodes: tuple[Node, ...] = ()
    i = len(parts) - 1
    while i >= 0 and (i or parts[0]):
        name = parts[i]
        i -= 1
        axis = Axis.CHILD
        if i > 0 and not parts[i]:
            axis = Axis.DESCENDANT
            i -= 1
        if name == "*":
            nodes = (canonical.element(Node(axis, Kind.ELEMENT, None, (), nodes)),)
            continue
        prefix, colon, local = name.partition(":")
        if colon:
            uri = namespaces.get(prefix)
            if not uri or prefix == "xml":
                return None
            used[prefix] = uri
            name = f"{{{uri}}}{local}"
        nodes = (Node(axis, Kind.ELEMENT, intern(name), (), nodes),)
    if parts[0]:  # relative to the root element
        nodes = (Node(Axis.CHILD, Kind.ELEMENT, None, (), nodes),)
    if nodes[0].label is None:
        return canonical.document(nodes)
    return nodes
