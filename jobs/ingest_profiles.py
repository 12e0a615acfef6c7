"""Entry of a job: `spark-submit jobs/ingest_profiles.py` is `winnow ingest profiles`; `winnow.jobs.ingest_profiles` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["ingest", "profiles", *sys.argv[1:]]))
