"""What is to be asked of the documents of one interval, and how the answers become published ones."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from winnow.ledger.runs import Run


class Mode(StrEnum):
    """How staged answers become published ones."""

    REPLACE = "replace"  # they are all there is
    APPEND = "append"  # they come to what is published
    REWRITE = "rewrite"  # they come to what is still required of it


@dataclass(frozen=True)
class Change:
    """Profiles after a revision, as far as an interval is concerned."""

    added: int  # came, or are to be asked again because where they are valid or go to has changed
    withdrawn: int  # were asked before and are no longer as they were


@dataclass(frozen=True)
class Plan:
    mode: Mode
    new_batches: tuple[str, ...]  # are asked all profiles
    asked_since: int | None  # the others are asked the profiles that came after this revision; None: none
    batches: tuple[str, ...]  # what will have been answered,
    revision: int  # up to this revision of the profiles
    documents: int
    base_run: str | None

    @property
    def is_done(self) -> bool:
        return self.mode is Mode.APPEND and not self.new_batches and self.asked_since is None


def required_on(date: dt.date) -> str:
    """Returns, as an SQL condition, which rows of `profiles` an interval is asked.

    >>> print(required_on(dt.date(2026, 11, 16)))
    state = 'active' AND coalesce(valid_from <= DATE'2026-11-16', true) AND coalesce(DATE'2026-11-16' < valid_to, true)
    """
    day = f"DATE'{date}'"
    return f"state = 'active' AND coalesce(valid_from <= {day}, true) AND coalesce({day} < valid_to, true)"


def plan_interval(
    ledger: Run | None,
    batches: Mapping[str, int],
    change: Change,
    *,
    revision: int,
    full: bool = False,
    only: bool = False,
) -> Plan:
    """Decides what is asked of the batches that an interval has, each with its number of documents.

    `change` is what became of the profiles between the ledger's revision and `revision`. Everything is asked again
    when nothing was published, when it is wanted (`full`), or when documents that were answered are no longer there.
    With `only` some of the profiles are asked: their answers are published, and the ledger stays where it was.

    >>> ledger = Run("r1", "published", None, frozenset(["a"]), 3)
    >>> plan_interval(ledger, {"a": 10, "b": 5}, Change(0, 0), revision=3).new_batches
    ('b',)
    >>> plan_interval(ledger, {"a": 10}, Change(added=2, withdrawn=0), revision=5).asked_since
    3
    >>> plan_interval(ledger, {"a": 10}, Change(0, 0), revision=5).is_done
    True
    """
    names, documents = tuple(sorted(batches)), sum(batches.values())
    if ledger is None or full or not ledger.batches <= batches.keys():
        mode, new, since = Mode.REPLACE, names, None
    else:
        new = tuple(name for name in names if name not in ledger.batches)
        since = ledger.revision if change.added and ledger.batches else None
        asks = bool(new) or since is not None
        # A run of only some profiles may have published some of these answers before.
        rewrites = change.withdrawn or (asks and ledger.only is not None)
        mode = Mode.REWRITE if rewrites else Mode.APPEND
    base = ledger.run_id if ledger else None
    if only:
        kept = ledger.batches if ledger and mode is not Mode.REPLACE else frozenset()
        answered = ledger.revision if ledger and mode is not Mode.REPLACE else 0
        return Plan(mode, new, since, tuple(sorted(kept)), answered, documents, base)
    return Plan(mode, new, since, names, revision, documents, base)
