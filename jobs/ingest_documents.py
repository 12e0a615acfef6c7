"""Ingest XML documents of one data interval: `spark-submit jobs/ingest_documents.py PATH... --date D`.
Reads: files, directories, globs and archives. Writes: documents, document_sources, quarantine.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["ingest", "documents", *sys.argv[1:]]))
