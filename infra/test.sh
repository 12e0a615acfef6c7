#!/usr/bin/env bash
# All tests. Those with a live Airflow wait a lot, so they run beside the others.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .winnow
.venv/bin/python -m pytest tests/dags >.winnow/test-dags.log 2>&1 &
.venv/bin/python -m pytest --ignore=tests/dags
others=$?
wait $!
dags=$?
cat .winnow/test-dags.log
exit $((others > dags ? others : dags))
