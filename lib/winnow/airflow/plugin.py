"""What Airflow loads of Winnow by itself: the pages beside the UI, an entry of its menu, the order of waiting tasks."""

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from winnow.airflow.links import PREFIX
from winnow.airflow.priority import DayFirst


async def _reports(scope: Any, receive: Any, send: Any) -> None:
    """Only the server that is asked for a page imports what serves it."""
    from winnow.airflow.report_pages import app

    await app(scope, receive, send)


class WinnowPlugin(AirflowPlugin):
    # ruff: noqa: RUF012 (Airflow reads these lists from the class)
    name = "winnow"
    fastapi_apps = [{"app": _reports, "url_prefix": PREFIX, "name": "Winnow reports"}]
    external_views = [
        {
            "name": "Winnow reports",
            "href": f"{PREFIX}/index.html",
            "destination": "nav",
            "category": "browse",
        }
    ]
    priority_weight_strategies = [DayFirst]
