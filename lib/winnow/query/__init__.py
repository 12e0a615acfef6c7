"""Answers about a lake without a JVM: DuckDB and delta-rs read what Spark writes. Nothing is written here."""
