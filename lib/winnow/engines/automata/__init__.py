"""Engines that read documents node by node (nfa, buff, xfilter), and what all readers share: conditions, strategies."""
