"""Envelope trees and the batch join over integer sequences (BoXFilter, section 4); knows nothing of XML."""

from winnow.envelope.invariants import check_invariants
from winnow.envelope.join import join, search, search_many
from winnow.envelope.maintain import delete, insert
from winnow.envelope.order import SymbolOrder, symbol_order
from winnow.envelope.pairs import Counters, Pairs
from winnow.envelope.relation import Relation
from winnow.envelope.rows import TreeRows, from_rows, to_rows
from winnow.envelope.screen import Outlines, could_hold
from winnow.envelope.sequences import ANY, ANY_NEGATIVE, SYMBOL_MAX, SYMBOL_MIN, SequenceSet
from winnow.envelope.subtree import nodes_at, subtree
from winnow.envelope.tree import EnvelopeTree, Parameters

__all__ = [
    "ANY",
    "ANY_NEGATIVE",
    "SYMBOL_MAX",
    "SYMBOL_MIN",
    "Counters",
    "EnvelopeTree",
    "Outlines",
    "Pairs",
    "Parameters",
    "Relation",
    "SequenceSet",
    "SymbolOrder",
    "TreeRows",
    "check_invariants",
    "could_hold",
    "delete",
    "from_rows",
    "insert",
    "join",
    "nodes_at",
    "search",
    "search_many",
    "subtree",
    "symbol_order",
    "to_rows",
]
