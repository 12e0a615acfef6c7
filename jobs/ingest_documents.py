"""Entry of a job: `spark-submit jobs/ingest_documents.py` is `winnow ingest documents`; `winnow.jobs.ingest_documents` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["ingest", "documents", *sys.argv[1:]]))
