"""Winnow for Airflow: the operator of the jobs, the assets and rules of the DAGs, the reports beside the UI.

Installed with `winnow[airflow]`. Everything here is imported by the scheduler all day, so it imports nothing heavy: a
job's own modules are imported by the task that runs it.
"""

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Returns what Airflow lists of this provider; the entry point `apache_airflow_provider` names this function."""
    name = "Winnow"
    return {
        "package-name": "winnow",
        "name": name,
        "description": "Which of these XPath profiles does each of these XML documents satisfy?",
        "integrations": [{"integration-name": name, "external-doc-url": "", "tags": ["software"]}],
        "operators": [{"integration-name": name, "python-modules": ["winnow.airflow.operators"]}],
        "notifications": ["winnow.airflow.notifications.FileNotifier"],
        "extra-links": ["winnow.airflow.links.ReportLink", "winnow.airflow.links.DataDocsLink"],
        "plugins": [{"name": "winnow", "plugin-class": "winnow.airflow.plugin.WinnowPlugin"}],
    }
