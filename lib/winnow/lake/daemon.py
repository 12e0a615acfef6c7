"""The process that forks Spark's Python workers, with what they need imported once instead of in each of them."""

import pyspark.daemon

import winnow.ingest.scan  # noqa: F401

if __name__ == "__main__":
    pyspark.daemon.manager()  # type: ignore[no-untyped-call]
