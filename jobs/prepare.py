"""Encode what is new and bring the index up to date, in one session.

Entry: `spark-submit jobs/prepare.py`, the same as `winnow prepare`.
Reads: documents, profiles.
Writes: encoded_documents, path_documents, paths, vocabulary, document_samples, selectivity, patterns, profile_patterns,
branches, envelope_nodes, index_partitions, path_branches.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", *sys.argv[1:]]))
