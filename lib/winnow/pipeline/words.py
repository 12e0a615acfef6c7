"""The two tables that only grow, `vocabulary` and `paths`: load them, and add what is new under their locks."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from winnow.arrays.types import Longs
from winnow.encoding import PathTable, Vocabulary
from winnow.errors import DataError
from winnow.index.codes import DOCUMENT_CODE, path_codes, text_codes
from winnow.lake.locks import table_lock
from winnow.lake.store import commit_parts, read_rows, require_table, write_rows
from winnow.pipeline.encode_task import SeenPaths

_SHOWN = 500  # characters of a path; documents are hostile, and depth times length is a lot


class KnownPaths(NamedTuple):
    """The tables in memory; path k of `table` has code `codes[k]` and came with `generations[k]`."""

    table: PathTable
    codes: Longs
    generations: Longs


def load_vocabulary(lake: str, version: int | None = None) -> Vocabulary:
    rows = read_rows(lake, "vocabulary", ["symbol", "label"], version=version)
    return Vocabulary(zip(rows.column("symbol").to_pylist(), rows.column("label").to_pylist(), strict=True))


def add_labels(lake: str, labels: Iterable[str], run: Mapping[str, Any]) -> Vocabulary:
    """The vocabulary with these labels in it; nothing new makes no version."""
    with table_lock(lake, "vocabulary"):
        vocabulary = load_vocabulary(lake)
        known = len(vocabulary)
        for label in sorted(set(labels)):
            vocabulary.add(label)
        new = list(vocabulary.rows(start=known if known > 1 else 0))
        if len(vocabulary) > known:
            rows = pa.table({"symbol": [symbol for symbol, _ in new], "label": [label for _, label in new]})
            commit_parts(lake, "vocabulary", write_rows(lake, "vocabulary", rows), {}, run)
    return vocabulary


def load_paths(lake: str, vocabulary: Vocabulary, version: int | None = None) -> KnownPaths:
    rows = read_rows(lake, "paths", ["path_id", "parent_id", "symbol", "depth", "generation"], version=version)
    rows = rows.sort_by([("depth", "ascending"), ("path_id", "ascending")])  # parents first, and always in one order
    codes = np.concatenate([[DOCUMENT_CODE], rows.column("path_id").to_numpy()]).astype(np.int64)
    order = np.argsort(codes, kind="stable")
    parents = order[np.searchsorted(codes[order], rows.column("parent_id").to_numpy())]
    table = PathTable.of_columns(parents, rows.column("symbol").to_numpy())
    if not np.array_equal(path_codes(table.parents, table.symbols, text_codes(vocabulary.labels())), codes):
        raise DataError("path_codes", "the paths and the vocabulary do not belong together", hint="restore both tables")
    return KnownPaths(table, codes, np.concatenate([[0], rows.column("generation").to_numpy()]).astype(np.int64))


class SharedWords(NamedTuple):
    """Both tables, kept for the next job of a run; nobody may add to them."""

    vocabulary: Vocabulary
    known: KnownPaths


def shared_words(lake: str, *, vocabulary: int, paths: int) -> SharedWords:
    """At these versions."""
    tables = tuple(str(require_table(lake, name).metadata().id) for name in ("vocabulary", "paths"))
    return _shared(lake, tables, vocabulary, paths)


@lru_cache(maxsize=1)
def _shared(lake: str, tables: tuple[str, ...], vocabulary: int, paths: int) -> SharedWords:
    """The ids of the tables tell them from others of their names."""
    words = load_vocabulary(lake, vocabulary)
    return SharedWords(words, load_paths(lake, words, paths))


def add_paths(lake: str, seen: Iterable[SeenPaths], run: Mapping[str, Any]) -> int:
    """How many of the paths were new."""
    seen = list(seen)
    vocabulary = add_labels(
        lake, (paths.labels[s] for paths in seen for s in np.unique(paths.symbols[1:]).tolist()), run
    )
    with table_lock(lake, "paths"):
        known = load_paths(lake, vocabulary)
        before = len(known.table)
        for paths in seen:
            symbols = np.array([vocabulary.find(label) or 0 for label in paths.labels], np.int32)
            _merge(known.table, paths, symbols)
        new = range(before, len(known.table))
        if new:
            rows = _rows(known.table, vocabulary, new, int(known.generations.max()) + 1)
            commit_parts(lake, "paths", write_rows(lake, "paths", rows), {}, run)
    return len(new)


def _merge(table: PathTable, paths: SeenPaths, symbols: "np.ndarray[Any, Any]") -> None:
    mapping = [0] * paths.parents.size
    for path, (parent, symbol) in enumerate(zip(paths.parents.tolist(), paths.symbols.tolist(), strict=True)):
        if path:
            mapping[path] = table.add(mapping[parent], int(symbols[symbol]))


def _rows(table: PathTable, vocabulary: Vocabulary, new: range, generation: int) -> pa.Table:
    codes = path_codes(table.parents, table.symbols, text_codes(vocabulary.labels()))
    if np.unique(codes).size != codes.size:
        raise DataError("path_codes", "two paths have one code", hint="rename a label: this is a one in 2**64 chance")
    shown: dict[int, str] = {0: ""}

    def show(path: int) -> str:
        """Paths come parents first, so the way up is short where it was gone before."""
        if path not in shown:
            parent, symbol = table.step(path)
            whole = f"{show(parent)}/{vocabulary.label(symbol)}"
            shown[path] = whole if len(whole) <= _SHOWN else f"…{whole[1 - _SHOWN :]}"
        return shown[path]

    chosen = np.array(new)
    return pa.table(
        {
            "path_id": codes[chosen],
            "parent_id": codes[table.parents[chosen]],
            "symbol": table.symbols[chosen],
            "path": [show(path) for path in new],
            "depth": table.depths[chosen],
            "generation": np.full(chosen.size, generation, np.int32),
        }
    )
