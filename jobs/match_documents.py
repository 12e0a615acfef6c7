"""Match the documents of one data interval and publish the answers: `spark-submit jobs/match_documents.py --date D`.

Reads: documents, document_sources, profiles. Writes: matches_staged, matches.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
