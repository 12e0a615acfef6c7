"""Entry of a job: `spark-submit jobs/prepare.py` is `winnow prepare`; `winnow.jobs.run` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", *sys.argv[1:]]))
