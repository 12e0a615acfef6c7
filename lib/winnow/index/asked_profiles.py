"""What workers need to answer: the profiles of one shard, and the paths that were joined with their branches.

Both are immutable files that the workers of a machine map (`winnow.spark.index_file`). The first changes with the
profiles, the second with the paths; they are put together when a worker opens them.
"""

import datetime as dt
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.arrays.types import Bytes, Flags, Ints, Longs
from winnow.deciding.limits import EvaluationLimits
from winnow.deciding.profile import HybridProfile
from winnow.engines.boxpath.engine import BoxPath
from winnow.index.codes import line_codes, text_codes
from winnow.index.encoded_rows import KnownPaths
from winnow.index.lines import find
from winnow.index.patterns import add_rows
from winnow.matcher import Matcher
from winnow.values.selectivity import Selectivity
from winnow.xpath import compile_profile

_EPOCH = dt.date(1970, 1, 1)
_SINCE_EVER, _FOR_EVER = np.int32(-(2**31)), np.int32(2**31 - 1)


class AskedProfiles(NamedTuple):
    """The profiles of one shard by slot: their keys, the days on which they are valid, and a frozen matcher."""

    keys: Longs
    valid_from: Ints  # days since 1970
    valid_to: Ints
    matcher: Matcher

    def valid_on(self, date: dt.date) -> Flags:
        day = (date - _EPOCH).days
        valid: Flags = (self.valid_from <= day) & (day < self.valid_to)
        return valid


class JoinedPaths(NamedTuple):
    """All paths, parents first, and every pair of path and branch."""

    path_ids: Longs
    parents: Ints  # by position; -1 for a root element
    labels: Ints  # by position among the names
    name_ends: Longs
    names: Bytes
    pair_path_ids: Longs
    pair_text: Flags
    pair_branch_ids: Longs


def ask(rows: pa.Table, engine: str, selectivity: Selectivity | None = None) -> AskedProfiles:
    """Builds the matcher of some profiles from their patterns; nothing is parsed but what libxml2 decides.

    `rows` have profile_key, valid_from, valid_to, xpath, namespaces, ordered, class and patterns.
    """
    rows = rows.sort_by("profile_key").combine_chunks()
    lists = rows.column("patterns").combine_chunks()
    structs = lists.flatten()
    patterns = pa.table({name: structs.field(name) for name in ("pattern_id", "twig", "labels", "tests")})
    ids = patterns.column("pattern_id").to_numpy()
    _, first, place = np.unique(ids, return_index=True, return_inverse=True)
    matcher = Matcher(engine=engine)
    matcher.engine.selectivity = selectivity
    added = matcher.engine.add_stream(*add_rows(matcher.engine.store, patterns.take(pa.array(first))))
    hybrid = {}
    for slot in pc.indices_nonzero(pc.equal(rows.column("class"), "hybrid")).to_pylist():
        row = rows.select(["xpath", "namespaces", "ordered"]).slice(slot, 1).to_pylist()[0]
        hybrid[slot] = HybridProfile(compile_profile(row["xpath"], dict(row["namespaces"]), ordered=row["ordered"]))
    counts = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int32)
    matcher.adopt_unnamed(counts, added[place], hybrid)
    matcher.freeze()
    return AskedProfiles(
        rows.column("profile_key").to_numpy(),
        _days(rows.column("valid_from"), _SINCE_EVER),
        _days(rows.column("valid_to"), _FOR_EVER),
        matcher,
    )


def join_paths_of(paths: pa.Table, pairs: pa.Table) -> JoinedPaths:
    """Puts rows of `paths` and of `path_branches` into flat arrays."""
    paths = paths.sort_by([("depth", "ascending"), ("path_id", "ascending")])
    ids = paths.column("path_id").to_numpy()
    named = paths.column("label").combine_chunks().dictionary_encode()
    texts = [text.encode() for text in named.dictionary.to_pylist()]
    return JoinedPaths(
        ids,
        find(ids, paths.column("parent_id").to_numpy()).astype(np.int32),
        named.indices.to_numpy(zero_copy_only=False).astype(np.int32),
        np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64),
        np.frombuffer(b"".join(texts), np.uint8),
        pairs.column("path_id").to_numpy(),
        pairs.column("text").to_numpy(zero_copy_only=False),
        pairs.column("branch_id").to_numpy(),
    )


class ReadyProfiles(NamedTuple):
    """A matcher that knows all paths."""

    asked: AskedProfiles
    paths: KnownPaths
    wanted: Flags  # paths that some branch of the profiles has


def make_ready(asked: AskedProfiles, joined: JoinedPaths, evaluation: EvaluationLimits) -> ReadyProfiles:
    """Gives a matcher the paths that documents have, and the answers to the structural question that are known."""
    matcher = asked.matcher
    matcher.evaluation = evaluation
    bounds, text = joined.name_ends.tolist(), joined.names.tobytes()
    names = [text[start:stop].decode() for start, stop in pairwise(bounds)]
    symbols = np.array([matcher.vocabulary.add(name) for name in names], np.int32)
    matcher.paths.fill(joined.parents + 1, symbols[joined.labels])
    codes = np.concatenate([[0], joined.path_ids])
    wanted = np.zeros(codes.size, np.bool_)
    if isinstance(matcher.engine, BoxPath):
        labels = text_codes(matcher.vocabulary.labels())
        place = find(codes, joined.pair_path_ids)
        for index in matcher.engine.line_indexes:
            line = find(line_codes(index.lines.pool, index.lines.offsets, labels), joined.pair_branch_ids)
            own = np.flatnonzero((line >= 0) & (place >= 0))  # few of what was joined is asked for
            wanted[place[own]] = True
            places = 2 * place[own] + joined.pair_text[own]
            index.preload(2 * codes.size, places.astype(np.int32), line[own].astype(np.int32))
    if not isinstance(matcher.engine, BoxPath) or matcher.engine.holds_everywhere:
        wanted[:] = True
    return ReadyProfiles(asked, KnownPaths(matcher.paths, codes, matcher.symbols.signed() < 0), wanted)


def _days(dates: pa.ChunkedArray, missing: np.int32) -> Ints:
    days: Ints = pc.fill_null(dates.cast(pa.int32()), int(missing)).to_numpy().astype(np.int32)
    return days
