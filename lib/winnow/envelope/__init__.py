"""Envelope trees and the batch join over integer sequences (BoXFilter, section 4); knows nothing of XML."""

from winnow.envelope.join import join, search, search_many
from winnow.envelope.pairs import Counters, Pairs
from winnow.envelope.relation import Relation
from winnow.envelope.sequences import ANY, ANY_NEGATIVE, SYMBOL_MAX, SYMBOL_MIN, SequenceSet
from winnow.envelope.tree import EnvelopeTree, Parameters

__all__ = [
    "ANY",
    "ANY_NEGATIVE",
    "SYMBOL_MAX",
    "SYMBOL_MIN",
    "Counters",
    "EnvelopeTree",
    "Pairs",
    "Parameters",
    "Relation",
    "SequenceSet",
    "join",
    "search",
    "search_many",
]
