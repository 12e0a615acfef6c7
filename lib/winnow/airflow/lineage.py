"""OpenLineage: which tables a job has read and written, at which versions, with the columns of their contracts."""

from collections.abc import Sequence
from typing import Any

from airflow.providers.openlineage.extractors import OperatorLineage
from attrs import define
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import RunFacet, dataset_version_dataset, documentation_dataset, schema_dataset

from winnow.airflow.running import Done, counted
from winnow.airflow.settings import LAKE
from winnow.tables.contract import contract
from winnow.tables.lake import Lake


@define
class WinnowRunFacet(RunFacet):
    """What a job has done: for which dates, and what it has counted."""

    job: str
    dates: list[str]
    counts: dict[str, int]


def lineage_of(job: str, dates: Sequence[str], done: Done) -> "OperatorLineage[Any, Any]":
    """Returns the lineage of a job that is done."""
    lake = Lake.at(LAKE)
    return OperatorLineage(
        inputs=[InputDataset(*name_of(lake, name), facets=facets(name, at)) for name, at in sorted(done.read.items())],
        outputs=[
            OutputDataset(*name_of(lake, name), facets=facets(name, at)) for name, at in sorted(done.written.items())
        ],
        run_facets={"winnow": WinnowRunFacet(job=job, dates=list(dates), counts=counted(done.reports))},
    )


def name_of(lake: Lake, table: str) -> tuple[str, str]:
    """Returns a table's namespace and name, as OpenLineage names datasets.

    >>> name_of(Lake("/data/lake"), "matches"), name_of(Lake("s3a://bucket/lake"), "matches")
    (('file', '/data/lake/matches'), ('s3://bucket', 'lake/matches'))
    >>> name_of(Lake("spark_catalog.winnow"), "matches")
    ('spark_catalog', 'winnow.matches')
    """
    if lake.is_catalog:
        namespace, _, schema = lake.location.partition(".")
        return namespace, f"{schema}.{table}"
    if "://" not in lake.location or lake.is_local:
        return "file", f"{lake.folder}/{table}"
    scheme, _, place = lake.location.partition("://")
    bucket, _, path = place.partition("/")
    return f"{scheme.replace('s3a', 's3')}://{bucket}", f"{path}/{table}"


def facets(table: str, version: int) -> dict[str, Any]:
    """Returns what is known of a table: its version, its columns, what it is for."""
    known = contract(table)
    fields = [
        schema_dataset.SchemaDatasetFacetFields(name=column.name, type=column.type, description=column.description)
        for column in known.columns
    ]
    return {
        "version": dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=str(version)),
        "schema": schema_dataset.SchemaDatasetFacet(fields=fields),
        "documentation": documentation_dataset.DocumentationDatasetFacet(description=known.description),
    }
