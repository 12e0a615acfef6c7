"""Entry of a job: `spark-submit jobs/publish_matches.py` is `winnow publish-matches`; `winnow.jobs.publish_matches` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["publish-matches", *sys.argv[1:]]))
