"""Links in the UI, to pages that Airflow's own server serves (`winnow.airflow.plugin`)."""

from typing import Any
from urllib.parse import quote

from airflow.sdk import BaseOperatorLink, conf

PREFIX = "/winnow/reports"  # of the pages, below Airflow's address


class ReportLink(BaseOperatorLink):
    """The page of a run, linked from the task that wrote it."""

    name = "Run report"
    xcom_key = "report"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return address_of(getattr(operator, "place", ""))


class DataDocsLink(BaseOperatorLink):
    """The Data Docs of an audit, linked from its task, also where the gate has failed."""

    name = "Data Docs"
    xcom_key = "data_docs"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return address_of(getattr(operator, "data_docs", ""))


def address_of(place: str) -> str:
    """Returns where a browser finds the page at a place in the lake; nothing where there is none."""
    name = place.rpartition("/")[2]
    return f"{conf.get('api', 'base_url', fallback='').rstrip('/')}{PREFIX}/{quote(name)}" if name else ""
