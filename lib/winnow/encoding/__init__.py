"""From XML documents to flat arrays of nodes, paths and values (`Encoder`), and what can be asked of them."""

from winnow.encoding.batch import ENCODING_VERSION, EncodedBatch, Status, concat
from winnow.encoding.encoder import Encoder
from winnow.encoding.location import locate, locations
from winnow.encoding.numbers import parse_number
from winnow.encoding.paths import DOCUMENT_PATH, PathTable
from winnow.encoding.sequences import (
    ANY_ATTRIBUTE,
    ANY_ELEMENT,
    branch_sequence,
    document_sequences,
    path_sequence,
)
from winnow.encoding.tree import encode_tree
from winnow.encoding.vocabulary import TEXT_LABEL, TEXT_SYMBOL, Vocabulary, kind_of

__all__ = [
    "ANY_ATTRIBUTE",
    "ANY_ELEMENT",
    "DOCUMENT_PATH",
    "ENCODING_VERSION",
    "TEXT_LABEL",
    "TEXT_SYMBOL",
    "EncodedBatch",
    "Encoder",
    "PathTable",
    "Status",
    "Vocabulary",
    "branch_sequence",
    "concat",
    "document_sequences",
    "encode_tree",
    "kind_of",
    "locate",
    "locations",
    "parse_number",
    "path_sequence",
]
