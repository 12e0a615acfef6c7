"""What a run did: counts, seconds per stage, and the table it prints at the end."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from winnow.errors import DataError


@dataclass
class RunReport:
    """Counts in the order a person reads them, and the seconds each stage took.

    >>> report = RunReport("ingest_documents", {"read": 3, "stored": 2, "quarantined: malformed": 1})
    >>> print(report.render())
    ingest_documents
      read                    3
      stored                  2
      quarantined: malformed  1
    """

    job: str
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    place: str = ""  # of a page, where the job writes one
    is_idle: bool = False  # there was nothing to do, and nothing was written

    def nothing_to_do(self) -> "RunReport":
        self.is_idle = True
        return self

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def render(self) -> str:
        rows = [(name, f"{count:,}") for name, count in self.counts.items()]
        rows += [(f"seconds: {name}", f"{seconds:.1f}") for name, seconds in self.seconds.items()]
        left = max((len(name) for name, _ in rows), default=0)
        right = max((len(value) for _, value in rows), default=0)
        return "\n".join([self.job, *(f"  {name:<{left}}  {value:>{right}}" for name, value in rows)])


def all_of(jobs: Iterable[Iterator[RunReport]]) -> Iterator[RunReport]:
    """Do all of them: data that stops one does not stop the others. What failed is raised at the end."""
    failed: list[DataError] = []
    for job in jobs:
        try:
            yield from job
        except DataError as error:
            failed.append(error)
    if failed:
        words = "; ".join(error.message for error in failed)
        raise DataError(failed[0].code, words, hint=failed[0].hint) from failed[0]
