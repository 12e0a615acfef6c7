"""Entry of a job: `spark-submit jobs/encode_documents.py` is `winnow encode-documents`; `winnow.jobs.encode_documents` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["encode-documents", *sys.argv[1:]]))
