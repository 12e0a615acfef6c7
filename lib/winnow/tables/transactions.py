"""Exactly-once writes: what a commit carries, and which conflicts are tried again."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from winnow.errors import TransientError

ATTEMPTS = 8
_FIRST_PAUSE = 0.2  # seconds
_CONFLICTS = (
    "table_moved",
    "DELTA_CONCURRENT",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
    "ConcurrentAppendException",
    "ConcurrentDeleteReadException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "MetadataChangedException",
    "ProtocolChangedException",
)
Result = TypeVar("Result")


@dataclass(frozen=True)
class Transaction:
    """Names a write by what it is, so that the same write is made once however often it is tried.

    Delta skips a write whose name was committed with this number or a later one. The name must say all that decides
    which rows are written; two writes with the same name and number have the same rows.
    """

    name: str
    number: int = 1

    @property
    def options(self) -> dict[str, str]:
        return {"txnAppId": f"winnow/{self.name}", "txnVersion": str(self.number)}


def retried(commit: Callable[[], Result], *, table: str) -> Result:
    """Makes a write again, from what is there by then, for as long as Delta reports that another one came first."""
    for attempt in range(ATTEMPTS):
        try:
            return commit()
        except Exception as error:
            if not is_conflict(error):
                raise
            last = error
            time.sleep(_FIRST_PAUSE * 2**attempt * random.uniform(0.5, 1))
    raise TransientError(
        "table_conflict",
        f"table {table} was changed by others {ATTEMPTS} times while this write was tried",
        hint="start again when less is written to it: nothing was written",
    ) from last


def is_conflict(error: BaseException) -> bool:
    text = f"{type(error).__name__}: {error}"
    return any(word in text for word in _CONFLICTS)
