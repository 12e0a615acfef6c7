"""Why a profile is hybrid."""

from typing import NamedTuple


class Reason(NamedTuple):
    code: str
    column: int
    message: str


MESSAGES = {
    "not": "a negation asks for what is absent; the index only knows what is present",
    "position": "positions depend on the siblings that come before",
    "axis": "this axis depends on document order",
    "node_test": "comments, processing instructions and node() are not indexed",
    "namespace_wildcard": "any name of a namespace is indexed as any name",
    "function": "this function is computed by libxml2",
    "arithmetic": "arithmetic is computed by libxml2",
    "node_set_comparison": "two node sets are compared pair by pair",
    "first_node": "only the first node of the set counts, and it is not a single step away",
    "boolean_comparison": "truth values that depend on the document are compared",
    "alternatives": "`or` and `|` multiply to more patterns than the limit",
}
