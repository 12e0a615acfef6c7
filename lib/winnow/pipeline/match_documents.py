"""Answer what is still to be asked of the documents of some data intervals.

Reads: encoded_documents, path_documents, documents, document_sources, profiles, profile_patterns, patterns, branches,
vocabulary, paths, path_branches, selectivity, ledger, profile_sets, all at the versions that are newest when the job
starts.
Writes: profile_sets, undecided and, per interval, matches_staged in one commit that names those versions.

Documents that were never asked are read and matched as a whole. Those that were asked before meet new profiles only:
paths say which documents could satisfy them, and how they were encoded answers native ones; only what libxml2 decides
is read again.
Profiles that outgrow a task's memory are asked shard by shard, each of those documents that their paths, and then their
values, let through.
"""

import datetime as dt
import pickle
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from winnow.arrays.types import Ints
from winnow.deciding.limits import DEFAULT_EVALUATION, EvaluationLimits
from winnow.deciding.profile import HybridProfile, hybrid_of
from winnow.engines import DEFAULT_ENGINE
from winnow.errors import TransientError
from winnow.index.assemble import Asked, Joined, Words, assemble
from winnow.jobs.report import RunReport
from winnow.lake.contracts import load_contract
from winnow.lake.parts import Part, arrow_schema
from winnow.lake.session import driver_host
from winnow.lake.sql import sql
from winnow.lake.store import (
    commit_notes,
    ensure_tables,
    partition_files,
    read_chosen,
    read_rows,
    replace_partition,
    require_table,
    rows_by_partition,
    write_rows,
)
from winnow.matcher import Matcher
from winnow.pipeline.build_index import INPUTS, load_index
from winnow.pipeline.document_splits import to_splits
from winnow.pipeline.join_paths import has_met
from winnow.pipeline.ledger import TABLES, Group, Interval, keep_set, plan
from winnow.pipeline.match_task import (
    Answer,
    Encodings,
    Known,
    MatchTask,
    Piece,
    Question,
    Sources,
    forget_others,
    source_missing,
)
from winnow.pipeline.profiles import SET_COLUMNS, Profiles
from winnow.pipeline.progress import Progress
from winnow.pipeline.publish_matches import recover
from winnow.pipeline.routing import Postings, homes_of, load_postings, route
from winnow.pipeline.sample_values import load_selectivity
from winnow.pipeline.set_names import set_name
from winnow.pipeline.words import SharedWords, shared_words
from winnow.values.selectivity import Selectivity
from winnow.xpath import compile_profile

SHARD = 2_000_000  # profiles of one matcher in a task's memory; about 1.2 KB each
AT_ONCE = 500_000  # documents of a range that the driver knows; about 1 KB each


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    dates: tuple[dt.date, ...]
    run_id: str
    engine: str = DEFAULT_ENGINE
    full: bool = False  # ask everything again
    only: str = "*"  # ask only profiles whose id is like this
    index: bool = True  # use path_branches; without, the engine joins by itself
    shard: int = SHARD
    at_once: int = AT_ONCE
    evaluation: EvaluationLimits = DEFAULT_EVALUATION  # what libxml2 may take for a pair and for a document


def run(spark: SparkSession, config: Config) -> tuple[RunReport, dict[dt.date, int]]:
    """The report, and the staged version of each interval that has something to publish."""
    report = RunReport("match_documents")
    with report.stage("plan"):
        lake = Pinned(config)
        for date in config.dates:
            recover(config.lake, date)
        intervals = lake.plan()
        work = [interval for interval in intervals if not interval.is_done]
    parts: dict[dt.date, list[Part]] = {interval.date: [] for interval in work}
    undecided: dict[dt.date, list[Any]] = {interval.date: [] for interval in work}
    funnel: dict[str, int] = {}
    with Progress("matching", host=driver_host(spark)) as channel:
        task = MatchTask(lake=config.lake, run_id=config.run_id, tell=channel.tell)
        for ask, every in _by_question(work):
            shards = _shards(ask, config.shard, lake)
            for targets in _in_turn(every, config.at_once):
                for shard in shards:
                    questions = _questions(lake, shard, targets, report, sharded=shard is not ask)
                    with report.stage("match"):
                        answers = _distribute(spark, task, questions)
                    for number, answer in answers:
                        _collect(answer, questions[number][0], parts, undecided, funnel)
                lake.forget()
    staged = {}
    with report.stage("commit"):
        for interval in work:
            staged[interval.date] = _stage(lake, interval, sorted(parts[interval.date]), undecided[interval.date])
    documents = sum(sum(interval.batches.values()) for interval in intervals)
    asked = max((group.ask.num_rows for interval in work for group in interval.groups), default=0)
    report.counts = {"intervals": len(intervals), "to publish": len(work), "documents known": documents}
    report.counts |= {"profiles asked": asked, **funnel, "undecided": sum(map(len, undecided.values()))}
    return report, staged


PINNED = (
    "profile_patterns", "encoded_documents", "path_documents", "documents", "document_sources", "paths", "patterns",
    "branches", "vocabulary", "selectivity",
)  # fmt: skip


class Pinned:
    """The tables of a run at their versions; loaded when something is to be asked, once.

    What refers to another table is pinned before it, so that what it refers to is there. Profiles are those that the
    index has met: one that was revived since may have branches that no path was joined with.
    """

    def __init__(self, config: Config) -> None:
        ensure_tables(config.lake, (*TABLES, "selectivity"))
        self.config = config
        names = (*PINNED, "path_branches") if config.index else PINNED
        self._index = load_index(config.lake) if config.index else None
        met = self._index.note["inputs"]["profiles"] if self._index else None
        newest = require_table(config.lake, "profiles").version()
        self.versions = {"profiles": newest if met is None else min(met, newest)}
        self.versions |= {name: require_table(config.lake, name).version() for name in names}
        self.profiles = Profiles(config.lake, self.versions)
        self._postings: dict[tuple[dt.date, str], Postings] = {}
        self._documents: dict[tuple[dt.date, str], pa.Table] = {}

    def plan(self) -> list[Interval]:
        config, encoded = self.config, self.versions["encoded_documents"]
        return plan(config.lake, config.dates, self.profiles, encoded=encoded, full=config.full, only=config.only)

    def rows(self, table: str, columns: list[str] | None = None, where: dict[str, Any] | None = None) -> pa.Table:
        return read_rows(self.config.lake, table, columns, where=where, version=self.versions[table])

    def patterns(self, ask: pa.Table) -> pa.Table:
        columns = ["pattern_id", "twig", "labels", "tests"]
        wanted = ask.column("patterns").combine_chunks().flatten().unique()
        version = self.versions["patterns"]
        return read_chosen(self.config.lake, "patterns", columns, "pattern_id", wanted, version=version)

    @cached_property
    def words(self) -> Words:
        """Shared by the matchers of a run: they only grow where they match, which is in the workers."""
        return Words(self._shared.vocabulary, self._shared.known.table, self._shared.known.codes)

    @cached_property
    def _shared(self) -> SharedWords:
        versions = {name: self.versions[name] for name in ("vocabulary", "paths")}
        return shared_words(self.config.lake, **versions)

    def postings(self, date: dt.date, batch: str) -> Postings:
        if (date, batch) not in self._postings:
            version = self.versions["path_documents"]
            self._postings[date, batch] = load_postings(self.config.lake, date, batch, version)
        return self._postings[date, batch]

    def documents(self, date: dt.date, batch: str) -> pa.Table:
        """The documents of a batch and their rows."""
        if (date, batch) not in self._documents:
            where = {"ingest_date": date, "batch": batch}
            self._documents[date, batch] = self.rows("encoded_documents", ["document_id", "row"], where)
        return self._documents[date, batch]

    def forget(self) -> None:
        """Let go of what was read of batches."""
        self._postings.clear()
        self._documents.clear()

    @cached_property
    def selectivity(self) -> Selectivity | None:
        return load_selectivity(self.config.lake, self.versions["selectivity"])

    @cached_property
    def joined(self) -> Joined | None:
        if not self.config.index:
            return None
        self._require_joined()
        pairs = self.rows("path_branches")
        branches = self.rows("branches", ["branch", "branch_id"])
        codes = np.zeros(branches.num_rows, np.int64)
        codes[branches.column("branch").to_numpy()] = branches.column("branch_id").to_numpy()
        path = pairs.column("path_id").to_numpy().astype(np.int64)
        return Joined(path, pairs.column("text").to_numpy(), codes[pairs.column("branch").to_numpy()])

    def _require_joined(self) -> None:
        """An index that has not met all paths or all branches would lose matches."""
        note = next((n for _, n in commit_notes(self.config.lake, "path_branches", self.versions["path_branches"])), {})
        index = self._index
        if (
            index is None
            or not has_met(note, self.config.lake, index)
            or note["generation"] < int(self._shared.known.generations.max())
            or any(index.note["inputs"][name] != self.versions[name] for name in INPUTS)
        ):
            raise TransientError(
                "index_stale",
                "the index has not met all paths and branches yet",
                hint="run build_index and join_paths, then match again",
            )


Target: TypeAlias = tuple[Interval, Group]


def _by_question(work: list[Interval]) -> list[tuple[pa.Table, list[Target]]]:
    """Groups that are to be asked the same share one matcher."""
    found: dict[tuple[str, bool], tuple[pa.Table, list[Target]]] = {}
    for interval in work:
        for group in interval.groups:
            key = set_name(group.ask), group.asked_before
            found.setdefault(key, (group.ask, []))[1].append((interval, group))
    return list(found.values())


def _in_turn(targets: list[Target], documents: int) -> list[list[Target]]:
    """Groups of about so many documents, that the driver knows at a time."""
    sizes = [sum(interval.batches[batch] for batch in group.batches) for interval, group in targets]
    turns: dict[int, list[Target]] = {}
    for end, size, target in zip(accumulate(sizes), sizes, targets, strict=True):
        turns.setdefault((end - size) // documents, []).append(target)
    return list(turns.values())


def _shards(ask: pa.Table, size: int, lake: Pinned) -> list[pa.Table]:
    """Few documents should go to a shard: its profiles share an index partition, or all ask for certain values."""
    if ask.num_rows <= size:
        return [ask]
    patterns = ask.column("patterns").combine_chunks()
    homes = homes_of(lake.config.lake, patterns.flatten().to_numpy().astype(np.int64), lake.versions)
    owner = patterns.value_parent_indices().to_numpy()
    is_open = np.bincount(owner, homes.is_open, minlength=ask.num_rows) > 0
    home = np.full(ask.num_rows, -1, np.int64)
    home[owner[::-1]] = homes.partition[::-1]  # of the first pattern
    ask = ask.take(pa.array(np.lexsort((home, is_open))))
    return [ask.slice(start, size) for start in range(0, ask.num_rows, size)]


class _Split(NamedTuple):
    ask: pa.Table
    encoded: bool  # answered by encoded_documents, or else by documents


def _questions(
    lake: Pinned, ask: pa.Table, targets: list[Target], report: RunReport, *, sharded: bool
) -> list[tuple[Question, list[Piece]]]:
    asked_before = targets[0][1].asked_before
    routed = lake.config.index and (asked_before or sharded)
    with report.stage("index"):
        patterns = lake.patterns(ask)
        split = _by_need(ask) if routed and asked_before else [_Split(ask, encoded=False)]
    asked: list[tuple[_Split, Matcher, list[_Documents]]] = []
    for part in split:
        with report.stage("index"):
            matcher = _matcher(lake, part.ask, patterns)
            if sharded:
                matcher.guard_values()
        with report.stage("route"):
            asked.append((part, matcher, _documents(lake, matcher, targets, lake.joined if routed else None)))
    with report.stage("route"):
        places = _places(lake, [own for _, _, documents in asked for own in documents])
        found = []
        for part, matcher, documents in asked:
            pieces = [
                piece
                for own in documents
                for piece in (_encodings(lake, own, places[own.date]) if part.encoded else _splits(lake, own))
            ]
            if pieces:
                profiles = part.ask.select(SET_COLUMNS).combine_chunks()
                packed = pickle.dumps(matcher, protocol=5)
                sources = {} if part.encoded else {date: _sources(table) for date, table in places.items()}
                found.append((Question(packed, lake.words.codes, profiles, sources), pieces))
    return found


def _matcher(lake: Pinned, ask: pa.Table, patterns: pa.Table) -> Matcher:
    engine, limits, rare = lake.config.engine, lake.config.evaluation, lake.selectivity
    asked = _asked(ask, lake)
    return assemble(engine, lake.words, patterns, asked, lake.joined, evaluation=limits, selectivity=rare)


def candidates(lake: Pinned, interval: Interval, group: Group) -> int:
    """How many documents of the group would be looked at."""
    everything = sum(interval.batches[batch] for batch in group.batches)
    if not group.asked_before:
        return everything
    matcher = _matcher(lake, group.ask, lake.patterns(group.ask))
    chosen = _routed(lake, matcher, lake.joined, [(interval.date, batch) for batch in group.batches])
    return sum(
        interval.batches[b] if rows is None else rows.size for b, rows in zip(group.batches, chosen, strict=True)
    )


def _routed(lake: Pinned, matcher: Matcher, joined: Joined | None, batches: list[tuple[dt.date, str]]) -> list[Any]:
    """Per batch the rows that could satisfy some profile; None: all."""
    everything: list[Any] = [None] * len(batches)
    if joined is None:
        return everything
    postings = [lake.postings(date, batch) for date, batch in batches]
    return route(matcher.engine.store, joined, postings) or everything


def _by_need(ask: pa.Table) -> list[_Split]:
    """Native profiles, and those that libxml2 decides."""
    hybrid = pc.equal(ask.column("class"), "hybrid")
    parts = [_Split(ask.filter(pc.invert(hybrid)), encoded=True), _Split(ask.filter(hybrid), encoded=False)]
    return [part for part in parts if part.ask.num_rows]


def _asked(ask: pa.Table, lake: Pinned) -> Asked:
    patterns = ask.column("patterns").combine_chunks()
    counts = pc.fill_null(pc.list_value_length(patterns), 0).to_numpy().astype(np.int32)
    hybrid = ask.filter(pc.equal(ask.column("class"), "hybrid")).select(["profile_id", "profile_version"])
    return Asked(
        ask.column("profile_id").to_pylist(),
        counts,
        patterns.flatten().to_numpy().astype(np.int64),
        _hybrids(lake, hybrid) if hybrid.num_rows else {},
    )


def _hybrids(lake: Pinned, wanted: pa.Table) -> dict[str, HybridProfile]:
    rows = sql(
        "SELECT * FROM profiles SEMI JOIN wanted USING (profile_id, profile_version)",
        profiles=lake.rows("profiles", ["profile_id", "profile_version", "xpath", "namespaces"]),
        wanted=wanted,
    )
    found = {}
    for row in rows.to_pylist():
        hybrid = hybrid_of(compile_profile(row["xpath"], dict(row["namespaces"])))
        if hybrid is not None:
            found[row["profile_id"]] = hybrid
    return found


class _Documents(NamedTuple):
    """Documents of one interval to look at."""

    date: dt.date
    chosen: dict[str, pa.Table]  # per batch their ids and rows
    is_all: bool  # the interval has no others


def _documents(lake: Pinned, matcher: Matcher, targets: list[Target], joined: Joined | None) -> list[_Documents]:
    """With `joined` only those that could satisfy some profile."""
    batches = [(interval.date, batch) for interval, group in targets for batch in group.batches]
    routed = dict(zip(batches, _routed(lake, matcher, joined, batches), strict=True))
    have = rows_by_partition(lake.config.lake, "documents", "ingest_date", version=lake.versions["documents"])
    found = []
    for date in dict.fromkeys(date for date, _ in batches):
        own = {batch: rows for (day, batch), rows in routed.items() if day == date and (rows is None or rows.size)}
        if own:
            tables = {batch: _chosen(lake.documents(date, batch), rows) for batch, rows in own.items()}
            chosen = {batch: table for batch, table in tables.items() if table.num_rows}
            is_all = sum(table.num_rows for table in chosen.values()) == have[date,]
            found.append(_Documents(date, chosen, is_all))
    return found


def _chosen(documents: pa.Table, rows: Ints | None) -> pa.Table:
    if rows is None:
        return documents
    return documents.filter(pa.array(np.isin(documents.column("row").to_numpy(), rows)))


def _splits(lake: Pinned, documents: _Documents) -> list[Piece]:
    """To be read again."""
    ids = [chunk for table in documents.chosen.values() for chunk in table.column("document_id").chunks]
    wanted = None if documents.is_all else pa.chunked_array(ids, pa.string())
    return [Piece(documents.date, split) for split in to_splits(_files(lake, "documents", documents.date), wanted)]


def _encodings(lake: Pinned, documents: _Documents, places: pa.Table) -> list[Piece]:
    """Known by how they were encoded."""
    date, pieces = documents.date, []
    for batch, chosen in documents.chosen.items():
        chosen = chosen.sort_by("row").combine_chunks()
        ids = chosen.column("document_id").combine_chunks()
        at = pc.index_in(ids, value_set=places.column("document_id"))
        if at.null_count:
            raise source_missing()
        rows = chosen.column("row").to_numpy()
        known = Known(rows, ids, places.column("source").take(at).combine_chunks())
        inverted = tuple(_files(lake, "path_documents", date, batch))
        pieces += [
            Piece(date, Encodings(uri, known, inverted)) for uri in _files(lake, "encoded_documents", date, batch)
        ]
    return pieces


def _files(lake: Pinned, table: str, date: dt.date, batch: str | None = None) -> list[str]:
    partition = {"ingest_date": date} | ({"batch": batch} if batch else {})
    return partition_files(lake.config.lake, table, partition, version=lake.versions[table])


def _places(lake: Pinned, documents: list[_Documents]) -> dict[dt.date, pa.Table]:
    """Each document and its first place in the interval: `file`, `file!member` or `file#record`."""
    query = """
        SELECT document_id, min(source || CASE member WHEN '' THEN '' ELSE '!' || member END
                                || CASE record WHEN 0 THEN '' ELSE '#' || record END) AS source
        FROM sources {chosen} GROUP BY document_id
    """
    found = {}
    for date in {own.date for own in documents}:
        own = [some for some in documents if some.date == date]
        tables = [table.select(["document_id"]) for some in own for table in some.chosen.values()]
        chosen = "" if any(some.is_all for some in own) else "SEMI JOIN wanted USING (document_id)"
        sources = (
            _files(lake, "document_sources", date) or arrow_schema(load_contract("document_sources")).empty_table()
        )
        found[date] = sql(query.format(chosen=chosen), sources=sources, wanted=pa.concat_tables(tables))
    return found


def _sources(places: pa.Table) -> Sources:
    places = places.sort_by("document_id")
    return Sources(np.array(places.column(0).to_pylist(), "S64"), places.column(1).combine_chunks())


def _distribute(
    spark: SparkSession, task: MatchTask, questions: list[tuple[Question, list[Piece]]]
) -> list[tuple[int, Answer]]:
    """Answers, each with the number of its question. All questions are one piece of work for Spark."""
    if not questions:
        return []
    context = spark.sparkContext
    pieces = [piece for _, own in questions for piece in own]
    # What is encoded is even, and soon done: one task a core. Documents are not.
    waves = 1 if all(isinstance(piece.source, Encodings) for piece in pieces) else 2
    tasks = min(len(pieces), context.defaultParallelism * waves)
    shared = context.broadcast(questions)

    def answer(index: int) -> list[tuple[int, Answer]]:
        forget_others(question for question, _ in shared.value)
        return [
            (number, task(own, question))
            for number, (question, pieces) in enumerate(shared.value)
            if (own := pieces[index::tasks])
        ]

    answers: list[tuple[int, Answer]] = context.parallelize(range(tasks), tasks).flatMap(answer).collect()
    shared.unpersist()
    return answers


def _collect(
    answer: Answer,
    question: Question,
    parts: dict[dt.date, list[Part]],
    undecided: dict[dt.date, list[Any]],
    funnel: dict[str, int],
) -> None:
    for date, written in answer.parts.items():
        parts[date] += written
    for date, pairs in answer.undecided.items():
        keys = question.profiles.take(pa.array([pair.slot for pair in pairs], pa.int32())).to_pylist()
        undecided[date] += [
            pair._asdict() | {name: key[name] for name in ("profile_id", "profile_version")}
            for pair, key in zip(pairs, keys, strict=True)
        ]
    for name, count in answer.funnel.items():
        known = funnel.get(name, 0)
        funnel[name] = max(known, count) if name in {"paths", "branches"} else known + count


def _stage(lake: Pinned, interval: Interval, parts: list[Part], undecided: list[Any]) -> int:
    config = lake.config
    run = {"job": "match_documents", "run_id": config.run_id}
    for name, kept in interval.sets.items():
        keep_set(config.lake, name, kept, run)
    _keep_undecided(config, interval, undecided, run)
    note = run | {
        "date": str(interval.date),
        "engine": config.engine,
        "inputs": lake.versions,
        "seen": lake.profiles.marks(),
        "batches": interval.batches,
        "answered": interval.answered,
        "profile_set": interval.profile_set,
        "mode": interval.mode,
        "base": interval.base,
    }
    return replace_partition(config.lake, "matches_staged", parts, {"match_date": interval.date}, note)


def _keep_undecided(config: Config, interval: Interval, undecided: list[Any], run: dict[str, Any]) -> None:
    """Those of profiles that are still asked stay; the new ones come to them."""
    partition = {"match_date": interval.date}
    kept = read_rows(config.lake, "undecided", where=partition)
    if not kept.num_rows and not undecided:
        return
    if interval.mode == "replace":
        kept = kept.slice(0, 0)
    elif interval.mode == "rewrite":
        query = "SELECT * FROM known SEMI JOIN required USING (profile_id, profile_version)"
        kept = sql(query, known=kept, required=interval.sets[interval.profile_set].rows.select(SET_COLUMNS))
    names = ["document_id", "profile_id", "profile_version", "reason", "message", "run_id"]
    new = [{name: (row | {"run_id": config.run_id})[name] for name in names} for row in undecided]
    table = pa.Table.from_pylist(kept.select(names).to_pylist() + new) if new or kept.num_rows else None
    parts = write_rows(config.lake, "undecided", table, partition) if table else []
    replace_partition(config.lake, "undecided", parts, partition, run)
