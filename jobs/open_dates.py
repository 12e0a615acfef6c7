"""Entry for spark-submit; `winnow.jobs.backfill.open_dates` says what is read."""

import sys

from winnow.cli.scheduled import main

if __name__ == "__main__":
    sys.exit(main(["open-dates"]))
