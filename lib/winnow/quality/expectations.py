"""Own checks as expectations of Great Expectations: a suite names them like those that it brings along.

Importing this module makes them known to it. Only the audit does so: the import takes seconds.
"""

import time
from typing import Any, ClassVar

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.core.metric_function_types import MetricPartialFunctionTypes
from great_expectations.execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_partial
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.render import RenderedStringTemplateContent
from great_expectations.render.components import LegacyDiagnosticRendererType, LegacyRendererType
from great_expectations.render.renderer.renderer import renderer
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from winnow.errors import one_line
from winnow.quality import audited_index, conservation, counting, volumes
from winnow.quality.audited_run import AuditedRun, audited_run
from winnow.quality.finding import Finding, counted
from winnow.tables import contract


class RowsThatBreakRule(TableMetricProvider):  # type: ignore[misc]
    """Counts rows for which a rule is false or null, in the one pass over the batch that such metrics share."""

    metric_name = "table.rows_that_break_rule"
    value_keys = ("rule",)

    @metric_partial(  # type: ignore[untyped-decorator]
        engine=SparkDFExecutionEngine,
        partial_fn_type=MetricPartialFunctionTypes.AGGREGATE_FN,
        domain_type=MetricDomainTypes.TABLE,
    )
    def _spark(
        cls,  # noqa: N805
        execution_engine: Any,
        metric_domain_kwargs: Any,
        metric_value_kwargs: Any,
        metrics: Any,
        runtime_configuration: Any,
    ) -> Any:
        broken = ~sf.coalesce(sf.expr(metric_value_kwargs["rule"]), sf.lit(False))
        return sf.count_if(broken), metric_domain_kwargs, {}


class RunExpectation(BatchExpectation):  # type: ignore[misc]
    """Examines the audited run, or the batch; what it finds is shown with examples and the seconds it took."""

    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id",)
    metric_dependencies: ClassVar[tuple[str, ...]] = ()

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        raise NotImplementedError

    def accepts(self, finding: Finding) -> bool:
        return not finding.unexpected

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        start = time.perf_counter()
        batch = execution_engine.batch_manager.active_batch_data.dataframe
        finding = self.examine(audited_run(), batch, metrics)
        details: dict[str, Any] = {"examples": list(finding.examples), "seconds": time.perf_counter() - start}
        shown = {"observed_value": finding.observed, "unexpected_count": finding.unexpected, "details": details}
        return {"success": self.accepts(finding), "result": shown}

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)  # type: ignore[untyped-decorator]
    def _prescriptive_renderer(cls, configuration: Any = None, **_: Any) -> list[Any]:
        """Says in Data Docs what is expected: the suite's words, or the expectation's own."""
        return [rendered(configuration.description or cls.__doc__ or "", configuration.kwargs.get("rule", ""))]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)  # type: ignore[untyped-decorator]
    def _diagnostic_unexpected_statement_renderer(cls, result: Any = None, **_: Any) -> list[Any]:
        """Shows examples in Data Docs, and why an expectation could not be told."""
        if result is None or result.success:
            return []
        if (result.exception_info or {}).get("raised_exception"):
            return [
                rendered("it could not be told: ", one_line(RuntimeError(result.exception_info["exception_message"])))
            ]
        return [rendered("", example) for example in result.result["details"]["examples"]]


def rendered(words: str, code: str) -> RenderedStringTemplateContent:
    """Returns words and code for Data Docs, which escape what comes as parameters."""
    parts = {"words": words, "code": code}
    template = {
        "template": "$words $code" if code else "$words",
        "params": parts,
        "styling": {"params": {"code": {"tag": "code"}}},
    }
    return RenderedStringTemplateContent(content_block_type="string_template", string_template=template)


class ExpectRowsToSatisfy(RunExpectation):
    """Every row satisfies a rule in Spark's SQL; null is not enough."""

    rule: str
    success_keys = ("rule",)
    metric_dependencies = ("table.rows_that_break_rule",)

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        count = metrics["table.rows_that_break_rule"]
        if not count:
            return counted(0)
        names = [
            name for name in ("document_id", "profile_id", "path_id", "branch_id", "node_id") if name in batch.columns
        ]
        broken = batch.where(~sf.coalesce(sf.expr(self.rule), sf.lit(False)))
        named = [
            sf.concat(sf.lit(f"{name} "), sf.coalesce(sf.col(name).cast("string"), sf.lit("null"))) for name in names
        ]
        place = sf.concat(sf.lit("in "), sf.col("_metadata.file_name"))
        return counted(count, counting.found(broken, sf.concat_ws(", ", *named, place)).examples)


class ExpectColumnsToFitContract(RunExpectation):
    """The batch has the columns of a table's contract, with their types."""

    table: str
    success_keys = ("table",)

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        schema = {field.name: field.dataType.simpleString() for field in batch.schema.fields}
        problems = contract(self.table).discrepancies(schema)
        return counted(len(problems), tuple(problems))


class ExpectKeyToBeUnique(RunExpectation):
    """No two rows, of all or of those that satisfy a condition, have the same values in these columns."""

    columns: list[str]
    where: str = "true"
    success_keys = ("columns", "where")

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return counting.repeated_keys(batch.where(self.where), self.columns)


class ExpectValuesToBeKnown(RunExpectation):
    """The values of a column, or of its arrays, are keys of another table, as the run has read it."""

    column: str
    table: str
    key: str
    success_keys = ("column", "table", "key")

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return counting.unknown_values(batch, self.column, run.read(self.table), self.key)


class ExpectEveryDocumentToBeAnswered(RunExpectation):
    """Every document that was asked has one row of answers for each shard of the profiles, and no other has any."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return conservation.documents_answered(run)


class ExpectAnswersOfAskedProfilesOnly(RunExpectation):
    """Answers are of profiles that are active, valid on the date, and not rejected."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return conservation.profiles_asked(run)


class ExpectPublicationToAddEveryPair(RunExpectation):
    """The rows that publication would add are as many as the staged pairs."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return volumes.rows_published(run)


class ExpectPublicationToRepeatNoKey(RunExpectation):
    """No pair of document and profile would be published twice."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return conservation.keys_not_published(run)


class ExpectNoPairToBeUndecided(RunExpectation):
    """No pair was given up."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return conservation.undecided_pairs(run)


class ExpectAnswersToAgreeWithLibxml2(RunExpectation):
    """libxml2, asked about a sample of the pairs, says what is staged."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        found = run.agreement
        return counted(found.wrong, found.examples or (found.tale,))


class ExpectLibxml2ToAnswer(RunExpectation):
    """libxml2 can answer at least this share of the sampled pairs in time."""

    min_share: float
    success_keys = ("min_share",)

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        found = run.agreement
        share = found.known / found.pairs if found.pairs else 1.0
        return Finding(share, found.pairs - found.known, (found.tale,))

    def accepts(self, finding: Finding) -> bool:
        return finding.observed is not None and finding.observed >= self.min_share


class ExpectVolumeToBeUsual(RunExpectation):
    """Matches per document are a multiple of the median of the last intervals that lies within bounds."""

    min_ratio: float
    max_ratio: float
    success_keys = ("min_ratio", "max_ratio")

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return volumes.volume_ratio(run)

    def accepts(self, finding: Finding) -> bool:
        return finding.observed is None or self.min_ratio <= finding.observed <= self.max_ratio


class ExpectEveryDocumentToBeEncoded(RunExpectation):
    """Every document of the interval is in one of its batches."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return conservation.documents_encoded(run)


class ExpectBatchesToBeWhole(RunExpectation):
    """The batches have the documents that the run has counted when it was planned."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return conservation.batches_whole(run)


class ExpectEncodingsToBeRepeatable(RunExpectation):
    """Encoded anew, documents are as they are stored; of more than `max_documents` about so many are drawn."""

    max_documents: int
    success_keys = ("max_documents",)

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return conservation.encodings_repeated(run, self.max_documents)


class ExpectDocumentsToBeConserved(RunExpectation):
    """What was seen in the interval is stored: here, or in an earlier interval."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return conservation.documents_conserved(run)


class ExpectDocumentsToHaveASource(RunExpectation):
    """Every document of the batches has a place where it was seen."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return conservation.documents_located(run)


class ExpectFilesToBeAsCommitted(RunExpectation):
    """The data files of a table are all there, as large as its log says, with as many rows; no page is damaged."""

    table: str
    success_keys = ("table",)

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return run.file_findings[self.table]


class ExpectNamesToBeHashes(RunExpectation):
    """The rows of paths or branches are named by the hash of their content."""

    table: str
    success_keys = ("table",)

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return audited_index.wrong_names(run.read(self.table), self.table)


class ExpectTreesToBeSound(RunExpectation):
    """Envelope trees keep their invariants, and their branches are as their steps are."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return audited_index.unsound_trees(run.index)


class ExpectRootsToBeListed(RunExpectation):
    """The rows of index_partitions say what the roots of the trees say."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return audited_index.unlike_roots(run.index)


class ExpectEveryBranchOnce(RunExpectation):
    """The branches of active profiles are each in one partition of the index, and no others."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return audited_index.misplaced_branches(run.index)


class ExpectJoinsToBeRepeatable(RunExpectation):
    """Joined anew, the paths of the run have the branches that the table says."""

    def examine(self, run: AuditedRun, batch: DataFrame, metrics: dict[str, Any]) -> Finding:
        return audited_index.wrong_joins(run.index)
