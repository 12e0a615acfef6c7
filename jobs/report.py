"""Entry of a job: `spark-submit jobs/report.py` is `winnow report`; `winnow.report` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["report", *sys.argv[1:]]))
