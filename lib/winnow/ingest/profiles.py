"""Read a profile file (CSV or JSONL, plain or .gz) into valid rows and rejected rows; nothing is dropped."""

import csv
import datetime as dt
import difflib
import gzip
import io
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa
from tqdm import tqdm

from winnow.errors import DataError, UsageError
from winnow.ingest.reasons import ProfileReason

PROFILES = pa.schema(
    [
        ("profile_id", pa.string()),
        ("xpath", pa.string()),
        ("namespaces", pa.map_(pa.string(), pa.string())),
        ("ordered", pa.bool_()),
        ("subscriber", pa.string()),
        ("destination", pa.string()),
        ("valid_from", pa.date32()),
        ("valid_to", pa.date32()),
    ]
)
REJECTED = pa.schema(
    [
        ("source", pa.string()),
        ("row_number", pa.int64()),
        ("profile_id", pa.string()),
        ("reason", pa.string()),
        ("column", pa.int64()),
        ("message", pa.string()),
        ("raw", pa.string()),
    ]
)
# A profile and where the file holds it, for those who may yet refuse it.
PROFILE_ROWS = pa.schema([*PROFILES, ("row_number", pa.int64()), ("raw", pa.string())])
REQUIRED = ("profile_id", "xpath")
MAX_FIELDS = 50  # that are named
_KNOWN = frozenset(PROFILES.names)
MAX_ID = 256
MAX_XPATH = 100_000
RAW_KEPT = 2_000
_TRUE = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}


class ProfileFile(NamedTuple):
    profiles: pa.Table
    rejected: pa.Table
    ignored_fields: dict[str, int]  # unknown fields and how many rows had them: reported, never silent


class _FaultError(Exception):
    def __init__(self, reason: ProfileReason, message: str, column: int = 0, profile_id: str | None = None) -> None:
        self.reason, self.message, self.column, self.profile_id = reason, message, column, profile_id


def read_profiles(path: str) -> ProfileFile:
    """Every row of the file is either in `profiles` or in `rejected`."""
    return _read(path, PROFILES)


def read_profile_rows(path: str, source: str) -> ProfileFile:
    """The same, and `profiles` say in which row each is and how it reads. `source` is what the file is known as."""
    return _read(path, PROFILE_ROWS, source)


def require_profile_file(path: str) -> str:
    """Returns the kind of a profile file, .csv, .jsonl or .ndjson.

    Raises:
        UsageError: there is no such file, or its name says that it is something else.
    """
    file = Path(path)
    if not file.is_file():
        raise UsageError("no_input", f"there is no profile file {path!r}", hint="give a .csv or .jsonl file")
    kinds = [suffix.lower() for suffix in file.suffixes if suffix.lower() in {".csv", ".jsonl", ".ndjson"}]
    if not kinds:
        raise UsageError("unknown_format", f"{file.name} is neither CSV nor JSONL", hint="name it .csv or .jsonl (.gz)")
    return kinds[-1]


def other_columns(file: Path, found: Iterable[str]) -> UsageError:
    """Returns what is said of a file whose columns are those of something else."""
    named = [_printable(name) or "''" for name in found]
    shown = ", ".join(named[:MAX_FIELDS]) + (", …" if len(named) > MAX_FIELDS else "")
    optional = ", ".join(name for name in PROFILES.names if name not in REQUIRED)
    return UsageError(
        "other_columns",
        f"{file.name} has the columns {shown or 'of an empty file'}; it needs {' and '.join(REQUIRED)}",
        hint=f"rename them; it may also have {optional}",
    )


def _read(path: str, schema: pa.Schema, source: str = "") -> ProfileFile:
    kind, file = require_profile_file(path), Path(path)
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    with opener(file, "rb") as stream:
        rows = _csv_rows(stream, file) if kind == ".csv" else _json_rows(stream)
        shown = tqdm(rows, desc="profiles", unit=" rows", delay=2.0, mininterval=0.5 if sys.stderr.isatty() else 15.0)
        try:
            return _collect(shown, file, schema, source or str(file.absolute()))
        except (EOFError, OSError, zlib.error) as error:
            # All or nothing: with half of a set, the other half would look like missing.
            raise DataError("unreadable", f"{file.name} cannot be read: {error}", hint="nothing was taken") from error


def _collect(
    rows: Iterable[tuple[int, str, dict[str, Any] | _FaultError]], file: Path, schema: pa.Schema, source: str
) -> ProfileFile:
    fields: Counter[str] = Counter()
    good: dict[str, tuple[Any, ...]] = {}
    first_row: dict[str, int] = {}
    bad: list[tuple[Any, ...]] = []
    ignored: Counter[str] = Counter()
    for number, raw, row in rows:
        try:
            if isinstance(row, _FaultError):
                raise row
            fields.update(row.keys() if len(fields) < MAX_FIELDS else ())
            profile = _profile(row, ignored)
            if profile[0] in good:
                raise _FaultError(ProfileReason.DUPLICATE_ID, f"profile_id is already in row {first_row[profile[0]]}")
            good[profile[0]] = (*profile, number, raw[:RAW_KEPT])[: len(schema)]
            first_row[profile[0]] = number
        except _FaultError as fault:
            name = row.get("profile_id") if isinstance(row, dict) else row.profile_id
            name = _printable(name) if isinstance(name, str) else None
            bad.append((source, number, name, str(fault.reason), fault.column, fault.message, raw[:RAW_KEPT]))
    if fields and not good and not fields.keys() & {*REQUIRED}:
        raise other_columns(file, fields)
    return ProfileFile(_table(list(good.values()), schema), _table(bad, REJECTED), dict(ignored))


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table([pa.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def _json_rows(stream: IO[bytes]) -> Iterator[tuple[int, str, dict[str, Any] | _FaultError]]:
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        raw = line.decode("utf-8", "replace").rstrip("\r\n")
        try:
            row = _JSON.decode(line.decode(json.detect_encoding(line), "surrogatepass"))
        except UnicodeDecodeError as error:
            yield number, raw, _FaultError(ProfileReason.NOT_UTF8, "the row is not UTF-8", error.start + 1)
        except (ValueError, RecursionError) as error:
            words = "nested too deeply" if isinstance(error, RecursionError) else getattr(error, "msg", str(error))
            yield number, raw, _FaultError(ProfileReason.NOT_JSON, words, getattr(error, "colno", 0))
        else:
            if not isinstance(row, dict):
                row = _FaultError(ProfileReason.NOT_JSON, "the row is not a JSON object")
            elif isinstance(row, _Ambiguous):
                row = _FaultError(ProfileReason.BAD_FIELD, row.words, profile_id=row.profile_id)
            yield number, raw, row


class _Ambiguous(dict[str, Any]):
    """An object with a key twice: JSON lets the last one count, but which one was meant nobody knows."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._twice = sorted(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)

    @property
    def words(self) -> str:
        return f"{', '.join(repr(_printable(key)) for key in self._twice)} is there twice"

    @property
    def profile_id(self) -> str | None:
        found = None if "profile_id" in self._twice else self.get("profile_id")
        return found if isinstance(found, str) else None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    return row if len(row) == len(pairs) else _Ambiguous(pairs)


_JSON = json.JSONDecoder(object_pairs_hook=_object)


def _csv_rows(stream: IO[bytes], file: Path) -> Iterator[tuple[int, str, dict[str, Any] | _FaultError]]:
    # Bytes that are not UTF-8 become surrogates: only their own row is rejected.
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    csv.field_size_limit(MAX_XPATH * 4)
    reader = csv.reader(text, strict=True)
    header = [name.strip() for name in next(reader, [])]
    if any(name not in header for name in REQUIRED):
        raise other_columns(file, header)
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise UsageError("bad_header", f"the CSV header {header} holds {twice} twice", hint="keep one of them")
    number = 1
    while True:
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, "", _FaultError(ProfileReason.NOT_CSV, f"{error} (line {reader.line_num})")
            continue
        if not cells:
            continue
        raw = ",".join(cells)
        if len(cells) != len(header):
            words = f"{len(cells)} cells, the header has {len(header)}"
            yield number, _printable(raw), _FaultError(ProfileReason.NOT_CSV, words)
        elif raw != _printable(raw):
            yield number, _printable(raw), _FaultError(ProfileReason.NOT_UTF8, "the row is not UTF-8")
        else:
            yield number, raw, _from_csv(dict(zip(header, cells, strict=True)))


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _from_csv(cells: dict[str, str]) -> dict[str, Any] | _FaultError:
    row: dict[str, Any] = {name: value for name, value in cells.items() if value != ""}
    profile_id = row.get("profile_id")
    try:
        if "namespaces" in row:
            row["namespaces"] = _JSON.decode(row["namespaces"])
    except (ValueError, RecursionError) as error:
        words = f"namespaces is not a JSON object: {error}"
        return _FaultError(ProfileReason.BAD_FIELD, words, profile_id=profile_id)
    if "ordered" in row:
        value = _TRUE.get(row["ordered"].strip().lower())
        if value is None:
            words = f"ordered is {row['ordered']!r}, not true or false"
            return _FaultError(ProfileReason.BAD_FIELD, words, profile_id=profile_id)
        row["ordered"] = value
    return row


def _profile(row: dict[str, Any], ignored: Counter[str]) -> tuple[Any, ...]:
    for name in row.keys() - _KNOWN:
        near = difflib.get_close_matches(name, _KNOWN, n=1, cutoff=0.8)
        if near:  # a misspelt option that went unnoticed would change the profile's meaning
            raise _FaultError(ProfileReason.UNKNOWN_FIELD, f"field {name!r} is unknown; did you mean {near[0]!r}?")
        ignored[_printable(name)] += 1
    profile_id, xpath = _text(row, "profile_id", MAX_ID), _text(row, "xpath", MAX_XPATH)
    if profile_id is None or xpath is None:
        lacking = "profile_id" if profile_id is None else "xpath"
        there = ", ".join(map(_printable, sorted(row))) or "nothing"
        raise _FaultError(ProfileReason.MISSING_FIELD, f"{lacking} is missing; the row has {there}"[:RAW_KEPT])
    namespaces = {} if row.get("namespaces") is None else row["namespaces"]
    if not isinstance(namespaces, dict) or not all(isinstance(uri, str) for uri in namespaces.values()):
        raise _FaultError(ProfileReason.BAD_FIELD, "namespaces is not an object of prefix: URI")
    if isinstance(namespaces, _Ambiguous):
        raise _FaultError(ProfileReason.BAD_FIELD, f"prefix {namespaces.words} in namespaces")
    for text in (*namespaces, *namespaces.values()):
        _check_unicode("namespaces", text)
    ordered = row.get("ordered", False)
    if not isinstance(ordered, bool):
        raise _FaultError(ProfileReason.BAD_FIELD, f"ordered is {ordered!r}, not true or false")
    valid_from, valid_to = _date(row, "valid_from"), _date(row, "valid_to")
    if valid_from and valid_to and valid_from >= valid_to:
        raise _FaultError(ProfileReason.BAD_FIELD, f"valid_from {valid_from} is not before valid_to {valid_to}")
    subscriber, destination = _text(row, "subscriber", MAX_ID), _text(row, "destination", MAX_XPATH)
    pairs = sorted(namespaces.items())
    return profile_id, xpath, pairs, ordered, subscriber, destination, valid_from, valid_to


def _text(row: dict[str, Any], name: str, limit: int) -> str | None:
    value = row.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _FaultError(ProfileReason.BAD_FIELD, f"{name} is {type(value).__name__}, not text")
    if len(value) > limit:
        raise _FaultError(
            ProfileReason.TOO_LONG, f"{name} has {len(value)} characters, the limit is {limit}", limit + 1
        )
    _check_unicode(name, value)
    return value if value.strip() else None


def _check_unicode(name: str, value: str) -> None:
    """JSON can write half of a surrogate pair, which is no character and fits in no table."""
    if not value.isascii() and value != _printable(value):
        raise _FaultError(ProfileReason.NOT_UTF8, f"{name} holds half of a surrogate pair")


def _date(row: dict[str, Any], name: str) -> dt.date | None:
    value = row.get(name)
    if value is None or value == "":
        return None
    try:
        return dt.date.fromisoformat(value)
    except (TypeError, ValueError):
        raise _FaultError(ProfileReason.BAD_FIELD, f"{name} is {value!r}, not a date like 2026-11-16") from None
