"""The index that a run has used: its trees keep their invariants, every live branch is in exactly one of them, and what
paths and branches were joined to is what the trees say.
"""

import random
from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.arrays.types import Longs
from winnow.index.lines import branches_of, find, stored_branches
from winnow.lake.store import commit_note, commit_notes, read_rows
from winnow.pipeline.build_index import Index, live_patterns
from winnow.pipeline.words import load_vocabulary
from winnow.quality.facts import Facts
from winnow.quality.outcome import Outcome
from winnow.quality.walk import Places, Walk, Walked, wrong_joins

PARTITIONS = 4  # are walked at most: those that changed last, then others by chance
FACTS = ("envelope_problems", "misplaced_branches", "wrong_joins", "partitions_checked")


Each = Callable[[Callable[[int], Walked], list[int]], Iterable[Walked]]


def index_facts(outcome: Outcome, rng: random.Random, each: Each) -> Facts:
    """`each` maps a function over partitions, here or elsewhere."""
    facts = Facts()
    if "path_branches" not in outcome.inputs:  # the engine has joined by itself
        facts.absent(*FACTS)
        return facts
    index, inputs = _used(outcome)
    chosen = _chosen(index, rng)
    places = Places.sample(outcome, rng)
    walked = list(each(Walk(outcome.lake, index, places), chosen))
    facts.count("envelope_problems", [problem for found in walked for problem in found.problems])
    facts.count("wrong_joins", wrong_joins(outcome, places, walked))
    facts.count("misplaced_branches", _misplaced(outcome.lake, index, inputs))
    facts.numbers["partitions_checked"] = len(chosen)
    facts.examples["partitions_checked"] = [f"of {index.roots.num_rows}, with {places.codes.size} paths"]
    return facts


def _used(outcome: Outcome) -> tuple[Index, dict[str, int]]:
    """The index with whose branches the run's paths were joined, and the versions of the tables it was built from."""
    lake = outcome.lake
    build = commit_note(lake, "path_branches", outcome.inputs["path_branches"]).get("build")
    notes = list(commit_notes(lake, "index_partitions"))
    version, note = next(((v, n) for v, n in notes if n.get("build") == build), notes[0])
    where = {"index_version": note["index_version"]}
    roots = read_rows(lake, "index_partitions", where=where, version=version).sort_by("partition")
    return Index(note["index_version"], note["build"], note["envelope_nodes"], roots), note["inputs"]


def _chosen(index: Index, rng: random.Random) -> list[int]:
    rows = index.roots.select(["partition", "build"]).to_pylist()
    rows.sort(key=lambda row: (-row["build"], rng.random()))
    return sorted(row["partition"] for row in rows[:PARTITIONS])


def _misplaced(lake: str, index: Index, inputs: dict[str, int]) -> list[str]:
    wanted, known, nameless = _live(lake, inputs)
    where = {"index_version": index.version}
    rows = read_rows(lake, "envelope_nodes", ["entry", "partition"], where=where, version=index.nodes_version)
    own = pc.is_in(rows.column("partition"), value_set=index.roots.column("partition").combine_chunks())
    entry = rows.filter(pc.and_(own, pc.greater_equal(rows.column("entry"), 0))).column("entry").to_numpy()
    held = np.bincount(entry, minlength=known)
    expected = np.zeros(held.size, np.int64)
    expected[wanted] = 1
    wrong = np.flatnonzero(held != expected).tolist()
    return [f"branch {branch} is in {held[branch]} partitions" for branch in wrong] + ["not in branches"] * nameless


def _live(lake: str, versions: dict[str, int]) -> tuple[Longs, int, int]:
    """The branches that some active profile has; how many there are at all; how many live ones have no number."""

    def read(table: str, columns: list[str]) -> pa.Table:
        return read_rows(lake, table, columns, version=versions[table])

    live = live_patterns(
        read("profiles", ["profile_id", "profile_version", "state"]),
        read("profile_patterns", ["profile_id", "profile_version", "pattern_id"]),
    )
    patterns = read("patterns", ["pattern_id", "twig", "labels", "tests"])
    patterns = patterns.filter(pc.is_in(patterns.column("pattern_id"), value_set=live))
    known = stored_branches(read("branches", ["branch", "branch_id", "steps"]))
    numbers = find(known.codes, branches_of(patterns, load_vocabulary(lake)).codes)
    return np.unique(numbers[numbers >= 0]), len(known), int((numbers < 0).sum())
