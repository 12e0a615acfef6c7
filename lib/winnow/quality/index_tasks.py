"""What workers do to look at the index: are its trees sound, do they say what their branches say, are names hashes."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from winnow.arrays.types import Flags
from winnow.encoding import Vocabulary
from winnow.envelope import check_invariants
from winnow.errors import DataError
from winnow.index.branch_rows import bind_branches
from winnow.index.codes import child_codes, line_codes, text_codes
from winnow.index.partition_tasks import Entries, given_entries, load_whole_tree, stored_entries

PROBLEMS = pa.schema([("problem", pa.string())])
MAX_PROBLEMS = 20  # of a partition: more say nothing new


def check_partition(tree: pa.Table, branches: pa.Table) -> pa.Table:
    """Returns what is wrong with the tree of a partition, whose `branches` come with their steps in its symbols."""
    partition = (tree if tree.num_rows else branches).column("partition")[0].as_py()
    problems = [f"partition {partition}: {problem}" for problem in _problems(tree, branches)]
    return pa.table([pa.array(problems[:MAX_PROBLEMS], pa.string())], schema=PROBLEMS)


def _problems(tree: pa.Table, branches: pa.Table) -> Iterator[str]:
    try:
        yield from check_invariants(load_whole_tree(tree))
        wanted = given_entries(branches.filter(branches.column("branch_id").is_valid()))
    except (DataError, ValueError, IndexError, KeyError) as error:
        yield f"its rows are not those of a tree: {error}"
        return
    held = stored_entries(tree)
    held = held.take(np.argsort(held.names, kind="stable"))
    if not np.array_equal(held.names, wanted.names):
        yield "it does not hold the branches that it is said to hold"
        return
    yield from (f"branch {name} is not as its steps are" for name in held.names[_differing(held, wanted)].tolist())


def _differing(some: Entries, others: Entries) -> Flags:
    """Which of as many sequences are not the same on both sides."""
    one, other = some.sequences, others.sequences
    lengths = np.diff(one.offsets)
    differs: Flags = lengths != np.diff(other.offsets)
    if differs.any():
        kept = np.flatnonzero(~differs)
        differs[kept] = _differing(some.take(kept), others.take(kept))
        return differs
    unlike = (one.low != other.low) | (one.high != other.high) | (one.adjacent != other.adjacent)
    differs[np.repeat(np.arange(lengths.size), lengths)[unlike]] = True
    return differs


def wrong_branch_names(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Returns branches whose name is not the hash of their steps."""
    for batch in batches:
        vocabulary = Vocabulary()
        found = bind_branches(pa.table(batch), vocabulary)
        codes = line_codes(found.steps, found.ends, text_codes(vocabulary.labels()))
        wrong = found.codes[codes != found.codes].tolist()
        yield pa.RecordBatch.from_arrays(
            [pa.array([f"branch_id {code}" for code in wrong], pa.string())], schema=PROBLEMS
        )


def wrong_path_names(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Returns paths whose name is not the hash of the path above and the label."""
    for batch in batches:
        ids, parents, labels = (
            batch.column(batch.schema.get_field_index(n)) for n in ("path_id", "parent_id", "label")
        )
        codes = child_codes(parents.to_numpy(), text_codes(labels.to_pylist()))
        wrong = ids.filter(pa.array(codes != ids.to_numpy())).to_pylist()
        yield pa.RecordBatch.from_arrays(
            [pa.array([f"path_id {code}" for code in wrong], pa.string())], schema=PROBLEMS
        )
