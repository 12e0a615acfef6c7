"""`winnow generate sample|dtd|documents|profiles`: something to try things on, the same bytes for the same seed."""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from winnow.cli.commands import add_output_arguments
from winnow.cli.common import positive, share
from winnow.cli.showing import bar_options, show

if TYPE_CHECKING:
    from winnow.generate.guide import Guide

T = TypeVar("T")

_DTD = "a .dtd file, the name of a shape, or all (20 shapes); may be repeated. `winnow generate dtd` lists the shapes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="sample|dtd|documents|profiles")
    sample = kinds.add_parser("sample", help="a few thousand documents of three vocabularies, and profiles for them")
    sample.add_argument("folder", type=Path)
    sample.add_argument("--documents", type=int, default=3000)
    sample.add_argument("--profiles", type=int, default=600)
    sample.add_argument("--seed", type=int, default=1)
    dtd = kinds.add_parser("dtd", help="print one of the 20 shipped DTDs, or their names")
    dtd.add_argument("name", nargs="?", help="of a shape; without it, the shapes are listed")
    dtd.add_argument("--seed", type=int, default=1, help="another seed gives another DTD of the same shape")
    _document_arguments(kinds.add_parser("documents", help="valid documents of any DTD"))
    _profile_arguments(kinds.add_parser("profiles", help="profiles that fit a DTD, or documents"))
    for kind in kinds.choices.values():
        add_output_arguments(kind)


def _document_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", type=Path, help="a folder, .tar.gz, or .parquet for large ones")
    parser.add_argument("--dtd", action="append", required=True, metavar="DTD", help=_DTD)
    parser.add_argument("--documents", type=positive, default=1000, metavar="N", help="how many (1000)")
    _content_arguments(parser)


def _content_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", default="", help="the root element (default: one that stands in no other)")
    parser.add_argument(
        "--size", default="medium", help="small, medium, large or a number: about 30, 100, 1000 elements"
    )
    parser.add_argument("--depth", type=positive, default=16, help="levels at most, also of recursive DTDs (16)")
    parser.add_argument("--skew", type=float, default=1.5, help="Zipf skew of the choices that the DTD leaves (1.5)")
    parser.add_argument("--attributes", type=share, default=0.5, help="probability of an attribute that may miss (0.5)")
    parser.add_argument("--values", type=positive, default=1000, help="distinct values of a text or attribute (1000)")
    parser.add_argument("--value-skew", type=float, default=1.0, help="their Zipf skew (1)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same bytes")


def _profile_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", type=Path, help=".jsonl or .csv (.gz), or .parquet for large ones")
    parser.add_argument("--dtd", action="append", default=[], metavar="DTD", help=_DTD)
    parser.add_argument(
        "--like", action="append", default=[], metavar="PATH", help="sample documents, instead of a DTD"
    )
    parser.add_argument("--profiles", type=positive, default=1000, metavar="P", help="how many, all distinct (1000)")
    parser.add_argument("--steps", type=positive, default=10, metavar="L", help="at most (10)")
    parser.add_argument("--shortest", type=positive, default=2, metavar="STEPS", help="at least (2)")
    parser.add_argument("--wildcard", type=share, default=0.1, metavar="P_W", help="probability of * at a step (0.1)")
    parser.add_argument("--descendant", type=share, default=0.1, metavar="P_D", help="of // at a step (0.1)")
    parser.add_argument("--branch", type=share, default=0.0, metavar="P_B", help="of a branch at a step (0)")
    parser.add_argument("--theta", type=float, default=0.0, help="Zipf skew of the choice between labels (0: even)")
    parser.add_argument("--predicates", type=int, default=0, metavar="N", help="of each profile that has some (0)")
    parser.add_argument("--predicate-share", type=share, default=1.0, help="of the profiles: those that have some (1)")
    parser.add_argument("--attribute-share", type=share, default=0.5, help="of the predicates: on attributes (0.5)")
    parser.add_argument("--value-share", type=share, default=1.0, help="of the predicates: those that compare (1)")
    parser.add_argument("--only-equal", action="store_true", help="no comparison but =")
    parser.add_argument("--match-documents", type=share, metavar="SHARE", help="of documents that match something")
    parser.add_argument("--match-profiles", type=share, metavar="SHARE", help="of profiles that match something")
    parser.add_argument("--sample", type=positive, default=1000, help="documents that shares are measured on (1000)")
    parser.add_argument("--subscribers", type=positive, default=100)
    documents = parser.add_argument_group("documents of the DTD that shares are measured on: as `generate documents`")
    _content_arguments(documents)  # type: ignore[arg-type]  # a group adds arguments as a parser does


def run(args: argparse.Namespace) -> int:
    return {"sample": _sample, "dtd": _dtd, "documents": _documents, "profiles": _profiles}[args.kind](args)


def _sample(args: argparse.Namespace) -> int:
    from winnow.generate.sample import write_sample

    made = write_sample(args.folder, documents=args.documents, profiles=args.profiles, seed=args.seed)
    text = f"documents  {made.documents}\ncontainer  {made.container} (--record-tag trade)\nprofiles   {made.profiles}"
    show(args, text, made._asdict())
    return 0


def _dtd(args: argparse.Namespace) -> int:
    from winnow.errors import UsageError
    from winnow.generate.shapes import SHAPES, make_dtd

    if args.name is None:
        for name, shape in SHAPES.items():
            kind = "recursive" if shape.recursion else f"{shape.layers} levels"
            print(f"{name:<18} {shape.elements:>4} elements, {kind}, {shape.attributes:g} attributes an element")
    elif args.name not in SHAPES:
        raise UsageError("no_dtd", f"there is no shape {args.name!r}", hint=f"one of {', '.join(SHAPES)}")
    else:
        print(make_dtd(args.name, args.seed), end="")
    return 0


def _documents(args: argparse.Namespace) -> int:
    from winnow.generate.write import check_documents, write_documents

    check_documents(args.output)
    documents = _made_documents(args, args.documents)
    write_documents(args.output, _shown(args, documents, "documents", args.documents))
    show(args, f"documents  {args.output}", {"documents": args.output})
    return 0


def _profiles(args: argparse.Namespace) -> int:
    from winnow.errors import UsageError
    from winnow.generate.profiles import ProfileMaker, ProfileOptions, take
    from winnow.generate.selectivity import Mixture, Targets
    from winnow.generate.sources import read_samples
    from winnow.generate.write import check_profiles, profile_rows, write_profiles

    check_profiles(args.output)
    if bool(args.dtd) == bool(args.like):
        raise UsageError("no_source", "profiles of what?", hint="give --dtd, or documents with --like")
    if args.shortest > args.steps:
        raise UsageError("bad_steps", f"--shortest {args.shortest} is more than --steps {args.steps}")
    options = ProfileOptions(
        steps=args.steps,
        shortest=args.shortest,
        wildcard=args.wildcard,
        descendant=args.descendant,
        branch=args.branch,
        skew=args.theta,
        predicates=args.predicates,
        predicate_share=args.predicate_share,
        attribute_share=args.attribute_share,
        value_share=args.value_share,
        only_equal=args.only_equal,
    )
    targets = Targets(args.match_documents, args.match_profiles)
    samples = read_samples(args.like, args.sample) if args.like else []
    maker = ProfileMaker(_guides(args, samples), options, args.seed)
    if targets.are_set and not samples:
        samples = [content for _, content in _made_documents(args, args.sample)]
    mixture = Mixture(maker, args.profiles, samples, targets) if targets.are_set else maker.distinct()
    made = _shown(args, take(iter(mixture), args.profiles), "profiles", args.profiles)
    write_profiles(args.output, profile_rows(made, subscribers=args.subscribers))
    reached = dict(zip(("documents", "profiles"), mixture.reached, strict=True)) if isinstance(mixture, Mixture) else {}
    lines = [f"profiles   {args.output}"]
    for wanted, (what, got) in zip(targets, reached.items(), strict=False):
        wish = "" if wanted is None else f", wanted {wanted:.1%}"
        lines.append(f"  {what + ' that match':<22} {got:>7.1%}{wish}")
    show(args, "\n".join(lines), {"profiles": args.output, "match": reached})
    return 0


def _guides(args: argparse.Namespace, samples: list[bytes]) -> list["Guide"]:
    from winnow.generate.guide import guide_of_dtd, guides_of_documents
    from winnow.generate.sources import dtds_of
    from winnow.generate.values import Values

    if samples:
        return guides_of_documents(samples)
    values = Values(distinct=args.values, skew=args.value_skew)
    return [guide_of_dtd(dtd, values) for dtd in dtds_of(args.dtd, args.root)]


def _made_documents(args: argparse.Namespace, count: int) -> Iterator[tuple[str, bytes]]:
    from winnow.generate.documents import DocumentMaker, DocumentOptions, make_documents, size_of
    from winnow.generate.sources import dtds_of
    from winnow.generate.values import Values

    values = Values(distinct=args.values, skew=args.value_skew)
    options = DocumentOptions(size_of(args.size), args.depth, args.skew, args.attributes)
    makers = [DocumentMaker(dtd, values, options, args.seed) for dtd in dtds_of(args.dtd, args.root)]
    return make_documents(makers, range(count))


def _shown(args: argparse.Namespace, items: Iterable[T], what: str, total: int) -> Iterator[T]:
    from tqdm import tqdm

    return iter(tqdm(items, desc=what, total=total, unit=f" {what}", **bar_options(args)))
