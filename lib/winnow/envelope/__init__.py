"""Envelope trees and the batch join over integer sequences (BoXFilter, section 4); knows nothing of XML."""

from winnow.envelope.data_tree import DataTree, build_data_tree, starting_points
from winnow.envelope.invariants import check_invariants, narrow_nodes
from winnow.envelope.join import join, search, search_many
from winnow.envelope.maintain import delete, insert
from winnow.envelope.occurrences import GROUP, Occurrences, Sequences, empty_occurrences, note_sequences
from winnow.envelope.order import SymbolOrder, symbol_order
from winnow.envelope.packed_join import search_group
from winnow.envelope.packed_search import Scratch, new_scratch, search_packed
from winnow.envelope.packed_tree import ANY_COLUMN, FIRST_COLUMN, PackedTree, columns_of, pack_rows
from winnow.envelope.pairs import Counters, Pairs
from winnow.envelope.relation import Relation
from winnow.envelope.rows import TreeRows, from_rows, to_rows
from winnow.envelope.screen import Outlines, could_hold
from winnow.envelope.sequences import ACCESS, ANY, ANY_NEGATIVE, SYMBOL_MAX, SYMBOL_MIN, SequenceSet
from winnow.envelope.subtree import nodes_at, subtree
from winnow.envelope.tree import EnvelopeTree, Parameters

__all__ = [
    "ACCESS",
    "ANY",
    "ANY_COLUMN",
    "ANY_NEGATIVE",
    "FIRST_COLUMN",
    "GROUP",
    "SYMBOL_MAX",
    "SYMBOL_MIN",
    "Counters",
    "DataTree",
    "EnvelopeTree",
    "Occurrences",
    "Outlines",
    "PackedTree",
    "Pairs",
    "Parameters",
    "Relation",
    "Scratch",
    "SequenceSet",
    "Sequences",
    "SymbolOrder",
    "TreeRows",
    "build_data_tree",
    "check_invariants",
    "columns_of",
    "could_hold",
    "delete",
    "empty_occurrences",
    "from_rows",
    "insert",
    "join",
    "narrow_nodes",
    "new_scratch",
    "nodes_at",
    "note_sequences",
    "pack_rows",
    "search",
    "search_group",
    "search_many",
    "search_packed",
    "starting_points",
    "subtree",
    "symbol_order",
    "to_rows",
]
