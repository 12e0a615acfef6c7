"""Entry of a job: `spark-submit jobs/match_documents.py` is `winnow match-documents`; `winnow.jobs.match_documents` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["match-documents", *sys.argv[1:]]))
