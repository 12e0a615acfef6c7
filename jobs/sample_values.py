"""Estimate how rare labels and values are, from a sample of all documents.

Entry: `spark-submit jobs/sample_values.py`, the same as `winnow sample-values`.
Reads: document_samples.
Writes: selectivity.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["sample-values", *sys.argv[1:]]))
