"""Decide hybrid profiles with libxml2 in bounded time: what is surely quick at once, the rest where it can be ended."""

from winnow.deciding.judge import Judge
from winnow.deciding.limits import DEFAULT_EVALUATION, EvaluationLimits
from winnow.deciding.profile import HybridProfile, hybrid_of
from winnow.deciding.undecided import Undecided, Why

__all__ = ["DEFAULT_EVALUATION", "EvaluationLimits", "HybridProfile", "Judge", "Undecided", "Why", "hybrid_of"]
