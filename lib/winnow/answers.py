"""What a matcher answers: matches, and by name what it could not take or decide."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Match(NamedTuple):
    document: str | int  # its name, or its number when it came without one
    profile_id: str
    witness: str  # a node that proves it, such as /order/item[2]/@price


class RejectedProfile(NamedTuple):
    profile_id: str
    code: str
    message: str
    column: int = 0


class RefusedDocument(NamedTuple):
    document: str | int
    reason: str
    message: str
    line: int = 0
    column: int = 0


class UndecidedPair(NamedTuple):
    """Neither a match nor a miss: libxml2 was stopped, or could not say."""

    document: str | int
    profile_id: str
    reason: str
    message: str


class Answers(Iterator[Match]):
    """The matches of some documents, found as they are asked for; and what is no answer: `refused`, `undecided`.

    Both lists are whole when the last match was taken.

    >>> from winnow import Matcher
    >>> answers = Matcher([("p", "//b")]).match([("x", b"<a><b/></a>"), ("y", b"<a>")])
    >>> answers.to_arrow().to_pylist(), [row.reason for row in answers.refused]
    ([{'document': 'x', 'profile_id': 'p', 'witness': '/a/b[1]'}], ['malformed'])
    """

    def __init__(
        self, matches: Iterator[Match], refused: list[RefusedDocument], undecided: list[UndecidedPair]
    ) -> None:
        self._matches = matches
        self.refused = refused
        self.undecided = undecided

    def __next__(self) -> Match:
        return next(self._matches)

    def to_arrow(self) -> "pa.Table":
        """Returns the matches that were not taken yet; documents without names are numbers, if all are."""
        import pyarrow as pa

        rows = list(self)
        documents = [row.document for row in rows]
        is_numbered = bool(documents) and all(isinstance(document, int) for document in documents)
        columns = {
            "document": pa.array(
                documents if is_numbered else map(str, documents), pa.int64() if is_numbered else pa.string()
            ),
            "profile_id": pa.array([row.profile_id for row in rows], pa.string()),
            "witness": pa.array([row.witness for row in rows], pa.string()),
        }
        return pa.table(columns)

    def to_pandas(self) -> "pd.DataFrame":
        """Returns the same as a data frame of pandas, which must be installed."""
        return self.to_arrow().to_pandas()
