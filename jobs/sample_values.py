"""Entry of a job: `spark-submit jobs/sample_values.py` is `winnow sample-values`; `winnow.jobs.sample_values` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["sample-values", *sys.argv[1:]]))
