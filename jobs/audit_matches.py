"""Entry of a job: `spark-submit jobs/audit_matches.py` is `winnow audit`; `winnow.jobs.audit_matches` says what it reads and writes."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["audit", *sys.argv[1:]]))
