"""Entry for spark-submit, all jobs in one session; `winnow.jobs.run` says what they read and write."""

import sys

from winnow.cli.scheduled import main

if __name__ == "__main__":
    sys.exit(main(["run"]))
