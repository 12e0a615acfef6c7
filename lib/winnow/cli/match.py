"""`winnow match DOCUMENTS... --profiles FILE`: who satisfies which profiles, in one process, without Spark."""

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from winnow.cli.common import (
    add_engine_argument,
    add_evaluation_arguments,
    add_expansion_argument,
    evaluation_of,
    expansion_of,
    positive,
    tag,
)
from winnow.cli.showing import bar_options

if TYPE_CHECKING:
    from winnow.ingest.sources import File
    from winnow.matcher import Matcher

Row: TypeAlias = dict[str, Any]
Documents: TypeAlias = Iterator[tuple[str, bytes]]

_CHUNK = 20_000
_SHOWN = 10  # refusals in words; the rest are counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from winnow.ingest.accept import DEFAULT_LIMITS

    parser.add_argument("documents", nargs="+", metavar="DOCUMENT", help="files, directories, globs, archives")
    parser.add_argument("--profiles", required=True, metavar="FILE", help="CSV or JSONL with profile_id, xpath, …")
    add_engine_argument(parser)
    parser.add_argument("--destinations", action="store_true", help="write who is sent what, not what matches what")
    parser.add_argument("--output", default="-", metavar="FILE", help=".csv, .jsonl or .parquet; - is CSV on stdout")
    parser.add_argument("--record-tag", type=tag, help="split container files: each element of this name is a document")
    parser.add_argument("--max-bytes", type=positive, default=DEFAULT_LIMITS.max_bytes, help="refuse larger documents")
    add_expansion_argument(parser)
    add_evaluation_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.cli.output import DELIVERIES, MATCHES, open_output
    from winnow.ingest.accept import DEFAULT_LIMITS
    from winnow.ingest.profiles import read_profiles
    from winnow.ingest.sources import list_files
    from winnow.matcher import Matcher

    # First what may be wrong in the call: it should cost neither work nor half an output.
    limits = DEFAULT_LIMITS._replace(max_bytes=args.max_bytes)
    matcher = Matcher(engine=args.engine, limits=limits, evaluation=evaluation_of(args))
    files = list(list_files(args.documents))
    file = read_profiles(args.profiles)
    unread: list[str] = []
    columns = DELIVERIES if args.destinations else MATCHES
    with open_output(args.output, columns, as_json=args.json) as write:
        profiles = file.profiles.to_pylist()
        documents = _documents(files, args, unread)
        rows = (
            _deliveries(matcher, profiles, documents) if args.destinations else _matches(matcher, profiles, documents)
        )
        while chunk := list(islice(rows, _CHUNK)):
            write(chunk)
    return _summary(args, matcher, unread, file.rejected.to_pylist())


def _matches(matcher: "Matcher", profiles: list[Row], documents: Documents) -> Iterator[tuple[Any, ...]]:
    matcher.add((row["profile_id"], row["xpath"], dict(row["namespaces"]), row["ordered"]) for row in profiles)
    return iter(matcher.match(documents))


def _deliveries(matcher: "Matcher", profiles: list[Row], documents: Documents) -> Iterator[tuple[Any, ...]]:
    """Each document once for every destination, with how many profiles of it hold."""
    from winnow.broker import Broker, Delivery

    sent: list[Delivery] = []
    broker = Broker(sent.append, matcher)
    broker.subscribe(
        (row["profile_id"], row["xpath"], dict(row["namespaces"]), row["ordered"], row["destination"])
        for row in profiles
    )
    for name, content in documents:
        broker.publish(name, content)
        yield from ((delivery.document, delivery.destination, len(delivery.profile_ids)) for delivery in sent)
        sent.clear()
    broker.flush()
    yield from ((delivery.document, delivery.destination, len(delivery.profile_ids)) for delivery in sent)


def _documents(files: list["File"], args: argparse.Namespace, unread: list[str]) -> Documents:
    """(name, bytes); what cannot even be read goes to `unread`. Names are `file!member#record`."""
    from tqdm import tqdm

    from winnow.ingest.read import read_file

    expansion = expansion_of(args)
    with tqdm(desc="matching", unit=" documents", **bar_options(args)) as bar:
        for file in files:
            for item in read_file(file, record_tag=args.record_tag, max_bytes=args.max_bytes, expansion=expansion):
                if item.refused:
                    unread.append(f"{item.place.name}: {item.refused.reason}: {item.refused.message}")
                else:
                    yield item.place.name, item.content
                bar.update()


def _summary(args: argparse.Namespace, matcher: "Matcher", unread: list[str], bad_rows: list[Row]) -> int:
    refused = unread + [
        f"{r.document}: {r.reason}: {r.message}" + (f" (line {r.line}, column {r.column})" if r.line else "")
        for r in matcher.refused
    ]
    rejected = [f"row {row['row_number']}: {row['reason']}: {row['message']}" for row in bad_rows]
    rejected += [
        f"{r.profile_id}: {r.code}: {r.message}" + (f" (column {r.column})" if r.column else "")
        for r in matcher.rejected
    ]
    undecided = [f"{pair.document}: {pair.profile_id}: {pair.reason}: {pair.message}" for pair in matcher.undecided]
    said = {"document refused": refused, "profile rejected": rejected, "pair undecided": undecided}
    status = 3 if refused or rejected or undecided else 0
    if args.quiet:
        return status
    for what, lines in said.items():
        for line in lines[:_SHOWN]:
            print(f"{what}: {line}", file=sys.stderr)
        if len(lines) > _SHOWN:
            print(f"{what}: … and {len(lines) - _SHOWN:,} more", file=sys.stderr)
    counts = {"profiles": len(matcher), "profiles rejected": len(rejected), "documents refused": len(refused)}
    counts |= {"pairs undecided": len(undecided)}
    funnel = {name.replace("_", " "): count for name, count in matcher.funnel._asdict().items()}
    if args.json:
        print(json.dumps(counts | funnel), file=sys.stderr)
        return status
    shown = counts | funnel if args.verbose else {"matches": funnel["matches"], **counts}
    told = {name: count for name, count in shown.items() if args.verbose or count or name in {"matches", "profiles"}}
    width = max(map(len, told))
    for name, count in told.items():
        print(f"  {name:<{width}}  {count:>14,}", file=sys.stderr)
    return status
