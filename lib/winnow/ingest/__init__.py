"""Ingest: from files and archives to accepted or refused documents and profiles. Pure: no Spark."""
