"""Bring the envelope trees up to date with the branches of the active profiles.

Entry: `spark-submit jobs/build_index.py`, the same as `winnow build-index`.
Reads: profiles, profile_patterns, patterns, branches, vocabulary.
Writes: envelope_nodes, index_partitions.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["build-index", *sys.argv[1:]]))
