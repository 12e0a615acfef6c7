"""Write the page of a run.

Entry: `spark-submit jobs/report.py`, the same as `winnow report`.
Reads: run_metrics, quality_results, matches, quarantine, ledger.
Writes: one self-contained HTML page.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["report", *sys.argv[1:]]))
