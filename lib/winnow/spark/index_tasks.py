"""What workers do to build an index: compile profiles, then put the patterns of an index partition together.

Everything heavy is imported inside the functions: whoever plans a job needs no kernel.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from winnow.spark.places import MANIFEST, Place

if TYPE_CHECKING:
    import pyarrow as pa

PROFILE_COLUMNS = ("profile_id", "xpath", "namespaces", "ordered")
COMPILED = (
    "index_partition int, profile_id string, xpath string, namespaces map<string,string>, ordered boolean,"
    " hybrid boolean, code string, message string, column int,"
    " twigs array<array<int>>, labels array<array<string>>, tests array<array<string>>"
)
BUILT = (
    "index_partition int, file string, bytes bigint, profiles bigint, rejected array<struct<profile_id: string,"
    " code: string, message: string, column: int>>, chunk int, content binary"
)
CHUNK = 8 << 20  # bytes of an index file in one row, where it has no place


def compile_profiles(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Turns each profile into its patterns, or into the reason why it is rejected."""
    import pyarrow as pa

    from winnow.index.patterns import to_rows
    from winnow.xpath import Class, Pattern, Rejected, compile_profile

    for batch in batches:
        rows: list[dict[str, Any]] = batch.to_pylist()
        patterns: list[Pattern] = []
        counts: list[int] = []
        for row in rows:
            row |= {"hybrid": False, "code": None, "message": None, "column": None}
            namespaces = dict(row["namespaces"] or ())
            row["namespaces"] = list(namespaces.items())
            try:
                if row["profile_id"] is None or row["xpath"] is None:
                    raise Rejected("missing_field", "a profile needs a profile_id and an xpath", column=0)
                compiled = compile_profile(row["xpath"], namespaces, ordered=bool(row["ordered"]))
            except Rejected as rejected:
                row |= {"code": rejected.code, "message": rejected.message, "column": rejected.column}
                counts.append(0)
                continue
            row["hybrid"] = compiled.klass is Class.HYBRID
            counts.append(len(compiled.alternatives))
            patterns += compiled.alternatives
        made = to_rows(patterns)
        ends = pa.array([0, *_sums(counts)], pa.int32())
        lists = {
            name: pa.ListArray.from_arrays(ends, made.column(column).combine_chunks())
            for name, column in (("twigs", "twig"), ("labels", "labels"), ("tests", "tests"))
        }
        fields = [field for field in _compiled_schema() if field.name not in lists]
        own = pa.RecordBatch.from_pylist([{f.name: row[f.name] for f in fields} for row in rows], pa.schema(fields))
        yield pa.RecordBatch.from_arrays([*own.columns, *lists.values()], schema=_compiled_schema())


def assemble_partition(engine: str, place: Place | None, table: "pa.Table") -> "pa.Table":
    """Builds the matcher of one index partition and writes it to its place, or returns it in chunks without one."""
    import pyarrow as pa

    from winnow.spark.index_file import write_index

    number = table.column("index_partition")[0].as_py()
    index, rejected = build_partition(table, engine)
    content = io.BytesIO()
    name = f"{write_index(index, content)}.winnow"
    view = content.getbuffer()
    chunks: list[bytes | None] = [None]
    if place:
        with place.open_output(f".{name}.{number}") as out:
            out.write(view)
        place.rename(f".{name}.{number}", name)
    else:
        chunks = [bytes(view[at : at + CHUNK]) for at in range(0, len(view), CHUNK)]
    about = {"index_partition": number, "file": name, "bytes": len(view), "profiles": len(index.profile_ids)}
    rows = [about | {"rejected": [], "chunk": k, "content": chunk} for k, chunk in enumerate(chunks)]
    rows[0]["rejected"] = rejected
    return pa.Table.from_pylist(rows, _built_schema())


def build_partition(table: "pa.Table", engine: str) -> "tuple[Any, list[dict[str, Any]]]":
    """Returns the `IndexedProfiles` of compiled profiles, and the rows of those that were rejected."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from winnow.deciding.profile import HybridProfile
    from winnow.index.patterns import add_rows
    from winnow.matcher import Matcher
    from winnow.spark.indexed_profiles import IndexedProfiles
    from winnow.xpath import compile_profile

    table = table.sort_by([("profile_id", "ascending"), ("xpath", "ascending")]).combine_chunks()
    ids = table.column("profile_id").combine_chunks()
    again = np.zeros(len(ids), np.bool_)
    again[1:] = pc.fill_null(pc.equal(ids[1:], ids[:-1]), False).to_numpy(zero_copy_only=False)
    refused = pc.is_valid(table.column("code")).to_numpy()
    problem = ["profile_id", "code", "message", "column"]
    rejected = table.filter(pa.array(refused)).select(problem).to_pylist()
    words = "another profile has this id"
    rejected += [
        {"profile_id": ids[k].as_py(), "code": "duplicate_id", "message": words, "column": 0}
        for k in np.flatnonzero(again & ~refused).tolist()
    ]
    kept = table.filter(pa.array(~(again | refused))).combine_chunks()
    lists = {name: kept.column(name).combine_chunks() for name in ("twigs", "labels", "tests")}
    matcher = Matcher(engine=engine)
    rows = pa.table(
        {name: values.flatten() for name, values in zip(("twig", "labels", "tests"), lists.values(), strict=True)}
    )
    patterns = matcher.engine.add_stream(*add_rows(matcher.engine.store, rows))
    hybrid = {}
    for slot in np.flatnonzero(kept.column("hybrid").to_numpy()).tolist():
        row = kept.slice(slot, 1).to_pylist()[0]
        compiled = compile_profile(row["xpath"], dict(row["namespaces"] or ()), ordered=bool(row["ordered"]))
        hybrid[slot] = HybridProfile(compiled)
    counts = lists["twigs"].value_lengths().to_numpy(zero_copy_only=False).astype(np.int32)
    matcher.adopt_unnamed(counts, patterns, hybrid)
    matcher.freeze()
    # What an engine builds when the first document comes, such as envelope trees, belongs into the file, or else each
    # worker would build its own.
    first = b"<winnow/>"
    matcher.match_unjudged(np.frombuffer(first, np.uint8), np.array([0, len(first)]))
    return IndexedProfiles.of(kept.column("profile_id").combine_chunks(), matcher), rejected


@dataclass(frozen=True)
class WriteManifest:
    """Writes what an index consists of, last, so that an index that can be opened is whole."""

    place: Place
    manifest: Mapping[str, Any]

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        list(batches)
        with self.place.open_output(MANIFEST) as out:
            out.write(json.dumps(self.manifest).encode())
        yield from ()


@dataclass(frozen=True)
class ReadManifest:
    place: Place

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        list(batches)
        try:
            with self.place.open_input(MANIFEST) as source:
                text = source.read().decode()
        except FileNotFoundError:
            text = ""
        yield pa.RecordBatch.from_pylist([{"manifest": text}])


def _sums(counts: list[int]) -> list[int]:
    from itertools import accumulate

    return list(accumulate(counts))


def _compiled_schema() -> "pa.Schema":
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.list_(pa.string()))
    return pa.schema(
        [
            ("index_partition", pa.int32()),
            ("profile_id", text),
            ("xpath", text),
            ("namespaces", pa.map_(text, text)),
            ("ordered", pa.bool_()),
            ("hybrid", pa.bool_()),
            ("code", text),
            ("message", text),
            ("column", pa.int32()),
            ("twigs", pa.list_(pa.list_(pa.int32()))),
            ("labels", texts),
            ("tests", texts),
        ]
    )


def _built_schema() -> "pa.Schema":
    import pyarrow as pa

    text = pa.string()
    problem = pa.struct([("profile_id", text), ("code", text), ("message", text), ("column", pa.int32())])
    return pa.schema(
        [
            ("index_partition", pa.int32()),
            ("file", text),
            ("bytes", pa.int64()),
            ("profiles", pa.int64()),
            ("rejected", pa.list_(problem)),
            ("chunk", pa.int32()),
            ("content", pa.binary()),
        ]
    )
