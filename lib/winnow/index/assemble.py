"""A matcher put together from tables: nothing is parsed, compiled or joined again."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.arrays.types import Ints, Longs
from winnow.deciding.limits import DEFAULT_EVALUATION, EvaluationLimits
from winnow.deciding.profile import HybridProfile
from winnow.encoding import PathTable, Vocabulary
from winnow.engines.boxpath.engine import BoxPath
from winnow.index.codes import line_codes, text_codes
from winnow.index.lines import find
from winnow.index.patterns import add_rows
from winnow.matcher import Matcher
from winnow.values.selectivity import Selectivity


class Words(NamedTuple):
    """What documents are made of: path k of `paths` has code `codes[k]`."""

    vocabulary: Vocabulary
    paths: PathTable
    codes: Longs


class Asked(NamedTuple):
    """Profiles in the order of their slots, their patterns one after the other, and those that libxml2 decides."""

    profile_ids: list[str]
    alternatives: Ints
    pattern_ids: Longs
    hybrid: Mapping[str, HybridProfile]


class Joined(NamedTuple):
    """Pairs that were joined before: every branch of the patterns with every known path."""

    path_codes: Longs
    text: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
    branch_codes: Longs


def assemble(
    engine: str,
    words: Words,
    patterns: pa.Table,
    asked: Asked,
    joined: Joined | None,
    *,
    evaluation: EvaluationLimits = DEFAULT_EVALUATION,
    selectivity: Selectivity | None = None,
) -> Matcher:
    """`patterns` are rows of the table; without `joined` the engine joins by itself when it meets documents."""
    matcher = Matcher(engine=engine, vocabulary=words.vocabulary, paths=words.paths, evaluation=evaluation)
    matcher.engine.selectivity = selectivity
    wanted = np.unique(asked.pattern_ids)
    rows = patterns.filter(pc.is_in(patterns.column("pattern_id"), value_set=pa.array(wanted)))
    ids = matcher.engine.add_stream(*add_rows(matcher.engine.store, rows))
    place = find(rows.column("pattern_id").to_numpy().astype(np.int64), asked.pattern_ids)
    matcher.adopt(asked.profile_ids, asked.alternatives, ids[place], asked.hybrid)
    if joined is not None and isinstance(matcher.engine, BoxPath):
        _preload(matcher.engine, words, joined)
    return matcher


def _preload(engine: BoxPath, words: Words, joined: Joined) -> None:
    labels = text_codes(words.vocabulary.labels())
    for index in engine.line_indexes:
        codes = line_codes(index.lines.pool, index.lines.offsets, labels)
        line = find(codes, joined.branch_codes)
        own = np.flatnonzero(line >= 0)  # few of what was joined is asked for, and documents may have other paths
        place = 2 * find(words.codes, joined.path_codes[own]) + joined.text[own]
        own, place = own[place >= 0], place[place >= 0]
        index.preload(2 * len(words.paths), place.astype(np.int32), line[own].astype(np.int32))
