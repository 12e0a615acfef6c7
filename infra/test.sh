#!/usr/bin/env bash
# All tests. Those with a live Airflow wait a lot, so they run beside the others. Those of winnow.spark run again in other
# kinds of session, each kind in a process of its own; on a cluster, with those of the trees over whole patterns, all of
# them in the nightly setting, else a few.
# Whole runs of the jobs go through Spark Connect in the nightly setting.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .winnow
if [ "${WINNOW_NIGHTLY:-}" = 1 ]; then
    # For lakes on S3, in a folder of their own: no other session needs them.
    WINNOW_JARS=$PWD/.winnow/jars .venv/bin/winnow setup-jars --s3 || exit
fi
.venv/bin/python -m pytest tests/dags >.winnow/test-dags.log 2>&1 &
# Who interrupts does not reach it: a shell lets what it starts in the background ignore ^C. What it has started itself
# ends with it (infra/airflow/keeper.py).
trap 'kill %1 2>/dev/null; wait' EXIT
trap 'exit 130' INT TERM HUP
worst=0
run() { "$@" || worst=$?; }
run .venv/bin/python -m pytest --ignore=tests/dags
run env WINNOW_TEST_SESSION=connect .venv/bin/python -m pytest tests/spark
if [ "${WINNOW_NIGHTLY:-}" != 1 ]; then
    run env WINNOW_TEST_SESSION=cluster .venv/bin/python -m pytest tests/spark -m cluster
else
    run env WINNOW_TEST_SESSION=cluster .venv/bin/python -m pytest tests/spark tests/jobs/test_sequence_trees.py -m spark
    run env WINNOW_TEST_SESSION=connect .venv/bin/python -m pytest tests/jobs/test_run.py tests/jobs/test_documents.py
fi
wait $!
dags=$?
cat .winnow/test-dags.log
exit $((worst > dags ? worst : dags))
