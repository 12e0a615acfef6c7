"""Ingest a profile file: `jobs/ingest_profiles.py FILE [--retire-missing]`, also through spark-submit.

Reads: a CSV or JSONL file, profiles. Writes: profiles, rejected_profiles.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["ingest", "profiles", *sys.argv[1:]]))
