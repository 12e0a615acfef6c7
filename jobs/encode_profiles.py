"""Entry of a job: `spark-submit jobs/encode_profiles.py` is `winnow encode-profiles`; `winnow.jobs.encode_profiles` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["encode-profiles", *sys.argv[1:]]))
