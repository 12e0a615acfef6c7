"""Entry of a job: `spark-submit jobs/build_index.py` is `winnow build-index`; `winnow.jobs.build_index` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["build-index", *sys.argv[1:]]))
