"""Pairs that nobody decided. They are reported: they are neither matches nor misses."""

from enum import StrEnum
from typing import NamedTuple


class Why(StrEnum):
    """Codes that people filter on: add, never rename."""

    PAIR_DEADLINE = "pair_deadline"
    DOCUMENT_DEADLINE = "document_deadline"
    EVALUATION_FAILED = "evaluation_failed"


class Undecided(NamedTuple):
    reason: Why
    message: str
