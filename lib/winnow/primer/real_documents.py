"""Two real documents and a few profiles, from XPath to match, in a tree that is small enough to be drawn."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from winnow.encoding import EncodedBatch, Encoder, PathTable, Vocabulary, document_sequences
from winnow.encoding.path_symbols import PathSymbols
from winnow.engines import create
from winnow.engines.boxfilter.engine import BoxFilter
from winnow.engines.boxfilter.sequences import pieces_of
from winnow.envelope import (
    ACCESS,
    FIRST_COLUMN,
    EnvelopeTree,
    PackedTree,
    Parameters,
    Relation,
    empty_occurrences,
    new_scratch,
    note_sequences,
    pack_rows,
    search_packed,
)
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT
from winnow.primer.drawing import Drawing
from winnow.xpath import compile_profile

NAMESPACES = {
    "p": "http://www.peppol.eu/schema/pd/businesscard/20161123/",
    "r": "urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2",
    "a": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
    "c": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
}
MEMBERS = ("invoices/0241.xml", "invoices/0448.xml")  # of invoices-800.tar.gz
PROFILES = (
    "//p:BusinessEntity/p:CountryCode",
    "//p:BusinessEntity[p:Name]/p:Identifier/@scheme",
    "//p:BusinessEntity[p:CountryCode = 'SE']",
    "/p:BusinessCard/p:CountryCode",
    "//p:Name[p:CountryCode]",
    "//p:Contact/p:Email",
    "/r:ApplicationResponse/a:SenderParty/c:EndpointID",
    "//a:DocumentResponse[a:Response]//c:ID",
    "//a:ReceiverParty[c:ID]",
    "//a:Response/c:ResponseCode[. = 'AP']",
    "//a:DocumentReference/c:IssueDate",
    "//a:InvoiceLine/c:ID",
)
FANOUT = (2, 4)
KINDS = {
    "match": "match: verification has found the XPath to hold",
    "candidate": "candidate, and no match: all pieces lie in the document, and verification says no",
    "compared": "compared: a label does not occur, or not in this order",
    "skipped": "never compared: the bounds of the node say that none of its labels occurs",
}
MARKS = {"match": "●", "candidate": "○", "compared": "–", "skipped": ""}


class Piece(NamedTuple):
    """What stands in the tree for a profile, and what is looked for when that was found."""

    labels: tuple[str, ...]
    access: str
    others: tuple[tuple[str, ...], ...]


class Leaf(NamedTuple):
    """A lowest node of the tree: its bounds, and the profiles whose pieces it holds."""

    labels: tuple[str, ...]  # from the first to the last access label below it
    must: tuple[str, ...]  # that all pieces below it have
    profiles: tuple[int, ...]


class Told(NamedTuple):
    nodes: tuple[tuple[int, str], ...]  # of the first document: depth and label
    sequence: tuple[str, ...]  # of the first document
    pieces: tuple[Piece, ...]  # by profile
    leaves: tuple[Leaf, ...]
    kinds: tuple[tuple[str, ...], ...]  # by document and profile
    nodes_read: int
    nodes_stored: int


def run(contents: list[bytes]) -> Told:
    """Searches a small tree of the profiles with each document, and asks the engine for candidates and matches."""
    vocabulary, paths = Vocabulary(), PathTable()
    engine = create("boxfilter", vocabulary, paths)
    assert isinstance(engine, BoxFilter)
    ids = engine.add(compile_profile(xpath, NAMESPACES).alternatives[0] for xpath in PROFILES).tolist()
    batch = Encoder(vocabulary, paths).encode(contents, values=True)
    candidates = {(int(d), int(p)) for rows in engine.candidates(batch) for d, p in rows}
    found = engine.match(batch)
    matches = set(zip(found.documents.tolist(), found.patterns.tolist(), strict=True))
    index = engine.index
    names = _names_of_columns(engine)
    access = index.access[ids]
    tree = pack_rows(
        EnvelopeTree.bulk_load(
            index.boxes(access.astype(np.int64)),
            Parameters(relation=Relation.SUBSEQUENCE, min_fanout=FANOUT[0], max_fanout=FANOUT[1]),
            ids=np.arange(len(ids), dtype=np.int32),
        ),
        index.labels.weights,
    )
    data = engine.document_sequences(batch)
    given = empty_occurrences(data.sequences, len(index.labels), 1)
    order = np.arange(len(contents), dtype=np.int32)
    kinds, read = [], 0
    for d in range(len(contents)):
        scratch = new_scratch(tree)
        note_sequences(given, data.sequences, order, d, d + 1)
        hits = search_packed(tree, given, data.sequences, d, scratch)
        held = set(tree.ids[scratch.found[:hits]].tolist())
        compared = {profile for node in np.flatnonzero(scratch.read) for profile in _below(tree, int(node))}
        if {p for p, pattern in enumerate(ids) if (d, pattern) in candidates} - held:
            raise AssertionError("the tree that is drawn has lost a candidate")
        kinds.append(
            tuple(
                "match"
                if (d, pattern) in matches
                else "candidate"
                if (d, pattern) in candidates
                else "compared"
                if p in compared
                else "skipped"
                for p, pattern in enumerate(ids)
            )
        )
        read += int(scratch.read.sum())
    nodes, sequence = _document(batch.slice(0, 1), engine)
    return Told(
        nodes,
        sequence,
        tuple(_piece(engine, pattern, names) for pattern in ids),
        tuple(_leaf(tree, int(node), names) for node in np.flatnonzero(tree.level == 1)),
        tuple(kinds),
        read,
        tree.level.size * len(contents),
    )


def _below(tree: PackedTree, node: int) -> list[int]:
    """The profiles in a node, if it is a lowest one."""
    first = tree.first[node]
    return tree.ids[first : first + tree.counts[node]].tolist() if tree.level[node] == 1 else []


def _leaf(tree: PackedTree, node: int, names: list[str]) -> Leaf:
    low, high = int(tree.low[node]), int(tree.high[node])
    must = tree.must.reshape(tree.level.size, -1)[node]
    return Leaf(
        tuple(names[column] for column in range(low, high + 1)),
        tuple(names[column] for column in must.tolist() if column >= 0),
        tuple(_below(tree, node)),
    )


def _piece(engine: BoxFilter, pattern: int, names: list[str]) -> Piece:
    index, twigs = engine.index, engine.store.twigs
    pieces = pieces_of(twigs, pattern, pattern + 1, engine.store.height)
    own = [_labels(pieces.symbols[begin:end].tolist(), engine) for begin, end in pairwise(pieces.ends.tolist())]
    row = index.boxes(index.access[pattern : pattern + 1].astype(np.int64))
    begin, end = index.sequences.offsets[index.access[pattern] :][:2]
    chosen = _labels(index.sequences.pool[begin:end].tolist(), engine)
    return Piece(chosen, names[int(row.low[0]) - ACCESS], tuple(labels for labels in own if labels != chosen))


def _labels(symbols: list[int], engine: BoxFilter) -> tuple[str, ...]:
    wildcards = {ANY_ELEMENT: "*", ANY_ATTRIBUTE: "@*"}
    return tuple(wildcards.get(symbol) or short(engine.store.vocabulary.label(abs(symbol))) for symbol in symbols)


def _names_of_columns(engine: BoxFilter) -> list[str]:
    """The label of each column, after those of the two wildcards."""
    vocabulary = engine.store.vocabulary
    columns = engine.index.labels.of_paths(np.arange(len(vocabulary), dtype=np.int32))
    names = ["any element", "any attribute"] + [""] * (len(engine.index.labels) - FIRST_COLUMN)
    for label, column in zip(vocabulary.labels(), columns.tolist(), strict=True):
        if FIRST_COLUMN <= column < len(names):
            names[column] = short(label)
    return names


def _document(batch: EncodedBatch, engine: BoxFilter) -> tuple[tuple[tuple[int, str], ...], tuple[str, ...]]:
    """The nodes of a document with their depths, and its sequence."""
    symbols = PathSymbols(engine.paths, engine.store.vocabulary).signed()
    nodes = zip(batch.level.tolist(), _labels(np.abs(symbols[batch.path]).tolist(), engine), strict=True)
    sequence, _ = document_sequences(batch, symbols)
    return tuple(nodes), _labels(np.abs(sequence).tolist(), engine)


def short(label: str) -> str:
    """Without its namespace.

    >>> short("@{urn:x}scheme"), short("{urn:x}ID"), short("ID")
    ('@scheme', 'ID', 'ID')
    """
    return ("@" if label.startswith("@") else "") + label.rpartition("}")[2].lstrip("@")


def draw_sequence(told: Told) -> str:
    picture = Drawing(
        "A real document and its sequence",
        "On the left the elements and attributes of the document, indented; on the right its sequence of labels.",
    )
    for k, (depth, label) in enumerate(told.nodes):
        picture.box(20 + 26 * (depth - 1), 52 + 34 * k, 190, 26, words=label, font="code")
    picture.words(330, 66, "Each leaf is given one more child. Then nodes are removed, children before")
    picture.words(330, 86, "their parents; each time the label of the parent is written down:")
    for k, label in enumerate(told.sequence):
        x, y = 330 + 220 * (k % 2), 104 + 34 * (k // 2)
        picture.words(x, y + 18, f"{k + 1}", "soft")
        picture.box(x + 22, y, 190, 26, kind="bound", words=label, font="code")
    return picture.svg()


def draw_pieces(told: Told) -> str:
    picture = Drawing(
        "Profiles and the pieces that must lie in a matching document",
        "For each XPath the sequence that stands in the tree, its rarest label, and further sequences.",
    )
    picture.words(20, 58, "profile", "soft")
    picture.words(450, 58, "in the tree, from the lower end up", "soft")
    for k, (xpath, piece) in enumerate(zip(PROFILES, told.pieces, strict=True)):
        y = 82 + 48 * k
        picture.words(20, y, f"{k + 1}  {xpath}", "code")
        picture.words(450, y, "  ".join(piece.labels), "code")
        further = "; ".join("  ".join(other) for other in piece.others)
        picture.words(
            450, y + 18, f"rarest: {piece.access}" + (f"; then look for: {further}" if further else ""), "soft"
        )
    return picture.svg()


def draw_tree(told: Told) -> str:
    picture = Drawing(
        "The tree of the pieces, joined with two documents",
        "Below the root the lowest nodes with their bounds; below these the profiles, and a row for each document.",
    )
    gap, width = 12, (860 - 12 * (len(told.leaves) - 1)) // len(told.leaves)
    picture.box(330, 48, 240, 28, kind="bound", words="root: all labels of the profiles")
    for k, leaf in enumerate(told.leaves):
        x = 20 + k * (width + gap)
        picture.line(450, 76, x + width // 2, 104)
        picture.box(x, 104, width, 28 + 18 * max(len(each.labels) for each in told.leaves) + 22, kind="bound")
        picture.words(x + 8, 122, "a document needs one of", "soft")
        for number, label in enumerate(leaf.labels):
            picture.words(x + 16, 142 + 18 * number, label, "code")
        bottom = 142 + 18 * max(len(each.labels) for each in told.leaves)
        if leaf.must:
            picture.words(x + 8, bottom, "and all of: " + ", ".join(leaf.must), "soft")
        cell = (width - 8) // max(len(leaf.profiles), 1)
        for number, profile in enumerate(leaf.profiles):
            picture.words(x + 8 + cell * number, bottom + 40, f"{profile + 1}", "soft")
            for d, kinds in enumerate(told.kinds):
                kind = kinds[profile]
                place = x + 4 + cell * number, bottom + 50 + 62 * d
                picture.box(*place, cell - 4, 30, kind=kind, words=MARKS[kind])
    for d in range(len(told.kinds)):
        picture.words(20, bottom + 98 + 62 * d, f"document {d + 1}, above: {_summary(told.kinds[d])}", "soft")
    y = bottom + 50 + 62 * len(told.kinds) + 10
    picture.words(20, y, f"Of {told.nodes_stored} nodes (counted for each document) {told.nodes_read} were read.")
    picture.legend(y + 16, {kind: f"{MARKS[kind]}  {meaning}" for kind, meaning in KINDS.items()})
    return picture.svg()


def draw_funnel(told: Told) -> str:
    """Bars as long as what is left of all pairs."""
    pairs = [kind for kinds in told.kinds for kind in kinds]
    levels = {
        "pairs of document and profile": len(pairs),
        "compared": len(pairs) - pairs.count("skipped"),
        "candidates": pairs.count("candidate") + pairs.count("match"),
        "matches": pairs.count("match"),
    }
    picture = Drawing("From pairs to matches", "Bars as long as the pairs that are left after each step.")
    for k, ((name, count), kind) in enumerate(
        zip(levels.items(), ("skipped", "compared", "candidate", "match"), strict=True)
    ):
        y = 52 + 38 * k
        picture.words(20, y + 19, name)
        picture.box(250, y, max(round(560 * count / len(pairs)), 2), 28, kind=kind)
        picture.words(260 + round(560 * count / len(pairs)), y + 19, str(count))
    return picture.svg()


def _summary(kinds: tuple[str, ...]) -> str:
    names = {
        "match": "matches",
        "candidate": "other candidates",
        "compared": "compared in vain",
        "skipped": "never compared",
    }
    return ", ".join(f"{kinds.count(kind)} {name}" for kind, name in names.items())
