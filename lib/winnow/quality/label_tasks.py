"""Labels of documents and profiles: a profile can hold only where its labels are."""

from collections.abc import Iterator

from lxml import etree

from winnow.parsing import parse
from winnow.quality.libxml2_tasks import Profile
from winnow.xpath import Kind, Node, Rejected, compile_profile


def held(content: bytes) -> frozenset[str]:
    """Those of a document's elements and attributes.

    >>> sorted(held(b"<a x='1'><b/></a>"))
    ['@x', 'a', 'b']
    """
    elements = list(parse(content).iter(etree.Element))
    return frozenset(str(e.tag) for e in elements) | {f"@{name!s}" for e in elements for name in e.attrib}


def needed(profile: Profile) -> list[frozenset[str]]:
    """For each alternative those that a document must have; no alternatives where the profile never holds.

    >>> [sorted(labels) for labels in needed(Profile("//a[@x] | //b/*", {}, False))]
    [['@x', 'a'], ['b']]
    """
    try:
        compiled = compile_profile(profile.xpath, profile.namespaces, ordered=profile.ordered)
    except Rejected:
        return []
    return [frozenset(_below(pattern.children)) for pattern in compiled.alternatives]


def _below(nodes: tuple[Node, ...]) -> Iterator[str]:
    for node in nodes:
        if node.label is not None:
            yield f"@{node.label}" if node.kind is Kind.ATTRIBUTE else node.label
        yield from _below(node.children)
