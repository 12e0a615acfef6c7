"""One exception root. Every error carries a code for machines and says what happened, where, why and what to do."""


class WinnowError(Exception):
    """Base of all errors a user can meet.

    >>> str(WinnowError("lake_missing", "no lake at /x", hint="run `winnow ingest documents` first"))
    'lake_missing: no lake at /x (run `winnow ingest documents` first)'
    """

    exit_code = 1

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        self.code = code
        self.message = message
        self.hint = hint
        super().__init__(f"{code}: {message}" + (f" ({hint})" if hint else ""))


class UsageError(WinnowError):
    """The call's words are off."""

    exit_code = 2


class DataError(WinnowError):
    """The data cannot be worked with; a retry gives the same answer."""

    exit_code = 65


class TransientError(WinnowError):
    """Something outside failed; a retry may succeed."""

    exit_code = 75
