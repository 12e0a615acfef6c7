"""The jobs one by one, as a scheduler runs them; `winnow run` runs them all."""

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from winnow.cli.common import (
    add_engine_argument,
    add_interval_arguments,
    add_lake_arguments,
    check_engine,
    dates_and_pending,
    dates_of,
    positive,
)

if TYPE_CHECKING:
    from winnow.jobs.report import RunReport

INTERVAL = {"encode-documents", "prepare", "match-documents", "publish-matches"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    name = parser.prog.rsplit(" ", 1)[-1]
    if name in INTERVAL:
        add_interval_arguments(parser)
    else:
        parser.add_argument("--run-id", default="manual", help="kept with every commit, e.g. the scheduler's run id")
    if name == "match-documents":
        add_engine_argument(parser)
        parser.add_argument("--full", action="store_true", help="ask everything again")
        parser.add_argument("--audit", action="store_true", help="then let the quality gate judge what was staged")
    if name == "publish-matches":
        parser.add_argument("--staged-version", type=int, help="the audited version (default: the newest of the date)")
        parser.add_argument("--audited", action="store_true", help="only what the quality gate has let through")
    if name == "build-index":
        parser.add_argument("--rebuild", action="store_true", help="pack everything anew under the next index version")
    if name == "maintain":
        parser.add_argument("--table", action="append", default=[], help="only this one; may be repeated")
        parser.add_argument("--retention-hours", type=positive, default=24 * 30, help="VACUUM keeps what is younger")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.lake.contracts import lake_path

    lake = lake_path(args.lake)
    reports = []
    for report in _STEPS[args.command](args, lake):
        print(report.render(), flush=True)
        reports.append(report)
    if reports and getattr(args, "date", None):
        from winnow.pipeline.metrics import keep_metrics

        keep_metrics(lake, args.run_id, args.date, reports)
    return 0


def _encode_documents(args: argparse.Namespace, lake: str) -> Iterator["RunReport"]:
    from winnow.tables.session import open_session
    from winnow.pipeline import encode_documents as job

    session = open_session(master=args.master)
    for date in dates_and_pending(args, lake):
        yield job.run(session, job.Config(lake=lake, date=date, run_id=args.run_id))


def _sample_values(args: argparse.Namespace, lake: str) -> Iterator["RunReport"]:
    from winnow.pipeline import sample_values as job

    yield job.run(job.Config(lake=lake, run_id=args.run_id))


def _encode_profiles(args: argparse.Namespace, lake: str) -> Iterator["RunReport"]:
    from winnow.tables.session import open_session
    from winnow.pipeline import encode_profiles as job

    yield job.run(open_session(master=args.master), job.Config(lake=lake, run_id=args.run_id))


def _build_index(args: argparse.Namespace, lake: str) -> Iterator["RunReport"]:
    from winnow.pipeline import build_index as job

    yield job.run(job.Config(lake=lake, run_id=args.run_id, rebuild=args.rebuild))


def _join_paths(args: argparse.Namespace, lake: str) -> Iterator["RunReport"]:
    from winnow.tables.session import open_session
    from winnow.pipeline import join_paths as job

    yield job.run(open_session(master=args.master), job.Config(lake=lake, run_id=args.run_id))


def _prepare(args: argparse.Namespace, lake: str) -> Iterator["RunReport"]:
    from winnow.tables.session import open_session
    from winnow.pipeline import run as job

    dates = dates_and_pending(args, lake)
    if dates:
        yield from job.prepare(open_session(master=args.master), job.Config(lake=lake, dates=dates, run_id=args.run_id))


def _match_documents(args: argparse.Namespace, lake: str) -> Iterator["RunReport"]:
    from winnow.jobs.report import all_of
    from winnow.tables.session import open_session
    from winnow.pipeline import match_documents as job

    check_engine(args)
    dates = dates_and_pending(args, lake)
    config = job.Config(lake=lake, dates=dates, run_id=args.run_id, engine=args.engine, full=args.full)
    if not dates:
        return
    session = open_session(master=args.master)
    report, staged = job.run(session, config)
    yield report
    if args.audit:
        from winnow.quality.gate import gate

        audit = gate(session, lake, args.run_id).audit
        yield from all_of(map(audit, (date,), (version,)) for date, version in staged.items())


def _publish_matches(args: argparse.Namespace, lake: str) -> Iterator["RunReport"]:
    from winnow.jobs.report import all_of
    from winnow.pipeline import publish_matches as job

    wanted = job.unpublished(lake) if args.pending else {}
    if args.date or args.first or args.last:
        wanted |= {date: args.staged_version or job.staged_version(lake, date) for date in dates_of(args)}
    configs = [
        job.Config(lake=lake, date=date, staged_version=version, run_id=args.run_id, audited=args.audited)
        for date, version in sorted(wanted.items())
    ]
    yield from all_of(map(job.run, (config,)) for config in configs)


def _maintain(args: argparse.Namespace, lake: str) -> Iterator["RunReport"]:
    from winnow.pipeline import maintain as job

    tables = tuple(args.table)
    yield from job.run(job.Config(lake=lake, run_id=args.run_id, tables=tables, retention_hours=args.retention_hours))


_STEPS: dict[str, Callable[[argparse.Namespace, str], Iterator["RunReport"]]] = {
    "encode-documents": _encode_documents,
    "prepare": _prepare,
    "match-documents": _match_documents,
    "publish-matches": _publish_matches,
    "sample-values": _sample_values,
    "encode-profiles": _encode_profiles,
    "build-index": _build_index,
    "join-paths": _join_paths,
    "maintain": _maintain,
}
