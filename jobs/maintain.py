"""Keep the tables fit.

Entry: `spark-submit jobs/maintain.py`, the same as `winnow maintain`.
Reads: all tables.
Writes: all tables (files, never rows).
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["maintain", *sys.argv[1:]]))
