"""Entry for spark-submit; `winnow.jobs.build_sequence_trees` says what the job reads and writes."""

import sys

from winnow.cli.scheduled import main

if __name__ == "__main__":
    sys.exit(main(["build-sequence-trees"]))
