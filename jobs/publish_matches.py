"""Publish the staged answers of an interval.

Entry: `spark-submit jobs/publish_matches.py`, the same as `winnow publish-matches`.
Reads: matches_staged, matches, profile_sets, ledger.
Writes: matches, deliveries, ledger.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["publish-matches", *sys.argv[1:]]))
