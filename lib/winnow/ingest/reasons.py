"""Reason codes of refused documents and profiles. They are data that people filter on: add, never rename."""

from enum import StrEnum


class Reason(StrEnum):
    """Why a document is in `quarantine`."""

    EMPTY = "empty"
    MALFORMED = "malformed"
    OVERSIZED = "oversized"
    TOO_DEEP = "too_deep"
    TOO_MANY_NODES = "too_many_nodes"
    LONG_NAMES = "long_names"
    DOCTYPE_ENTITIES = "doctype_entities"
    ENTITY_BOMB = "entity_bomb"
    UNDEFINED_ENTITY = "undefined_entity"
    UNSUPPORTED_ENCODING = "unsupported_encoding"
    INVALID_ENCODING = "invalid_encoding"
    CORRUPT_ARCHIVE = "corrupt_archive"
    NESTED_ARCHIVE = "nested_archive"
    ARCHIVE_BOMB = "archive_bomb"
    TRUNCATED_RECORD = "truncated_record"
    NO_RECORDS = "no_records"
    UNREADABLE = "unreadable"
    OUTSIDE_ROOT = "outside_root"


class ProfileReason(StrEnum):
    """Why a profile row is in `rejected_profiles`."""

    NOT_JSON = "not_json"
    NOT_CSV = "not_csv"
    MISSING_FIELD = "missing_field"
    BAD_FIELD = "bad_field"
    UNKNOWN_FIELD = "unknown_field"
    DUPLICATE_ID = "duplicate_id"
    TOO_LONG = "too_long"
    NOT_UTF8 = "not_utf8"
