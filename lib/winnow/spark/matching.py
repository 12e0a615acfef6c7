"""`match`: which profiles does each document of a data frame satisfy?"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from winnow.errors import UsageError
from winnow.spark.columns import require_columns
from winnow.spark.index import Index, build_index
from winnow.spark.match_tasks import INDEX_PARTITION, OUTCOMES, MatchDocuments

_TASK = "winnow_task"


def match(
    documents: DataFrame,
    profiles: DataFrame | Index,
    *,
    id_column: str = "document_id",
    content_column: str = "content",
    carry: Sequence[str] = (),
    engine: str = "boxpath",
    outcomes: bool = False,
) -> DataFrame:
    """Returns a row for each document and each profile that it satisfies: the id, profile_id, witness, and `carry`.

    The result is lazy and works on streaming data frames. Profiles given as a data frame are compiled at once.

    Args:
        documents: any data frame with an id and a content column (binary or string).
        profiles: a data frame with profile_id and xpath, optionally namespaces and ordered; or an index.
        id_column: what names a document in the result; of any type.
        content_column: the XML.
        carry: columns of `documents` that the result has as well.
        engine: how profiles given as a data frame are asked; an index has its own.
        outcomes: also a row, with outcome, reason and message, for every document that is refused and every pair that
            is undecided. Rejected profiles are in `Index.rejected`.

    Raises:
        UsageError: columns are missing or of another type, or no profile was accepted.

    Example:
        >>> from winnow.tables.session import open_session  # any session will do
        >>> spark = open_session(master="local[2]")
        >>> order = "<order><item price='7'/></order>"
        >>> documents = spark.createDataFrame([("a.xml", order)], "document_id string, content string")
        >>> profiles = spark.createDataFrame([("cheap", "//item[@price < 10]")], "profile_id string, xpath string")
        >>> match(documents, profiles).show(truncate=False)
        +-----------+----------+---------------------+
        |document_id|profile_id|witness              |
        +-----------+----------+---------------------+
        |a.xml      |cheap     |/order/item[1]/@price|
        +-----------+----------+---------------------+
        <BLANKLINE>
    """
    _require_frame(documents, "documents", DataFrame)
    _require_frame(profiles, "profiles", (DataFrame, Index))
    require_columns(documents, "documents", {content_column: "binary|string"})
    _require_names(documents, id_column, content_column, carry)
    index = profiles if isinstance(profiles, Index) else build_index(profiles, engine=engine)
    rows = documents.select(id_column, content_column, *carry)
    if index.partitions > 1:
        rows = _meet_partitions(rows, index.partitions, id_column)
    task = MatchDocuments(index.files, id_column, content_column, tuple(carry), outcomes)
    return rows.mapInArrow(task, _schema(documents, id_column, carry, outcomes))


def _meet_partitions(rows: DataFrame, partitions: int, id_column: str) -> DataFrame:
    """Sends every document to every index partition, in about `spark.sql.shuffle.partitions` tasks of even size.

    A task has documents of one index partition, so that it opens one file; tasks of the same one follow each other.
    What costs is that each partition reads the document, not that its bytes are shuffled as often: one exchange that
    is read by a union of as many branches was measured, and is not quicker.
    """
    tasks = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0)
    buckets = max(1, -(-tasks // partitions))
    numbers = sf.array(*(sf.lit(number) for number in range(partitions)))
    bucket = sf.pmod(sf.xxhash64(id_column), sf.lit(buckets))
    return (
        rows.withColumn(INDEX_PARTITION, sf.explode(numbers))
        .withColumn(_TASK, (sf.col(INDEX_PARTITION) * buckets + bucket).cast("int"))
        .repartitionById(partitions * buckets, _TASK)
        .drop(_TASK)
    )


def _require_frame(value: object, what: str, kinds: type | tuple[type, ...]) -> None:
    if not isinstance(value, kinds):
        hint = "give spark.table('…'), or winnow.spark.load_index('…') for profiles"
        raise UsageError("bad_frame", f"{what} is a {type(value).__name__}, not a data frame", hint=hint)


def _require_names(documents: DataFrame, id_column: str, content_column: str, carry: Sequence[str]) -> None:
    if isinstance(carry, str):
        raise UsageError("bad_columns", f"carry is the text {carry!r}", hint=f"give a list: carry=[{carry!r}]")
    missing = [name for name in (id_column, *carry) if name not in documents.columns]
    if missing:
        hint = f"it has {', '.join(documents.columns)}"
        raise UsageError("bad_columns", f"documents: no column {', '.join(map(repr, missing))}", hint=hint)
    dotted = [name for name in (id_column, content_column, *carry) if "." in name or "`" in name]
    if dotted:
        hint = "rename it in documents first: Spark's mapInArrow takes such names for paths"
        raise UsageError("bad_columns", f"documents: {', '.join(map(repr, dotted))} has a dot or a backtick", hint=hint)
    names = [id_column, "profile_id", "witness", *carry, *OUTCOMES]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        hint = "rename it in documents first: documents.withColumnRenamed(…)"
        raise UsageError("bad_columns", f"the result would have {', '.join(twice)} twice", hint=hint)


def _schema(documents: DataFrame, id_column: str, carry: Sequence[str], outcomes: bool) -> StructType:
    kinds = {field.name: field.dataType for field in documents.schema.fields}
    told = OUTCOMES if outcomes else ()
    return StructType(
        [
            StructField(id_column, kinds[id_column]),
            *(StructField(name, StringType()) for name in ("profile_id", "witness")),
            *(StructField(name, kinds[name]) for name in carry),
            *(StructField(name, StringType()) for name in told),
        ]
    )
