"""Entry of a job: `spark-submit jobs/backfill.py` is `winnow backfill`; `winnow.jobs.backfill` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["backfill", *sys.argv[1:]]))
