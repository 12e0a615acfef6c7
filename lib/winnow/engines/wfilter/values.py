"""WFilter on nodes (Martins and Pereira, §4.5): expressions with values, document by document.

The predicates of values are met by nodes, not by paths. An event is an element with all leaves below it; one without
any value on its way that passes a test is no event, since none of these expressions could hold.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Bytes, Ints
from winnow.encoding import EncodedBatch
from winnow.encoding.simd import raw
from winnow.engines.automata.reading import chain_texts, extent_of, longer, more_rows
from winnow.engines.predicates.families import Families, passing, raw_families
from winnow.engines.wfilter.clusters import Clusters, raw_clusters
from winnow.engines.wfilter.predicates import AROUND, OWN, PLACES, TEXT_AROUND, TEXT_OWN, Index, enter_label, raw_index
from winnow.engines.wfilter.vectors import EVENTS, VALUES, Vectors, enter, leave, raw_vectors, test_clusters


class Board(NamedTuple):
    labels: Index
    clusters: Clusters
    vectors: Vectors
    families: Families
    places: Ints  # PLACES per path
    stamps: Ints  # per expression: the stamp of the last document that met it
    last_stamp: int
    has_text: bool


@inlined
def _raw_board(board: Board) -> Board:
    return Board(
        raw_index(board.labels),
        raw_clusters(board.clusters),
        raw_vectors(board.vectors),
        raw_families(board.families),
        raw(board.places),
        raw(board.stamps),
        board.last_stamp,
        board.has_text,
    )


@kernel
def _enter_passing_at(
    families: Families, vectors: Vectors, place: int, value: tuple[Bytes, int, int], trail: tuple[Ints, int, int]
) -> tuple[Ints, int]:
    values, start, stop = value
    entries, used, level = trail
    vectors.counts[VALUES] += 1
    count = passing(families, place, values, (start, stop), vectors.counts[VALUES])
    entries = longer(entries, used, used + count)
    for i in range(count):
        used = enter(vectors, entries, used, families.room[i], level)
    return entries, used


@inlined
def _enter_passing(
    board: Board, spot: tuple[int, int], value: tuple[Bytes, int, int], trail: tuple[Ints, int, int]
) -> tuple[Ints, int]:
    """Enter, at a level, the predicates whose tests the value passes at each place of `places[begin:end]`."""
    begin, end = spot
    entries, used, level = trail
    for k in range(begin, end):
        if board.places[k] >= 0:
            entries, used = _enter_passing_at(
                board.families, board.vectors, board.places[k], value, (entries, used, level)
            )
    return entries, used


@kernel
def met_on_nodes(batch: EncodedBatch, symbols: Ints, given: Board) -> Ints:
    """Rows (document, expression, node), each pair once. Which node it is says nothing: these are candidates."""
    board = _raw_board(given)
    vectors, values, path, end = board.vectors, raw(batch.values), raw(batch.path), raw(batch.end)
    levels, longest, most_texts = extent_of(batch, given.has_text)
    heads, following = np.empty(longest, np.int32), np.empty(most_texts, np.int32)
    tops, valued = np.zeros(levels + 2, np.int64), np.zeros(levels + 2, np.int64)  # entries below; values among them
    entries, hits, met = np.empty(64, np.int32), np.empty((1024, 2), np.int32), np.empty((1024, 3), np.int32)
    found, depth, used = 0, 0, 0
    for document in range(batch.doc_offsets.size - 1):
        stamp = np.int32(board.last_stamp + 1 + document)
        first = batch.doc_offsets[document]
        if board.has_text:
            chain_texts(batch, document, heads, following)
        text_first = batch.text_offsets[document]
        fresh = 1
        for node in range(first, batch.doc_offsets[document + 1]):
            level = batch.level[node]
            text = heads[node - first] if board.has_text else -1
            is_bare = end[node] == node + 1 and text < 0
            if symbols[path[node]] < 0 or (is_bare and level > 1):
                continue  # a leaf: in the event of its parent
            while depth >= level:
                used = leave(vectors, entries, tops[depth], used, depth)
                depth -= 1
            depth = level
            fresh = min(fresh, level)
            tops[level] = used
            entries = longer(entries, used, used + 8)
            used = enter_label(board.labels, vectors, entries, used, (symbols[path[node]], level))
            before = used
            place = PLACES * path[node]
            spot = (place + OWN, place + TEXT_AROUND)
            value = (values, batch.value_start[node], batch.value_end[node])
            entries, used = _enter_passing(board, spot, value, (entries, used, level))
            item = text
            while item >= 0:
                spot = (place + TEXT_AROUND, place + TEXT_OWN)
                value = (values, batch.text_start[item], batch.text_end[item])
                entries, used = _enter_passing(board, spot, value, (entries, used, level))
                item = following[item - text_first]
            child = node + 1
            while child < end[node] and symbols[path[child]] < 0:
                spot = (PLACES * path[child] + AROUND, PLACES * path[child] + OWN)
                value = (values, batch.value_start[child], batch.value_end[child])
                entries, used = _enter_passing(board, spot, value, (entries, used, level))
                child += 1
            valued[level] = valued[level - 1] + used - before
            # The leaves below.
            top, is_event, held = used, is_bare, valued[level]
            item = text
            while item >= 0:
                is_event = True
                entries = longer(entries, used, used + 8)
                used = enter_label(board.labels, vectors, entries, used, (0, level + 1))
                before = used
                spot = (place + TEXT_OWN, place + PLACES)
                value = (values, batch.text_start[item], batch.text_end[item])
                entries, used = _enter_passing(board, spot, value, (entries, used, level + 1))
                held += used - before
                item = following[item - text_first]
            child = node + 1
            while child < end[node]:
                symbol = symbols[path[child]]
                is_texted = board.has_text and heads[child - first] >= 0
                if symbol < 0 or (end[child] == child + 1 and not is_texted):
                    is_event = True
                    entries = longer(entries, used, used + 8)
                    used = enter_label(board.labels, vectors, entries, used, (symbol, level + 1))
                    before = used
                    spot = (PLACES * path[child] + OWN, PLACES * path[child] + TEXT_AROUND)
                    value = (values, batch.value_start[child], batch.value_end[child])
                    entries, used = _enter_passing(board, spot, value, (entries, used, level + 1))
                    held += used - before
                child = end[child]
            if is_event and held:
                vectors.counts[EVENTS] += 1
                hit = 0
                for k in range(used):
                    if entries[k] & 1:
                        hits, hit = test_clusters(
                            board.clusters, vectors, entries[k] >> 1, (fresh, level + 1), (hits, hit)
                        )
                for k in range(hit):
                    if board.stamps[hits[k, 0]] != stamp:
                        board.stamps[hits[k, 0]] = stamp
                        met = more_rows(met, found)
                        met[found, 0] = document
                        met[found, 1] = hits[k, 0]
                        met[found, 2] = node
                        found += 1
            if is_event:
                fresh = level + 1
            used = leave(vectors, entries, top, used, level + 1)
        while depth > 0:
            used = leave(vectors, entries, tops[depth], used, depth)
            depth -= 1
    return met[:found]
