"""What workers do to match encoded documents; Arrow in, Arrow out. Everything heavy is imported inside."""

import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from winnow.spark.places import Place, cached

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from winnow.deciding.limits import EvaluationLimits
    from winnow.encoding import EncodedBatch
    from winnow.engines.base import Funnel
    from winnow.index.asked_profiles import ReadyProfiles
    from winnow.matcher import BatchMatches

ASKED_COLUMNS = (
    "shard int, profile_key long, valid_from date, valid_to date, xpath string, namespaces map<string,string>,"
    " ordered boolean, class string, patterns array<struct<pattern_id: long, twig: array<int>, labels: array<string>,"
    " tests: array<string>>>"
)
FILE = "shard int, file string, bytes long, profiles long, hybrid long"
ANSWERS = (
    "document_id string, match_date date, profiles array<long>, witnesses array<string>,"
    " undecided array<struct<profile_key: long, reason: string, message: string>>, routed long, nodes_stored long,"
    " nodes_read long, node_pairs long, leaf_pairs long, candidates long, verified long"
)
COUNTERS = ("routed", "nodes_stored", "nodes_read", "node_pairs", "leaf_pairs", "candidates", "verified")


def write_asked_profiles(place: Place, engine: str) -> "Callable[[pa.Table, pa.Table], pa.Table]":
    """Returns what builds the matcher of one shard of the profiles and writes it to a place, named by its content.

    Its second argument has rows of `selectivity`: what the engine should wait for.
    """

    def write(table: "pa.Table", rare: "pa.Table") -> "pa.Table":  # Spark counts the arguments of a function
        import pyarrow as pa

        from winnow.index.asked_profiles import ask
        from winnow.values.counting import selectivity_of

        if not table.num_rows:  # estimates come for every shard
            return pa.Table.from_pylist([], _file_schema())
        known = selectivity_of(rare, rare.column("sampled")[0].as_py()) if rare.num_rows else None
        name, size = _write(place, ask(table, engine, known))
        return _file_row(table, name, size)

    return write


def write_asked_of_trees(
    place: Place, engine: str, names: tuple[str, ...], shares: tuple[float, ...]
) -> "Callable[[pa.Table, pa.Table], pa.Table]":
    """Returns what builds the matcher of the profiles of one SUBSEQUENCE partition from its tree, and writes it."""

    def write(table: "pa.Table", tree: "pa.Table") -> "pa.Table":
        import pyarrow as pa

        from winnow.index.sequence_tasks import SequenceLabels, ask_of_tree

        if not table.num_rows:
            return pa.Table.from_pylist([], _file_schema())
        name, size = _write(place, ask_of_tree(table, tree, engine, SequenceLabels(names, shares)))
        return _file_row(table, name, size)

    return write


def write_joined_paths(place: Place) -> "Callable[[pa.Table, pa.Table], pa.Table]":
    """Returns what writes all paths, and their pairs with branches, to a place, named by their content."""

    def write(paths: "pa.Table", pairs: "pa.Table") -> "pa.Table":
        import pyarrow as pa

        from winnow.index.asked_profiles import join_paths_of

        name, size = _write(place, join_paths_of(paths, pairs))
        row = {"shard": 0, "file": name, "bytes": size, "profiles": 0, "hybrid": 0}
        return pa.Table.from_pylist([row], _file_schema())

    return write


@dataclass(frozen=True)
class MatchEncoded:
    """The function of `mapInArrow` over rows of encoded_documents: one row of answers for each document.

    With `content` among the columns libxml2 decides what it has to. Where `only_hits`, documents without an answer are
    passed over, but for one where a whole batch has none: what the batch has cost is in its first row.
    """

    place: Place
    asked: str
    joined: str
    evaluation: "EvaluationLimits"
    only_hits: bool

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        ready = self._open()
        for batch in batches:
            for rows in _pieces(batch):
                yield self._answers(rows, ready)

    def _open(self) -> "ReadyProfiles":
        key = (self.asked, self.joined)
        if key not in _ready:
            _ready.clear()  # a worker serves one question at a time: it lets go of the earlier before it opens the next
            _ready[key] = _make_ready(self.place, *key, self.evaluation)
        return _ready[key]

    def _answers(self, rows: "pa.RecordBatch", ready: "ReadyProfiles") -> "pa.RecordBatch":
        from winnow.index.encoded_rows import decode

        matcher = ready.asked.matcher
        batch = decode(rows, ready.paths, values=matcher.engine.needs_values)
        found = matcher.match_encoded(batch, _content(rows))
        dates = rows.column(rows.schema.get_field_index("ingest_date"))
        valid = _validity(dates, found, ready)
        answers = _answer_rows(rows, batch, found, valid, ready)
        routed = rows.num_rows * len(ready.asked.keys)
        return _with_counters(_hits(answers) if self.only_hits else answers, found.funnel, routed)


_ready: "dict[tuple[str, str], ReadyProfiles]" = {}


def _make_ready(place: Place, asked: str, joined: str, evaluation: "EvaluationLimits") -> "ReadyProfiles":
    from winnow.index.asked_profiles import make_ready
    from winnow.spark.index_file import open_index

    return make_ready(open_index(cached(place, asked)), open_index(cached(place, joined)), evaluation)


@dataclass(frozen=True)
class FindWantedPaths:
    """The function of `mapInArrow` that returns, as one row, the paths that some branch of the profiles has.

    A document with none of them satisfies none of the profiles. The row is null where that cannot be said.
    """

    place: Place
    asked: str
    joined: str
    evaluation: "EvaluationLimits"

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for _ in batches:
            ready = _make_ready(self.place, self.asked, self.joined, self.evaluation)
            found = None if ready.wanted.all() else ready.paths.codes[ready.wanted]
            yield pa.RecordBatch.from_arrays([pa.array([found], pa.list_(pa.int64()))], ["wanted"])


def _write(place: Place, value: Any) -> tuple[str, int]:
    from winnow.spark.index_file import write_index

    content = io.BytesIO()
    name = f"{write_index(value, content)}.winnow"
    aside = f".{name}.{id(content)}"
    with place.open_output(aside) as out:
        out.write(content.getbuffer())
    place.rename(aside, name)
    return name, content.tell()


def _file_row(table: "pa.Table", name: str, size: int) -> "pa.Table":
    import pyarrow as pa

    hybrid = sum(kind == "hybrid" for kind in table.column("class").to_pylist())
    row = {"shard": table.column("shard")[0].as_py(), "file": name, "bytes": size}
    return pa.Table.from_pylist([row | {"profiles": len(table), "hybrid": hybrid}], _file_schema())


def _file_schema() -> "pa.Schema":
    import pyarrow as pa

    number = pa.int64()
    names = [("shard", pa.int32()), ("file", pa.string())]
    return pa.schema([*names, ("bytes", number), ("profiles", number), ("hybrid", number)])


def _pieces(batch: "pa.RecordBatch") -> "Iterator[pa.RecordBatch]":
    from winnow.index.document_tasks import pieces

    return pieces(batch, batch.schema.get_field_index("values"))


def _content(rows: "pa.RecordBatch") -> Any:
    at = rows.schema.get_field_index("content")
    if at < 0:
        return None
    from winnow.index.document_tasks import in_utf8

    return in_utf8(rows).__getitem__


def _validity(dates: "pa.Array", found: "BatchMatches", ready: "ReadyProfiles") -> "np.ndarray[Any, Any]":
    """Which of the matches are of profiles that are valid on the document's date."""
    import numpy as np
    import pyarrow as pa

    days = dates.cast(pa.int32()).to_numpy()[found.documents]
    slots = found.profiles
    return np.asarray((ready.asked.valid_from[slots] <= days) & (days < ready.asked.valid_to[slots]))


def _answer_rows(
    rows: "pa.RecordBatch",
    batch: "EncodedBatch",
    found: "BatchMatches",
    valid: "np.ndarray[Any, Any]",
    ready: "ReadyProfiles",
) -> "pa.RecordBatch":
    import numpy as np
    import pyarrow as pa

    documents, keys = found.documents[valid], ready.asked.keys[found.profiles[valid]]
    order = np.lexsort((keys, documents))
    ends = np.concatenate([[0], np.cumsum(np.bincount(documents, minlength=rows.num_rows))]).astype(np.int32)
    offsets = pa.array(ends)
    columns = {
        "document_id": rows.column(rows.schema.get_field_index("document_id")),
        "match_date": rows.column(rows.schema.get_field_index("ingest_date")),
        "profiles": pa.ListArray.from_arrays(offsets, pa.array(keys[order])),
        "witnesses": pa.ListArray.from_arrays(offsets, _locations(batch, found.witnesses[valid][order], ready)),
        "undecided": _undecided(rows, found, ready),
    }
    return pa.RecordBatch.from_pydict(columns)


def _hits(answers: "pa.RecordBatch") -> "pa.RecordBatch":
    """The documents with an answer, or the first one if none has."""
    import numpy as np
    import pyarrow as pa

    pairs = sum(
        answers.column(name).value_lengths().to_numpy(zero_copy_only=False) for name in ("profiles", "undecided")
    )
    is_kept: np.ndarray[Any, Any] = np.asarray(pairs) > 0
    is_kept[:1] |= not is_kept.any()
    return answers.filter(pa.array(is_kept))


def _with_counters(answers: "pa.RecordBatch", funnel: "Funnel", routed: int) -> "pa.RecordBatch":
    """Adds what the whole batch has cost to its first row, and zeros to the others."""
    import numpy as np
    import pyarrow as pa

    counted = {"routed": routed, **funnel._asdict()}
    columns = {name: answers.column(name) for name in answers.schema.names}
    for name in COUNTERS:
        columns[name] = pa.array(np.where(np.arange(answers.num_rows) == 0, counted[name], 0))
    return pa.RecordBatch.from_pydict(columns)


def _locations(batch: "EncodedBatch", nodes: Any, ready: "ReadyProfiles") -> "pa.Array":
    """Profiles share their witnesses: each location is written once and then taken as often as it is asked for."""
    import numpy as np
    import pyarrow as pa

    from winnow.encoding import locations

    is_asked = np.zeros(batch.path.size, np.bool_)
    is_asked[nodes] = True
    matcher = ready.asked.matcher
    text, ends = locations(batch, np.flatnonzero(is_asked), paths=matcher.paths, vocabulary=matcher.vocabulary)
    written = pa.LargeStringArray.from_buffers(ends.size - 1, pa.py_buffer(ends), pa.py_buffer(text))
    rank = (np.cumsum(is_asked, dtype=np.int32) - 1)[nodes]
    return written.take(pa.array(rank)).cast(pa.string())


def _undecided(rows: "pa.RecordBatch", found: "BatchMatches", ready: "ReadyProfiles") -> "pa.Array":
    import pyarrow as pa

    pair = pa.struct([("profile_key", pa.int64()), ("reason", pa.string()), ("message", pa.string())])
    told: list[list[dict[str, Any]]] = [[] for _ in range(rows.num_rows)] if found.undecided_documents.size else []
    dates = rows.column(rows.schema.get_field_index("ingest_date")).to_pylist() if told else []
    pairs = zip(
        found.undecided_documents.tolist(), found.undecided_profiles.tolist(), found.undecided_reasons, strict=True
    )
    for document, slot, (reason, message) in pairs:
        if ready.asked.valid_on(dates[document])[slot]:
            key = int(ready.asked.keys[slot])
            told[document].append({"profile_key": key, "reason": str(reason), "message": message})
    return pa.array(told or list(itertools.repeat([], rows.num_rows)), pa.list_(pair))
