"""Entry of a job: `spark-submit jobs/join_paths.py` is `winnow join-paths`; `winnow.jobs.join_paths` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["join-paths", *sys.argv[1:]]))
