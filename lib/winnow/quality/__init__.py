"""The gate between staged and published answers: Great Expectations on DataFrames, with a suite for each table."""
