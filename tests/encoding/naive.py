"""The slow, obvious twin of the encoder: ask libxml2 about every node of the parsed document, one XPath at a time."""

from typing import Any, NamedTuple, cast

from lxml import etree

from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.parsing import parse


class NaiveNode(NamedTuple):
    labels: tuple[str, ...]
    descendants: int  # attributes and elements below
    level: int
    parent: int
    value: str


class NaiveDocument(NamedTuple):
    nodes: list[NaiveNode]
    texts: list[tuple[int, str]]  # parent node, value; in document order


def _select(root: etree._Element, xpath: str) -> list[Any]:
    return cast("list[Any]", root.xpath(xpath))


def naive_document(content: bytes) -> NaiveDocument | None:
    """None when libxml2 does not accept the document."""
    try:
        root = parse(content)
    except etree.XMLSyntaxError:
        return None
    nodes: list[NaiveNode] = []
    numbers: dict[Any, int] = {}
    for element in _select(root, "descendant-or-self::*"):
        parent = element.getparent()
        labels = (*(nodes[numbers[parent]].labels if parent is not None else ()), element.tag)
        level = len(labels)
        number = numbers[element] = len(nodes)
        below = int(element.xpath("count(descendant::*) + count(descendant-or-self::*/@*)"))
        nodes.append(NaiveNode(labels, below, level, numbers.get(parent, -1), element.xpath("string()")))
        nodes += [
            NaiveNode((*labels, f"@{name}"), 0, level + 1, number, value) for name, value in element.attrib.items()
        ]
    texts = [
        (numbers[text.getparent() if text.is_text else text.getparent().getparent()], str(text))
        for text in _select(root, "descendant-or-self::text()")
    ]
    return NaiveDocument(nodes, texts)


def seen_document(batch: EncodedBatch, document: int, paths: PathTable, vocabulary: Vocabulary) -> NaiveDocument:
    """What a batch says about one of its documents, in the naive form."""
    first, last = batch.doc_offsets[document], batch.doc_offsets[document + 1]
    nodes = [
        NaiveNode(
            labels=paths.labels(int(batch.path[node]), vocabulary),
            descendants=int(batch.end[node]) - node - 1,
            level=int(batch.level[node]),
            parent=int(batch.parent[node]) - first if batch.parent[node] >= 0 else -1,
            value=batch.value(node).decode() if batch.with_values else "",
        )
        for node in range(first, last)
    ]
    texts = [
        (
            int(batch.text_parent[text]) - first,
            batch.values[batch.text_start[text] : batch.text_end[text]].tobytes().decode(),
        )
        for text in range(batch.text_offsets[document], batch.text_offsets[document + 1])
    ]
    return NaiveDocument(nodes, texts)
