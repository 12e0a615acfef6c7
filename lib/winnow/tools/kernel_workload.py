"""A small workload that calls every kernel with the types it has in production, so that all of them are compiled.

Numba compiles a kernel for the types of its arguments. A list of these would be a second truth beside the callers, so
the callers themselves are run, on a few documents and profiles of the sample. Tests find what was forgotten.
"""

import pickle
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from winnow.deciding.limits import DEFAULT_EVALUATION
from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.encoding.path_symbols import PathSymbols
from winnow.engines import ENGINES, resolve
from winnow.engines.boxpath.line_index import place_outlines, place_sequences, places_of
from winnow.envelope import EnvelopeTree, check_invariants, could_hold, delete, insert, join
from winnow.generate.sample import make, make_profiles
from winnow.given import Profile
from winnow.index.asked_profiles import ask, join_paths_of, make_ready
from winnow.index.branch_rows import bind_branches
from winnow.index.compiled_rows import compile_rows
from winnow.index.document_tasks import encode_documents
from winnow.index.encoded_rows import decode, distinct_paths
from winnow.index.join_tasks import join_partition, route_paths
from winnow.index.packed import items
from winnow.index.partition_tasks import edit_partition, pack_partition
from winnow.index.sequence_tasks import SequenceLabels, access_pieces, ask_of_tree, edit_sequences, pack_sequences
from winnow.matcher import Matcher
from winnow.quality.index_tasks import wrong_path_names
from winnow.values.bloom import CountingBloom
from winnow.values.counting import count_values, selectivity_of

_MANY = 600  # labels: more than hash tables begin with room for
_STRUCTURE: list[Profile] = [("path", "/nitf/head/title"), ("twig", "//body[.//p][.//em]")]
_STRUCTURE += [(f"many-{k}", f"/many/label-{k}") for k in range(_MANY)]
_SPECIAL: list[Profile] = [("ordered", "/trade[leg][settle]", None, True), ("text", "//p/text()"), ("any", "//*/@*")]


def match_with_all_strategies(engine: str) -> None:
    strategies: tuple[str, ...] = getattr(resolve(engine)[0], "strategies", ())
    for name in (engine, *(f"{engine}+{strategy}" for strategy in strategies)):
        match_with(name)


def match_with(engine: str) -> None:
    """Match while profiles come and go: with structure alone, then with values, ordered and hybrid ones."""
    documents, profiles = _documents(), list(make_profiles(60, 1))
    matcher = Matcher(_STRUCTURE, engine=engine)
    list(matcher.match(documents[:2]))
    matcher.add([*profiles[:20], *_SPECIAL])
    list(matcher.match(documents))
    matcher.retire(["path", "profile-000000", "profile-000001"])
    matcher.add(profiles[20:])
    matcher = pickle.loads(pickle.dumps(matcher))
    matcher.match_batch(*items(pa.array(documents)))
    guarded = Matcher([("value", "//leg[@ccy = 'EUR']"), ("number", "//c[. = 6]")], engine=engine)
    guarded.guard_values()
    list(guarded.match(documents))


def use_trees() -> None:
    """Join sequences of paths with a tree in memory, as engines do that meet documents without an index."""
    vocabulary, paths = Vocabulary(), PathTable()
    Encoder(vocabulary, paths).encode(_documents(), values=False)
    branches = bind_branches(_branches(_compiled()), vocabulary)
    numbers = np.arange(len(branches), dtype=np.int32)
    tree = EnvelopeTree.bulk_load(branches.sequences(), ids=numbers)
    tree = delete(tree, numbers[:5])
    tree = insert(tree, branches.take(np.arange(5)).sequences(), ids=numbers[:5])
    check_invariants(tree)
    parents, symbols = paths.parents.copy(), PathSymbols(paths, vocabulary).signed()
    could_hold(tree, place_outlines(parents, symbols))
    join(tree, place_sequences(parents, symbols, places_of(np.arange(1, len(paths)))))


def run_tasks_of_jobs() -> None:
    """Encode, compile, index, join and match as the workers of the jobs do, from rows to rows."""
    documents = list(encode_documents([_rows_of_documents()]))
    paths = pa.Table.from_batches(distinct_paths(documents))
    list(wrong_path_names(paths.to_batches()))
    compiled = _compiled()
    pairs = _joined(paths, _branches(compiled))
    joined = join_paths_of(paths, pairs)
    _use_sequence_trees(compiled)
    for engine in ("boxpath", "boxfilter"):
        ready = make_ready(ask(_asked(compiled), engine), joined, DEFAULT_EVALUATION)
        for rows in documents:
            batch = decode(rows, ready.paths, values=True)
            ready.asked.matcher.match_encoded(batch, lambda document: _documents()[document])
            decode(rows, ready.paths, values=False)


def _use_sequence_trees(compiled: pa.RecordBatch) -> None:
    """Pack and edit the tree of a partition, and ask profiles of it."""
    rows = pa.table(_asked(compiled)).append_column("xpath_id", compiled.column("xpath_id"))
    names = sorted({label for own in compiled.column("patterns").to_pylist() for p in own for label in p["labels"]})
    labels = SequenceLabels(tuple(names), (0.5,) * len(names))
    pieces = pa.Table.from_batches(access_pieces(rows.combine_chunks().to_batches(), labels=labels))
    distinct = pa.Table.from_pylist(
        list({row["sequence_id"]: row for row in pieces.to_pylist()}.values()), pieces.schema
    )
    zeros = pa.array([0] * len(distinct), pa.int32())
    own = distinct.append_column("partition", zeros).append_column("build", zeros)
    tree = pack_sequences(own, labels=labels)
    for is_wanted in (False, True):
        few = own.slice(0, 5)
        changes = few.append_column("is_wanted", pa.array([is_wanted] * len(few)))
        tree = edit_sequences(tree, changes, labels=labels)
    ask_of_tree(rows.append_column("shard", pa.array([0] * len(rows), pa.int32())), tree, "boxfilter", labels)


def count_samples() -> None:
    """Count how rare labels and values are."""
    vocabulary, paths = Vocabulary(), PathTable()
    batch = Encoder(vocabulary, paths).encode(_documents(), values=True)
    selectivity_of(count_values(batch, PathSymbols(paths, vocabulary).signed(), vocabulary), batch.documents)
    CountingBloom(10, 0.1).has(np.arange(10))


def _documents() -> list[bytes]:
    many = "<many>" + "".join(f"<label-{k}/>" for k in range(_MANY)) + "</many>"
    texts = [text for vocabulary in ("news", "invoice", "trade") for _, text in make(vocabulary, 4, 1)]
    return [text.encode() for text in (many, *texts)]


def _rows_of_documents() -> pa.RecordBatch:
    """Of the table `documents`."""
    contents = _documents()
    names = [f"{k:064x}" for k in range(len(contents))]
    return pa.record_batch({"document_id": names, "content": contents, "encoding": ["utf-8"] * len(contents)})


def _compiled() -> pa.RecordBatch:
    """Rows of `profile_patterns`."""
    profiles = list(make_profiles(60, 1))
    namespaces = [list(row.get("namespaces", {}).items()) for row in profiles]  # type: ignore[attr-defined]
    columns = {
        "xpath_id": pa.array([str(k) for k in range(len(profiles))]),
        "xpath": pa.array([str(row["xpath"]) for row in profiles]),
        "namespaces": pa.array(namespaces, pa.map_(pa.string(), pa.string())),
        "ordered": pa.array([False] * len(profiles)),
    }
    asked = pa.RecordBatch.from_pydict(columns)
    rows = compile_rows(asked)
    return pa.RecordBatch.from_pydict(
        {**columns, **{name: rows.column(name) for name in ("class", "patterns", "branches")}}
    )


def _branches(compiled: pa.RecordBatch) -> pa.Table:
    """Rows of `branches`."""
    rows = compiled.column("branches").flatten().to_pylist()
    distinct = {row["branch_id"]: row for row in rows}
    return pa.Table.from_pylist(list(distinct.values()), pa.schema(compiled.column("branches").type.value_type.fields))


def _asked(compiled: pa.RecordBatch) -> pa.Table:
    count = compiled.num_rows
    columns = {name: compiled.column(name) for name in ("xpath", "namespaces", "ordered", "class", "patterns")}
    validity = pa.nulls(count, pa.date32())
    return pa.table({"profile_key": pa.array(range(count)), "valid_from": validity, "valid_to": validity, **columns})


def _joined(paths: pa.Table, branches: pa.Table) -> pa.Table:
    """Rows of `path_branches`: pack a tree, edit it, and join it with the paths that its root lets through."""
    vocabulary = Vocabulary()
    bound = bind_branches(branches, vocabulary)
    steps = pa.ListArray.from_arrays(pa.array(bound.ends.astype(np.int32)), pa.array(bound.steps))
    columns = {"partition": pa.array([0] * len(bound), pa.int32()), "branch_id": pa.array(bound.codes)}
    rows = pa.table({**columns, "build": pa.array([1] * len(bound), pa.int32()), "steps": steps})
    tree = pack_partition(rows)
    for is_wanted in (False, True):
        few = rows.slice(0, 5)
        tree = edit_partition(tree, few.append_column("is_wanted", pa.array([is_wanted] * len(few))), pieces={})
    edit_partition(tree, rows.slice(0, 0).append_column("is_wanted", pa.array([], pa.bool_())), pieces={0: [0, 1]})
    labels = paths.column("label").to_pylist()
    symbols = [vocabulary.add(label) * (-1 if label.startswith("@") else 1) for label in labels]
    taken = paths.select(["path_id", "parent_id", "depth"])
    taken = taken.append_column("symbol", pa.array(symbols, pa.int32()))
    taken = taken.append_column("is_new", pa.array([True] * len(paths)))
    routed = pa.Table.from_batches(
        route_paths(taken.combine_chunks().to_batches(), roots=tree.slice(0, 1).to_pylist(), with_new_branches={0})
    )
    return join_partition(tree, routed, joined_build=0)


# The costly ones first, so that processes end together; the first two share the fewest kernels.
WORKLOAD: dict[str, Callable[[], None]] = {
    "boxpath": partial(match_with_all_strategies, "boxpath"),
    "jobs": run_tasks_of_jobs,
    **{name: partial(match_with_all_strategies, name) for name in ("xtrie", "wfilter", "nfa", "buff")},
    "trees": use_trees,
    "samples": count_samples,
    **{name: partial(match_with_all_strategies, name) for name in ENGINES},
}
