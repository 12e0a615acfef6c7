"""Judge the staged answers of an interval; exit code 65 when they must not be published.

Entry: `spark-submit jobs/audit_matches.py`, the same as `winnow audit`.
Reads: matches_staged and the tables it was made of, matches, ledger, undecided, quarantine.
Writes: quality_results.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["audit", *sys.argv[1:]]))
