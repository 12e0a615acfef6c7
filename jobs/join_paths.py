"""Join what is new, paths and branches.

Entry: `spark-submit jobs/join_paths.py`, the same as `winnow join-paths`.
Reads: paths, vocabulary, envelope_nodes, index_partitions.
Writes: path_branches.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["join-paths", *sys.argv[1:]]))
