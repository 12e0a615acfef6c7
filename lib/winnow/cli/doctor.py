"""`winnow doctor`: what this machine has and lacks, a verdict and what mends it in each line.

Exit code 0 when nothing is broken, 1 otherwise.
"""

import argparse

from winnow.cli.common import add_lake_arguments, lake_of
from winnow.cli.showing import painted, show

_MARKS = {"ok": ("ok   ", "green"), "note": ("note ", "yellow"), "broken": ("BROKEN", "red")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.cli.findings import findings

    found = []
    for finding in findings(lake_of(args)):
        mark, colour = _MARKS[finding.verdict]
        mends = f"\n{'':>19}→ {finding.mends}" if finding.mends else ""
        show(args, f"{painted(f'{mark:<6}', colour)}  {finding.what:<9}  {finding.words}{mends}")
        found.append(finding)
    if args.json:
        show(args, "", [finding._asdict() for finding in found])
    return 1 if any(finding.verdict == "broken" for finding in found) else 0
