"""How long libxml2 may work on hybrid profiles, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EvaluationLimits:
    """A *pair* is a document and a hybrid profile that its patterns did not rule out."""

    budget: float = 2e9  # nanoseconds, estimated at worst, that a pair may take in this process, where nothing stops it
    pair_seconds: float = 10.0  # of CPU, in a child process
    document_seconds: float = 60.0  # of CPU, for all hybrid profiles of one document
    memory_bytes: int = 4 << 30  # of a child process


DEFAULT_EVALUATION = EvaluationLimits()
