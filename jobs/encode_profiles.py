"""Encode the profile versions that are new.

Entry: `spark-submit jobs/encode_profiles.py`, the same as `winnow encode-profiles`.
Reads: profiles.
Writes: patterns, profile_patterns, vocabulary, branches.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["encode-profiles", *sys.argv[1:]]))
