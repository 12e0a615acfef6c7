"""One document, or one profile, of a lake; and what waits there, by reason."""

from typing import NamedTuple

from winnow.errors import UsageError
from winnow.query.database import connect
from winnow.query.stored_tables import open_table, require_table
from winnow.tables.lake import Lake


class StoredProfile(NamedTuple):
    xpath: str
    namespaces: dict[str, str]
    ordered: bool


def stored_document(lake: Lake, document_id: str) -> bytes:
    """Returns the bytes of a document.

    Raises:
        UsageError: the lake does not have it.
    """
    require_table(lake, "documents")
    rows = connect(lake).execute("SELECT content FROM documents WHERE document_id = $1", [document_id]).fetchall()
    if not rows:
        hint = "`winnow query` shows ids: sha256 of the bytes"
        raise UsageError("unknown_document", f"there is no document {document_id} in {lake.location}", hint=hint)
    return bytes(rows[0][0])


def stored_profile(lake: Lake, profile_id: str) -> StoredProfile:
    """Returns the newest version of a profile, active or not.

    Raises:
        UsageError: the lake does not have it.
    """
    require_table(lake, "profiles")
    query = """
        SELECT xpath, namespaces, ordered FROM profiles WHERE profile_id = $1 ORDER BY profile_version DESC LIMIT 1
    """
    rows = connect(lake).execute(query, [profile_id]).fetchall()
    if not rows:
        hint = "with a document of the lake, --profile is the id of one of its profiles"
        raise UsageError("unknown_profile", f"there is no profile {profile_id} in {lake.location}", hint=hint)
    xpath, namespaces, ordered = rows[0]
    return StoredProfile(xpath, dict(namespaces or {}), bool(ordered))


def reasons_of(lake: Lake, table: str) -> dict[str, int]:
    """Returns how many rows of a table have which reason, the most frequent first; none if there is no table."""
    if open_table(lake, table) is None:
        return {}
    query = f"SELECT reason, count(*) FROM {table} GROUP BY reason ORDER BY count(*) DESC, reason"
    return dict(connect(lake).execute(query).fetchall())
