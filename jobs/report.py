"""Write the page of a run.

Entry: `spark-submit jobs/report.py`, the same as `winnow report`.
Reads: run_metrics, ledger, matches, documents, quarantine, undecided, quality_results.
Writes: a file below the lake's `_reports`.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["report", *sys.argv[1:]]))
