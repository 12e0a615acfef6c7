"""Encode the documents of an interval that are new.

Entry: `spark-submit jobs/encode_documents.py`, the same as `winnow encode-documents`.
Reads: documents.
Writes: vocabulary, paths, document_samples, path_documents, encoded_documents.
"""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["encode-documents", *sys.argv[1:]]))
