"""A small workload that calls every kernel with the types it has in production, so that all of them are compiled.

Numba compiles a kernel for the types of its arguments. A list of these would be a second truth beside the callers, so
the callers themselves are run, on a few documents and profiles of the sample. Tests find what was forgotten.
"""

import datetime as dt
import pickle
import tempfile
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from winnow.arrays.types import Flags, Ints
from winnow.encoding import EncodedBatch, Encoder, PathTable, Vocabulary
from winnow.encoding.restore import StoredValues, restore
from winnow.engines import ENGINES, resolve
from winnow.engines.structure import place_outlines, place_sequences, places_of
from winnow.engines.symbols import PathSymbols
from winnow.envelope import EnvelopeTree, Pairs, could_hold, delete, insert, join
from winnow.generate.sample import make, make_profiles
from winnow.index.assemble import Asked, Joined, Words, assemble
from winnow.index.codes import add_column, path_codes, text_codes
from winnow.index.lines import Branches, branches_of, find, stored_branches
from winnow.index.packed import items, unpack
from winnow.index.patterns import to_rows
from winnow.index.trees import load_tree, may_fit, tree_of, tree_table
from winnow.matcher import Matcher, Profile
from winnow.pipeline.document_splits import to_splits
from winnow.pipeline.encode_task import EncodeTask
from winnow.values.bloom import CountingBloom
from winnow.values.counting import count_values, selectivity_of
from winnow.xpath import compile_profile

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


def index_branches() -> None:
    """Index the branches of profiles in envelope trees, and join them with paths."""
    vocabulary = Vocabulary()
    branches = branches_of(_patterns(), vocabulary)
    symbols = np.arange(1, len(vocabulary), dtype=np.int32)
    _join(_stored(branches), PathTable.of_columns(np.zeros(symbols.size, np.int64), symbols), np.append(0, symbols))


def use_tables() -> None:
    """Do what jobs do with rows of tables: encode, count, put a matcher together, and match what was encoded."""
    vocabulary, paths = Vocabulary(), PathTable()
    batch = Encoder(vocabulary, paths).encode(_documents(), values=True)
    symbols = PathSymbols(paths, vocabulary).signed()
    selectivity = selectivity_of(count_values(batch, symbols, vocabulary), batch.documents)
    known = PathTable.of_columns(paths.parents[1:], paths.symbols[1:])
    words = Words(vocabulary, known, path_codes(known.parents, known.symbols, text_codes(vocabulary.labels())))
    patterns = _patterns()
    branches = _stored(branches_of(patterns, vocabulary))
    pairs = _join(branches, known, symbols.copy())
    joined = Joined(words.codes[pairs.data // 2], pairs.data % 2 == 1, branches.codes[pairs.queries])
    ids = patterns.column("pattern_id").to_numpy().astype(np.int64)
    asked = Asked([str(k) for k in range(ids.size)], np.ones(ids.size, np.int32), ids, {})
    encoded = [_encoded(known, symbols < 0, with_values=with_values) for with_values in (False, True)]
    matcher = assemble("boxpath", words, patterns, asked, joined, selectivity=selectivity)
    matcher.match_encoded(encoded[1])
    CountingBloom(10, 0.1).has(ids)
    find(ids, patterns.column("pattern_id").to_numpy())
    texts = patterns.column("pattern").combine_chunks()
    add_column(np.zeros(ids.size, np.int64), *items(texts.cast(pa.binary())), texts.is_null().to_numpy(False))


def _documents() -> list[bytes]:
    many = "<many>" + "".join(f"<label-{k}/>" for k in range(_MANY)) + "</many>"
    texts = [text for vocabulary in ("news", "invoice", "trade") for _, text in make(vocabulary, 4, 1)]
    return [text.encode() for text in (many, *texts)]


def _patterns() -> pa.Table:
    """Rows of the table `patterns`."""
    profiles = make_profiles(60, 1)
    compiled = (compile_profile(str(row["xpath"]), row.get("namespaces")) for row in profiles)  # type: ignore[arg-type]
    return to_rows([pattern for profile in compiled for pattern in profile.alternatives])


def _stored(branches: Branches) -> Branches:
    """The same, from rows of the table `branches`."""
    steps = pa.ListArray.from_arrays(branches.ends.astype(np.int32), pa.array(branches.steps))
    return stored_branches(pa.table({"branch": range(len(branches)), "branch_id": branches.codes, "steps": steps}))


def _join(branches: Branches, paths: PathTable, symbols: Ints) -> Pairs:
    """Index the branches in a tree that is stored, loaded, and edited; then find the places they lie in."""
    numbers = np.arange(len(branches), dtype=np.int32)
    parents = paths.parents.copy()
    tree = EnvelopeTree.bulk_load(branches.sequences(), ids=numbers)
    rows, parameters = tree_table(tree, np.ones(numbers.size, np.int32), numbers)
    tree = delete(load_tree(rows, parameters), numbers[:5])
    tree = insert(tree, branches.take(np.arange(5)).sequences(), ids=numbers[:5])
    tree_of(rows.filter(pc.greater_equal(rows.column("entry"), 0)), parameters)
    places = places_of(np.arange(1, len(paths)))
    could_hold(tree, place_outlines(parents, symbols))
    sequences = place_sequences(parents, symbols, places)
    may_fit(rows.slice(0, 1), sequences)
    pairs = join(tree, sequences)
    return pairs._replace(data=places[pairs.data].astype(np.int32))


def _encoded(paths: PathTable, is_attribute: Flags, *, with_values: bool) -> EncodedBatch:
    """The documents as a task encodes them into a table, and as another one reads them again."""
    contents = _documents()
    names = [f"{k:064x}" for k in range(len(contents))]
    rows = pa.table({"document_id": names, "content": contents, "encoding": ["utf-8"] * len(contents)})
    with tempfile.TemporaryDirectory() as lake:
        pq.write_table(rows, f"{lake}/documents.parquet")
        task = EncodeTask(
            lake=lake, date=dt.date(2026, 11, 16), batch="1", part=0, last_rank=2**63 - 1, tell=lambda _: None
        )
        task(to_splits([f"{lake}/documents.parquet"]))
        columns = ["nodes", "spans", "values"]
        stored = pq.read_table(f"{lake}/encoded_documents", columns=columns).combine_chunks().to_batches()[0]
    unpack(pa.ipc.read_record_batch(bytes(stored.serialize()), stored.schema).column("nodes"))  # in memory of others
    nodes, ends = unpack(stored.column("nodes"))
    if not with_values:
        return restore(nodes, ends, paths)
    data, offsets = items(stored.column("values"))
    values = StoredValues(*unpack(stored.column("spans")), data, offsets.astype(np.int64), is_attribute)
    return restore(nodes, ends, paths, values)


# The costly ones first, so that processes end together; the first two share the fewest kernels.
WORKLOAD: dict[str, Callable[[], None]] = {
    "boxpath": partial(match_with_all_strategies, "boxpath"),
    "trees": index_branches,
    **{name: partial(match_with_all_strategies, name) for name in ("xtrie", "wfilter", "nfa", "buff")},
    "tables": use_tables,
    **{name: partial(match_with_all_strategies, name) for name in ENGINES},
}
