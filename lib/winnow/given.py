"""What a matcher is given: documents and profiles in the forms in which people have them, checked."""

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from winnow.answers import RefusedDocument, RejectedProfile
from winnow.errors import UsageError
from winnow.ingest.reasons import Reason

if TYPE_CHECKING:
    pass

Content: TypeAlias = bytes | bytearray | memoryview | str | os.PathLike[str] | IO[bytes] | IO[str]
Document: TypeAlias = Content | tuple[str | int, Content]
Namespaces: TypeAlias = Mapping[str, str] | None
ProfileTuple: TypeAlias = tuple[str, str] | tuple[str, str, Namespaces] | tuple[str, str, Namespaces, bool | None]
Profile: TypeAlias = ProfileTuple | Mapping[str, Any]


class ArrowStream(Protocol):
    """A table of Arrow, pandas, Polars or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Profiles: TypeAlias = Iterable[Profile] | ArrowStream | str | os.PathLike[str]
Row: TypeAlias = tuple[str, str, Namespaces, bool]

_FIELDS = ("profile_id", "xpath", "namespaces", "ordered")
_IGNORED = {"subscriber", "destination", "valid_from", "valid_to"}  # of a profile file: they say nothing of its meaning
_DECLARED = re.compile(r"""^(\ufeff?<\?xml[^>]*?\sencoding\s*=\s*)(["'])[^"']*\2""")


def read_documents(
    documents: Iterable[Document], refuse: Callable[[RefusedDocument], None]
) -> Iterator[tuple[str | int, bytes]]:
    """Yields names and bytes; a file that cannot be read is refused.

    Raises:
        UsageError: what is given is no document.
    """
    if isinstance(documents, (str, bytes, bytearray, memoryview, os.PathLike, io.IOBase)):
        raise UsageError(
            "one_document", f"documents is one {type(documents).__name__}", hint="give a list of documents"
        )
    for number, document in enumerate(documents):
        if isinstance(document, bytes):  # most are
            yield number, document
            continue
        name: str | int
        if isinstance(document, tuple):
            if len(document) != 2 or not isinstance(document[0], (str, int)):
                raise _no_document(number, document)
            name, given = document
            if isinstance(given, bytes):
                yield name, given
                continue
        else:
            name, given = _name_of(document, number), document
        try:
            content = _content(given)
        except OSError as error:
            refuse(RefusedDocument(name, Reason.UNREADABLE.value, error.strerror or str(error)))
            continue
        if content is None:
            raise _no_document(number, given)
        yield name, content


def _name_of(document: Content, number: int) -> str | int:
    if isinstance(document, os.PathLike):
        return os.fspath(document)
    name = getattr(document, "name", None)
    return name if isinstance(name, str) else number


def _content(given: Content) -> bytes | None:
    if isinstance(given, (bytes, bytearray, memoryview)):
        return bytes(given)
    if isinstance(given, str):
        return encoded(given)
    if isinstance(given, os.PathLike):
        return Path(given).read_bytes()
    if hasattr(given, "read"):
        return _content(given.read())
    return None


def encoded(text: str) -> bytes:
    """Returns a document that is given as characters: they are known, whatever encoding it declares.

    >>> encoded("<?xml version='1.0' encoding='latin-1'?><a>é</a>").decode()
    "<?xml version='1.0' encoding='UTF-8'?><a>é</a>"
    """
    return _DECLARED.sub(r"\1\2UTF-8\2", text, count=1).encode("utf-8", "surrogatepass")


def _no_document(number: int, given: object) -> UsageError:
    kind = type(given[1] if isinstance(given, tuple) and len(given) == 2 else given).__name__
    hint = "give bytes, str, a path or a file object, or (name, one of these)"
    return UsageError("bad_document", f"document {number} is of type {kind}", hint=hint)


def read_profiles_of(profiles: Profiles, reject: Callable[[RejectedProfile], None]) -> Iterator[Row]:
    """Yields id, XPath, namespaces and order of each profile; rows of a file that cannot be read are rejected.

    Raises:
        UsageError: what is given is no profile, or lacks what one needs.
    """
    if isinstance(profiles, (str, os.PathLike)):
        return _of_file(os.fspath(profiles), reject)
    if hasattr(profiles, "__arrow_c_stream__"):
        return _of_table(profiles)
    return (_row(number, profile) for number, profile in enumerate(profiles))


def _of_file(path: str, reject: Callable[[RejectedProfile], None]) -> Iterator[Row]:
    from winnow.ingest.profiles import read_profiles

    file = read_profiles(path)
    for bad in file.rejected.to_pylist():
        name = bad["profile_id"] or f"row {bad['row_number']}"
        reject(RejectedProfile(name, bad["reason"], bad["message"], bad["column"] or 0))
    return (_row(number, profile) for number, profile in enumerate(file.profiles.to_pylist()))


def _of_table(given: Any) -> Iterator[Row]:
    import pyarrow as pa

    table: pa.Table = pa.table(given)
    lacking = [name for name in _FIELDS[:2] if name not in table.column_names]
    if lacking:
        raise _lacks("the table has the columns", table.column_names)
    wanted = table.select([name for name in _FIELDS if name in table.column_names])
    batches = (batch.to_pylist() for batch in wanted.to_batches(max_chunksize=1 << 15))
    return (_row(number, profile) for number, profile in enumerate(chain.from_iterable(batches)))


def _row(number: int, profile: Any) -> Row:
    if isinstance(profile, Mapping):
        unknown = profile.keys() - {*_FIELDS, *_IGNORED}
        if unknown or not (profile.keys() >= {*_FIELDS[:2]}):
            raise _lacks(f"profile {number} has the fields", [str(name) for name in profile])
        values = tuple(profile.get(name) for name in _FIELDS)
    elif isinstance(profile, tuple) and 2 <= len(profile) <= len(_FIELDS):
        values = (*profile, None, None)[: len(_FIELDS)]
    else:
        hint = "give (profile_id, xpath), (profile_id, xpath, namespaces, ordered), or a mapping with these names"
        raise UsageError("bad_profile", f"profile {number} is {_shown(profile)}", hint=hint)
    profile_id, xpath, namespaces, ordered = cast("tuple[Any, Any, Any, Any]", values)
    if isinstance(namespaces, list):  # as Arrow gives a map
        namespaces = dict(namespaces)
    for name, value, is_right, wanted in (
        ("profile_id", profile_id, isinstance(profile_id, str), "text"),
        ("xpath", xpath, isinstance(xpath, str), "text"),
        ("namespaces", namespaces, namespaces is None or _is_texts(namespaces), "a mapping of prefix to URI"),
        ("ordered", ordered, ordered is None or isinstance(ordered, bool), "true or false"),
    ):
        if not is_right:
            raise UsageError("bad_profile", f"profile {number}: {name} is {_shown(value)}, not {wanted}")
    return profile_id, xpath, namespaces, bool(ordered)


def _is_texts(namespaces: object) -> bool:
    return isinstance(namespaces, Mapping) and all(
        isinstance(text, str) for pair in namespaces.items() for text in pair
    )


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:60] + '…'} of type {type(value).__name__}"


def _lacks(what: str, names: list[str]) -> UsageError:
    return UsageError(
        "bad_profile",
        f"{what} {', '.join(names) or 'of nothing'}; it needs profile_id and xpath",
    )
