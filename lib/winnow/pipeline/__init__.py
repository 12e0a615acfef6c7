"""The jobs' verbs: each a frozen Config and `run(spark, config) -> RunReport`; `jobs/` has the entries."""
