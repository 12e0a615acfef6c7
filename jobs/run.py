"""Entry of a job: `spark-submit jobs/run.py` is `winnow run`; `winnow.jobs.run` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
