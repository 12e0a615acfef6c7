"""Entry of a job: `spark-submit jobs/maintain.py` is `winnow maintain`; `winnow.jobs.maintain` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["maintain", *sys.argv[1:]]))
