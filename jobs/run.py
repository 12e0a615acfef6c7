"""All jobs of an interval in one session.

Entry: `spark-submit jobs/run.py`, the same as `winnow run`.
Reads: documents, profiles.
Writes: everything made of them.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
