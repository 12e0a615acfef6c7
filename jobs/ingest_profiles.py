"""Ingest a profile file: `spark-submit jobs/ingest_profiles.py FILE [--retire-missing]`.

Reads: a CSV or JSONL file, profiles. Writes: profiles, rejected_profiles.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["ingest", "profiles", *sys.argv[1:]]))
