"""`winnow reproduce --quick`: the papers' figures, measured again with every engine."""

import argparse
from pathlib import Path

from winnow.cli.common import positive
from winnow.cli.showing import bar_options, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="only these, e.g. boxfilter-9 xtrie-7a (all)")
    scale = parser.add_mutually_exclusive_group(required=True)
    scale.add_argument("--quick", action="store_true", help="small sizes: minutes")
    scale.add_argument("--full", action="store_true", help="the papers' sizes: hours, and gigabytes of memory")
    scale.add_argument("--list", action="store_true", help="name the figures and measure nothing")
    parser.add_argument("--folder", type=Path, default=Path(".winnow/reproduce"), help="where results and pages go")
    parser.add_argument(
        "--budget",
        type=positive,
        metavar="S",
        help="CPU seconds of an engine at a point; slower ones are left out after it",
    )


def run(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from winnow.errors import UsageError
    from winnow.reproduce.figures import FIGURES
    from winnow.reproduce.run import Task, measure, tasks
    from winnow.reproduce.sweeps import Scale
    from winnow.reproduce.write import write

    unknown = [name for name in args.figures if name not in FIGURES]
    if unknown:
        raise UsageError("unknown_figure", f"there is no figure {unknown[0]!r}", hint=f"one of {', '.join(FIGURES)}")
    figures = [FIGURES[name] for name in args.figures or FIGURES]
    if args.list:
        print("\n".join(f"{figure.name:<14} {figure.number:<14} {figure.caption}" for figure in figures))
        return 0
    scale: Scale = "full" if args.full else "quick"
    folder = args.folder / scale
    todo = tasks(figures, scale, folder)
    total = sum(len(task.figure.names) for task in todo)
    with tqdm(total=total, unit=" measurements", **bar_options(args)) as bar:

        def begin(task: Task, name: str) -> None:
            bar.set_description(f"{task.figure.name} at {task.x:g}: {name}", refresh=False)
            bar.update()

        measure(todo, budget=args.budget or (600 if args.full else 10), begin=begin)
    page = str(write(todo, folder, scale))
    show(args, f"page: {page}", {"page": page})
    return 0
