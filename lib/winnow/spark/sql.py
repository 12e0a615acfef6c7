"""Winnow for SQL: `SELECT * FROM winnow_match(TABLE(documents), '<place of an index>')`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udtf
from pyspark.sql.udtf import UserDefinedTableFunction

if TYPE_CHECKING:
    import pyarrow as pa

FUNCTION = "winnow_match"
_RESULT = "document_id string, profile_id string, witness string"


class MatchTable:
    """A table function: documents have the columns document_id and content; profiles come as a saved index."""

    def eval(self, documents: "pa.RecordBatch", index: "pa.Array") -> "Iterator[pa.Table]":
        import pyarrow as pa

        from winnow.spark.match_tasks import MatchDocuments, saved_files

        place = index[0].as_py()
        task = MatchDocuments(saved_files(place), "document_id", "content", carry=(), outcomes=False)
        for answers in task([documents]):
            yield pa.Table.from_batches([answers.set_column(0, "document_id", answers.column(0).cast(pa.string()))])


def register(spark: SparkSession) -> None:
    """Makes `winnow_match` and the format `winnow_xml` known to a session.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from winnow.tables.session import open_session  # any session will do
        >>> spark = open_session(master="local[2]")
        >>> register(spark)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     size = Path(folder, "orders.xml").write_text("<orders><order>1</order><order>2</order></orders>")
        ...     orders = spark.read.format("winnow_xml").option("recordTag", "order").load(folder)
        ...     orders.select("record", "content", "reason").show()
        +------+--------------------+------+
        |record|             content|reason|
        +------+--------------------+------+
        |     1|[3C 6F 72 64 65 7...|  NULL|
        |     2|[3C 6F 72 64 65 7...|  NULL|
        +------+--------------------+------+
        <BLANKLINE>
    """
    from winnow.spark.xml_source import XmlDataSource

    function = cast(UserDefinedTableFunction, arrow_udtf(MatchTable, returnType=_RESULT))
    spark.udtf.register(FUNCTION, function)
    spark.dataSource.register(XmlDataSource)
