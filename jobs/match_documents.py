"""Answer what is still open for an interval.

Entry: `spark-submit jobs/match_documents.py`, the same as `winnow match-documents`.
Reads: encoded_documents, path_documents, documents, profiles, patterns, path_branches, ledger.
Writes: matches_staged, profile_sets, undecided.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["match-documents", *sys.argv[1:]]))
