"""From XML documents to flat arrays of nodes, paths and values (`Encoder`), and what can be asked of them."""

from winnow.encoding.batch import ENCODING_VERSION, EncodedBatch, Status, concat
from winnow.encoding.encoder import Encoder
from winnow.encoding.paths import DOCUMENT_PATH, PathTable
from winnow.encoding.tree import document_parser, encode_tree
from winnow.encoding.vocabulary import TEXT_LABEL, TEXT_SYMBOL, Vocabulary, kind_of

__all__ = [
    "DOCUMENT_PATH",
    "ENCODING_VERSION",
    "TEXT_LABEL",
    "TEXT_SYMBOL",
    "EncodedBatch",
    "Encoder",
    "PathTable",
    "Status",
    "Vocabulary",
    "concat",
    "document_parser",
    "encode_tree",
    "kind_of",
]
