"""A lake: where all tables of one deployment are, named once."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from winnow.tables.tables import Tables

DEFAULT_LAKE = ".winnow/lake"
_PART = r"(?:\w+|`[^`/]+`)"
_SCHEMA = re.compile(rf"{_PART}(\.{_PART}){{1,2}}")
_INDEX_FOLDER = "_index"


@dataclass(frozen=True)
class Lake:
    """A folder, a URI such as `s3a://bucket/lake`, or a schema of a catalog such as `spark_catalog.winnow`.

    `filesystem_options` are the arguments of pyarrow's file system for what workers read by themselves: they do not
    see the session's `fs.s3a.*`. A catalog has no place for index files of its own, so `index_place` names one.
    `table_places` says where the tables of a catalog are, for readers without a session (`Tables.located`).
    """

    location: str
    filesystem_options: Mapping[str, Any] = field(default_factory=dict)
    index_place: str = ""
    table_places: Mapping[str, str] | None = None

    @classmethod
    def at(cls, given: str | None = None, **options: Any) -> "Lake":
        """Returns the lake at `given`, else at WINNOW_LAKE, else at .winnow/lake.

        WINNOW_INDEX_PLACE and WINNOW_FILESYSTEM_OPTIONS (JSON) are the other two, where they are not given.

        >>> Lake.at("s3a://bucket/lake/").table("matches")
        'delta.`s3a://bucket/lake/matches`'
        >>> Lake.at("spark_catalog.winnow").table("matches")
        'spark_catalog.winnow.matches'
        >>> Lake.at("`main-eu`.winnow").table("matches")
        '`main-eu`.winnow.matches'

        Raises:
            UsageError: the place is a file, or the options are no JSON object.
        """
        location = (given or os.environ.get("WINNOW_LAKE") or DEFAULT_LAKE).rstrip("/")
        options.setdefault("index_place", os.environ.get("WINNOW_INDEX_PLACE", ""))
        options.setdefault("filesystem_options", _options_of_environment())
        if "://" in location or (_SCHEMA.fullmatch(location) and not Path(location).exists()):
            return cls(location, **options)
        if Path(location).exists() and not Path(location).is_dir():
            raise UsageError("bad_lake", f"{location} is a file", hint="give a folder; it is made where there is none")
        return cls(str(Path(location).absolute()), **options)

    @property
    def is_catalog(self) -> bool:
        return "/" not in self.location

    @property
    def is_local(self) -> bool:
        """On this host's own disk, where nothing but a file lock keeps two writers apart."""
        return not self.is_catalog and ("://" not in self.location or self.location.startswith("file://"))

    @property
    def folder(self) -> Path:
        """Of a local lake."""
        return Path(self.location.removeprefix("file://"))

    def table(self, name: str) -> str:
        """Returns the SQL identifier of a table."""
        if self.is_catalog:
            return f"{self.location}.{name}"
        return f"delta.`{self.location.replace('`', '``')}/{name}`"

    @property
    def storage_options(self) -> Mapping[str, Any]:
        """What delta-rs needs to read the tables of an object store; its names differ from pyarrow's."""
        names = {
            "access_key": "AWS_ACCESS_KEY_ID",
            "secret_key": "AWS_SECRET_ACCESS_KEY",
            "session_token": "AWS_SESSION_TOKEN",
            "region": "AWS_REGION",
        }
        known = {names[name]: value for name, value in self.filesystem_options.items() if name in names}
        endpoint = self.filesystem_options.get("endpoint_override") or os.environ.get("AWS_ENDPOINT_URL")
        if endpoint:
            scheme = self.filesystem_options.get("scheme", "https")
            known["AWS_ENDPOINT_URL"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
            known["AWS_ALLOW_HTTP"] = str(known["AWS_ENDPOINT_URL"].startswith("http://")).lower()
        return known

    @property
    def index_location(self) -> str:
        """Where index files are kept."""
        if self.index_place:
            return self.index_place
        if self.is_catalog:
            hint = "set WINNOW_INDEX_PLACE to a folder or URI that every worker reaches"
            raise UsageError("no_index_place", f"the schema {self.location} has no place for index files", hint=hint)
        return f"{self.location}/{_INDEX_FOLDER}"

    @property
    def report_location(self) -> str:
        """Where pages are kept: reports, Data Docs, and their index."""
        return f"{self.index_location if self.is_catalog else self.location}/_reports"

    def open(self, spark: "SparkSession") -> "Tables":
        from winnow.tables.tables import Tables

        return Tables(spark, self)


def _options_of_environment() -> dict[str, Any]:
    text = os.environ.get("WINNOW_FILESYSTEM_OPTIONS") or "{}"
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        hint = 'e.g. {"region": "eu-central-1", "endpoint_override": "minio:9000", "scheme": "http"}'
        raise UsageError("bad_options", "WINNOW_FILESYSTEM_OPTIONS is no JSON object", hint=hint)
    return options
