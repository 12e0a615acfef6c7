"""`winnow bench`: measurements as ratios in one run."""

import argparse
from pathlib import Path
from typing import Any

from winnow.cli.commands import add_output_arguments
from winnow.cli.showing import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="kind")
    match = kinds.add_parser("match", help="the matching core: workloads and engines beside lxml, on one thread")
    match.add_argument("--quick", action="store_true", help="a tenth of the profiles: minutes become seconds")
    match.add_argument("--corpora", type=Path, default=Path("../shared/corpora"), help="real documents, where present")
    match.add_argument("--folder", type=Path, default=Path(".winnow/bench"), help="where plots and results go")
    engines = kinds.add_parser(
        "engines", help="all engines on the papers' workloads: time by part, ratios to nfa, buff"
    )
    engines.add_argument("--quick", action="store_true", help="a tenth of the profiles")
    engines.add_argument(
        "--engines", nargs="+", default=None, metavar="NAME", help="only these; nfa and buff to compare"
    )
    engines.add_argument("--folder", type=Path, default=Path(".winnow/bench"), help="where results go")
    changes = kinds.add_parser("changes", help="profiles that come and go between documents, in a broker, by engine")
    changes.add_argument("--profiles", type=int, default=20_000, help="half of them are there at first")
    changes.add_argument("--documents", type=int, default=1000)
    routing = kinds.add_parser("routing", help="BoXFilter in the pipeline: pairs routed, seconds beside the default")
    routing.add_argument("--documents", type=int, default=1000)
    routing.add_argument("--profiles", type=int, default=10_000)
    routing.add_argument("--folder", type=Path, default=Path(".winnow/bench"), help="where inputs and lakes go")
    routing.add_argument("--master", default="local[2]")
    modes = kinds.add_parser("modes", help="BoXFilter by batch beside one by one, over growing numbers of profiles")
    modes.add_argument("--documents", type=int, default=1000)
    modes.add_argument("--profiles", type=int, nargs="+", default=[100, 1000, 3000, 10_000, 30_000, 100_000])
    profiles = kinds.add_parser("profiles", help="compiling profiles beside lxml compiling the same XPaths")
    profiles.add_argument("--profiles", type=int, default=1_000_000)
    ingest = kinds.add_parser("ingest", help="ingest into Delta beside one-thread lxml parsing of the same bytes")
    ingest.add_argument("--documents", type=int, default=100_000, help="in ten .tar.gz")
    ingest.add_argument("--singles", type=int, default=20_000, help="single files")
    ingest.add_argument("--folder", type=Path, default=Path(".winnow/bench"), help="where inputs and lakes go")
    ingest.add_argument("--master", default="local[2]")
    pipeline = kinds.add_parser("pipeline", help="all jobs of a date, and a backfill, beside one-thread lxml parsing")
    pipeline.add_argument("--documents", type=int, default=200_000)
    pipeline.add_argument("--profiles", type=int, default=100_000)
    pipeline.add_argument("--added", type=int, default=1000, help="profiles of the backfill")
    words = "how many of the profiles match as often as usual, the others hardly ever (default: all)"
    pipeline.add_argument("--usual-profiles", type=int, metavar="N", help=words)
    pipeline.add_argument("--folder", type=Path, default=Path(".winnow/bench"), help="where inputs and the lake go")
    pipeline.add_argument("--master", default="local[2]")
    growth = kinds.add_parser("growth", help="the pipeline over several sizes, with a heap of 2 GB, and a plot")
    growth.add_argument("--documents", type=int, nargs="+", default=[20_000, 200_000, 1_000_000])
    growth.add_argument("--profiles", type=int, default=100_000)
    growth.add_argument("--added", type=int, default=1000, help="profiles of the backfill")
    growth.add_argument("--folder", type=Path, default=Path(".winnow/bench"), help="where inputs and lakes go")
    growth.add_argument("--master", default="local[2]")
    layout = kinds.add_parser("layout", help="orders and statistics of the matches table, by what questions read")
    layout.add_argument("--documents", type=int, default=20_000, help="of each date")
    layout.add_argument("--dates", type=int, default=30)
    layout.add_argument("--folder", type=Path, default=Path(".winnow/bench"), help="where the tables go")
    layout.add_argument("--master", default="local[2]")
    spark = kinds.add_parser("spark", help="winnow.spark beside lxml parsing in the same session, and its memory")
    spark.add_argument("--documents", type=int, default=200_000)
    spark.add_argument("--profiles", type=int, default=100_000)
    spark.add_argument("--many", type=int, default=1_000_000, help="profiles of the index whose memory is measured")
    spark.add_argument("--folder", type=Path, default=Path(".winnow/bench"), help="where inputs and indexes go")
    spark.add_argument("--master", default="local[2]")
    for kind in (match, engines, changes, routing, modes, profiles, ingest, pipeline, growth, layout, spark):
        add_output_arguments(kind)


def run(args: argparse.Namespace) -> int:
    result = _measure(args)
    show(args, "\n".join(_lines(result)), result)
    return 0


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    if args.kind == "ingest":
        from winnow.bench import ingest

        return ingest.run(args.folder, documents=args.documents, singles=args.singles, master=args.master)
    if args.kind == "pipeline":
        from winnow.bench import pipeline

        sizes = {"documents": args.documents, "profiles": args.profiles, "added": args.added}
        return pipeline.run(args.folder, master=args.master, usual=args.usual_profiles, **sizes)
    if args.kind == "growth":
        from winnow.bench import growth

        sizes = {"sizes": args.documents, "profiles": args.profiles, "added": args.added}
        return growth.run(args.folder, master=args.master, **sizes)
    if args.kind == "layout":
        from winnow.bench import layout

        return layout.run(args.folder, documents=args.documents, dates=args.dates, master=args.master)
    if args.kind == "spark":
        from winnow.bench import spark

        sizes = {"documents": args.documents, "profiles": args.profiles, "many": args.many}
        return spark.run(args.folder, master=args.master, **sizes)
    if args.kind == "engines":
        from winnow.bench import engines
        from winnow.engines import ENGINES

        return engines.run(args.folder, quick=args.quick, engines=tuple(args.engines or ENGINES))
    if args.kind == "routing":
        from winnow.bench import routing

        return routing.run(args.folder, documents=args.documents, profiles=args.profiles, master=args.master)
    if args.kind == "modes":
        from winnow.bench import modes

        return modes.run(documents=args.documents, sizes=args.profiles)
    if args.kind == "changes":
        from winnow.bench import changes

        return changes.run(profiles=args.profiles, documents=args.documents)
    if args.kind == "profiles":
        from winnow.bench import profiles

        return profiles.run(args.profiles)
    from winnow.bench import match

    return match.run(args.folder, corpora=args.corpora, quick=args.quick)


def _lines(result: dict[str, Any], indent: str = "") -> list[str]:
    """Nested results as an indented table."""
    width = max((len(name) for name, value in result.items() if not isinstance(value, dict)), default=0)
    lines = []
    for name, value in result.items():
        if isinstance(value, dict):
            lines += [f"{indent}{name}", *_lines(value, indent + "  ")]
        else:
            shown = f"{value:,.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
            shown = f"{shown:,}" if isinstance(shown, int) else shown
            lines.append(f"{indent}{name:<{width}}  {shown:>14}")
    return lines
