"""What the profile language makes of XPaths, as rows of `profile_patterns`.

Parsing is the only work done XPath by XPath; all that follows is done for a whole batch.
"""

import numpy as np
import pyarrow as pa

from winnow.arrays.types import Longs
from winnow.encoding import Vocabulary
from winnow.index.branch_rows import write_branches
from winnow.index.lines import branches_of, find
from winnow.index.patterns import to_rows
from winnow.xpath import Pattern, Rejected, compile_profile

_PATTERN_COLUMNS = ("pattern_id", "pattern", "twig", "labels", "tests", "branches")


def compile_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns, for each xpath_id, xpath, namespaces and ordered, its row of `profile_patterns`, in order."""
    patterns: list[Pattern] = []
    ends = [0]
    verdicts: list[tuple[str, str | None, int, str | None]] = []
    asked = (batch.column(name).to_pylist() for name in ("xpath", "namespaces", "ordered"))
    for xpath, namespaces, ordered in zip(*asked, strict=True):
        try:
            compiled = compile_profile(xpath, dict(namespaces), ordered=ordered)
        except Rejected as rejected:
            verdicts.append(("rejected", rejected.code, rejected.column, rejected.message))
        else:
            patterns += compiled.alternatives
            why = compiled.reasons[0] if compiled.reasons else None
            words = (why.code, why.column, why.message) if why else (None, 0, None)
            verdicts.append((compiled.klass.value, *words))
        ends.append(len(patterns))
    classes, reasons, columns, messages = zip(*verdicts, strict=True) if verdicts else ([], [], [], [])
    rows = to_rows(patterns).select(_PATTERN_COLUMNS)
    pattern_ends = np.array(ends, np.int64)
    return pa.RecordBatch.from_pydict(
        {
            "xpath_id": batch.column("xpath_id"),
            "class": pa.array(classes, pa.string()),
            "reason": pa.array(reasons, pa.string()),
            "column": pa.array(columns, pa.int32()),
            "message": pa.array(messages, pa.string()),
            "patterns": _lists(pattern_ends, _structs(rows)),
            "branches": _distinct_branches(rows, pattern_ends),
        }
    )


def _distinct_branches(patterns: pa.Table, pattern_ends: Longs) -> pa.ListArray:
    """Returns the branches of the patterns of each XPath once, by id, so that a row does not depend on its batch."""
    of_patterns = patterns.column("branches").combine_chunks()
    codes = of_patterns.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    owner_ends = np.concatenate([[0], np.cumsum(of_patterns.value_lengths().to_numpy(zero_copy_only=False))])
    owner = np.repeat(np.arange(pattern_ends.size - 1), np.diff(owner_ends[pattern_ends]).astype(np.int64))
    order = np.lexsort((codes, owner))
    codes, owner = codes[order], owner[order]
    is_first = np.ones(codes.size, np.bool_)
    is_first[1:] = (codes[1:] != codes[:-1]) | (owner[1:] != owner[:-1])
    codes, owner = codes[is_first], owner[is_first]
    vocabulary = Vocabulary()
    branches = branches_of(patterns, vocabulary)
    structs = _structs(write_branches(branches, vocabulary))
    ends = np.searchsorted(owner, np.arange(pattern_ends.size))
    return _lists(ends, structs.take(pa.array(find(branches.codes, codes))))


def _structs(rows: pa.Table) -> pa.StructArray:
    return pa.StructArray.from_arrays([_whole(column) for column in rows.columns], rows.column_names)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)


def _lists(ends: Longs, values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), values)
