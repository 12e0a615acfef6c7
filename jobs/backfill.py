"""Ask new profiles of history.

Entry: `spark-submit jobs/backfill.py`, the same as `winnow backfill`.
Reads: documents and everything made of them, ledger.
Writes: matches, deliveries, ledger.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["backfill", *sys.argv[1:]]))
