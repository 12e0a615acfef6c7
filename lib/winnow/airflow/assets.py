"""The assets that join the DAGs, and the schedules that stand on them.

Airflow's partitions are young and have moved between releases, so they are named here and nowhere else.
"""

from airflow.sdk import Asset, CronPartitionTimetable, PartitionedAssetTimetable

from winnow.airflow.settings import LAKE

_LAKE_URI = LAKE if "://" in LAKE else f"file://{LAKE}"
DOCUMENTS = Asset(name="winnow_documents", uri=f"{_LAKE_URI}/documents")  # partitioned: the key is the date
PROFILES = Asset(name="winnow_profiles", uri=f"{_LAKE_URI}/profiles")
MATCHES = Asset(name="winnow_matches", uri=f"{_LAKE_URI}/matches")

# Ticks are at midnight, as are the bounds of `airflow backfill create`: of its last date it would miss a later tick.
EACH_DAY = CronPartitionTimetable("0 0 * * *", timezone="UTC", run_offset=-1, key_format="%Y-%m-%d")
ON_DOCUMENTS = PartitionedAssetTimetable(assets=DOCUMENTS)
