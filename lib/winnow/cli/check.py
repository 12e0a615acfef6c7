"""`winnow check FILE`: what becomes of each profile, before it is ingested.

Exit code 0 when every profile is accepted, 3 when some are rejected.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, Any

from winnow.cli.common import positive, tag
from winnow.cli.showing import show

SAMPLE = 1000  # documents


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="profiles as CSV or JSONL (.gz): profile_id, xpath, namespaces, …")
    parser.add_argument(
        "--documents",
        action="append",
        default=[],
        metavar="PATH",
        help="a sample: files, folders, globs, archives; profiles that match none of it are looked at for mistakes",
    )
    parser.add_argument("--record-tag", type=tag, help="split container files: each element of this name is a document")
    parser.add_argument(
        "--sample", type=positive, default=SAMPLE, metavar="N", help=f"documents that are read ({SAMPLE})"
    )


def run(args: argparse.Namespace) -> int:
    from winnow.ingest.profiles import read_profiles

    file = read_profiles(args.file)
    totals: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for finding in _findings(file.profiles.to_pylist(), file.rejected.to_pylist(), expanded=args.json):
        totals[finding["class"]] += 1
        codes.update({reason["code"] for reason in finding["reasons"]})
        _write(finding, sys.stdout, as_json=args.json)
    _write_totals(totals, codes, sys.stdout, as_json=args.json)
    if args.documents:
        _look_for_mistakes(args, file.profiles.to_pylist())
    return 3 if totals["rejected"] else 0


def _look_for_mistakes(args: argparse.Namespace, profiles: list[dict[str, Any]]) -> None:
    """Says of profiles that match no document of the sample what would match some."""
    from winnow.cli.explain import mistake_lines
    from winnow.generate.sources import read_named_samples
    from winnow.mistakes import find_mistakes

    documents = read_named_samples(args.documents, args.sample, args.record_tag)
    rows = ((row["profile_id"], row["xpath"], dict(row["namespaces"]), row["ordered"]) for row in profiles)
    found = 0
    for mistake in find_mistakes(rows, documents):
        found += 1
        lines = "".join(f"\n    {line}" for line in mistake_lines(mistake))
        head = f"{mistake.profile_id}  matches none of {len(documents):,} documents"
        show(args, f"{head}{lines}  ({mistake.documents:,} of them)", {"mistake": mistake._asdict()})
    show(args, f"{found:,} profiles are probably mistaken", {"mistakes": found, "documents": len(documents)})


def _findings(
    profiles: Iterable[dict[str, Any]], rejected: Iterable[dict[str, Any]], *, expanded: bool
) -> Iterator[dict[str, Any]]:
    """One finding per row of the file; rows that could not be read come last."""
    for profile in profiles:
        yield _check(profile, expanded=expanded)
    for row in rejected:
        reason = {"code": row["reason"], "column": row["column"], "message": row["message"]}
        yield _finding(row["profile_id"] or f"row {row['row_number']}", row["raw"], "rejected", reasons=[reason])


def _check(profile: dict[str, Any], *, expanded: bool) -> dict[str, Any]:
    """Class, patterns, branches and reasons of one profile; `expanded` names are for machines, prefixes for people."""
    from winnow.xpath import Rejected, branches, compile_profile, pattern_text

    profile_id, xpath = profile["profile_id"], profile["xpath"]
    try:
        compiled = compile_profile(xpath, dict(profile["namespaces"]), ordered=profile["ordered"])
    except Rejected as error:
        reason = {"code": error.code, "column": error.column, "message": error.message}
        return _finding(profile_id, xpath, "rejected", reasons=[reason])
    prefixes = () if expanded else compiled.namespaces
    return _finding(
        profile_id,
        xpath,
        compiled.klass.value,
        patterns=[pattern_text(pattern, prefixes) for pattern in compiled.alternatives],
        branches=[line for pattern in compiled.alternatives for line in branches(pattern, prefixes)],
        reasons=[reason._asdict() for reason in compiled.reasons],
    )


def _finding(profile_id: str, xpath: str, klass: str, **rest: list[Any]) -> dict[str, Any]:
    empty: dict[str, list[Any]] = {"patterns": [], "branches": [], "reasons": []}
    return {"profile_id": profile_id, "xpath": xpath, "class": klass, **empty, **rest}


def _write(finding: dict[str, Any], out: IO[str], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(finding, ensure_ascii=False), file=out)
        return
    print(f"{finding['profile_id']}  {finding['class']}  {finding['xpath']}", file=out)
    if finding["class"] != "rejected" and not finding["patterns"]:
        print("    never true", file=out)
    for pattern in finding["patterns"]:
        print(f"    pattern  {pattern}", file=out)
    for branch in finding["branches"]:
        print(f"    branch   {branch}", file=out)
    for reason in finding["reasons"]:
        place = f"column {reason['column']}: " if reason["column"] else ""
        print(f"    because  {reason['code']}: {place}{reason['message']}", file=out)


def _write_totals(totals: Counter[str], codes: Counter[str], out: IO[str], *, as_json: bool) -> None:
    counts = {klass: totals[klass] for klass in ("native", "hybrid", "rejected")}
    if as_json:
        print(json.dumps({"totals": counts, "reasons": dict(codes.most_common())}), file=out)
        return
    words = ", ".join(f"{count:,} {klass}" for klass, count in counts.items())
    print(f"{sum(counts.values()):,} profiles: {words}", file=out)
    for code, count in codes.most_common():
        print(f"    {code:<20} {count:>8,}", file=out)
