"""One exception root. Every error carries a code for machines and says what happened, where, why and what to do."""

import re

_IN_TRACE = re.compile(r"^winnow\.errors\.(\w+): (\w+): (.*)$", re.MULTILINE)
_END_OF_TRACE = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(\S.*)$", re.MULTILINE)


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


def worker_error(error: BaseException) -> WinnowError | None:
    """Returns the error that a worker raised, from the trace in which Spark reports it; None if it is none of ours.

    >>> trace = "Py4JJavaError: …\\nwinnow.errors.DataError: vocabulary_gap: symbol 7 is missing\\n\\tat org.apache…"
    >>> worker_error(RuntimeError(trace))
    DataError('vocabulary_gap: symbol 7 is missing')
    """
    found = _IN_TRACE.search(str(error))
    kind = next((kind for kind in _KINDS if found and kind.__name__ == found[1]), None)
    return kind(found[2], found[3]) if found and kind else None


def one_line(error: BaseException) -> str:
    """Returns what happened in one line; of an error in a worker, the line with which its Python trace ends.

    >>> trace = "Traceback (most recent call last):\\n  File …\\nKeyError: 'x'\\n\\tat org.apache…"
    >>> one_line(RuntimeError("\\n  See the trace:\\n" + trace))
    "KeyError: 'x'"
    >>> one_line(ValueError(" first\\nsecond")), one_line(ValueError())
    ('first', 'no words')
    """
    text = str(error)
    trace = _END_OF_TRACE.search(text)
    line = trace[1] if trace else next(filter(str.strip, text.split("\n")), "no words")
    return " ".join(line.split())


_KINDS = (WinnowError, UsageError, DataError, TransientError)
