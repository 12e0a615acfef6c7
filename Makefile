# Winnow's verbs. `make help` lists them; each sets up what it needs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
LAKE ?= .winnow/lake
SAMPLE := $(if $(filter command% environment,$(origin LAKE)),$(LAKE),.winnow/sample/lake)
KEPT := lake landing sample
PATHS := lib jobs dags tests infra
COMPILE := .winnow/bootstrap/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url

.PHONY: help setup run up down query test s3 nightly check format bench docs lock clean clean-lakes

help: ## list the verbs
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

setup: ## both environments from their locks, the Delta jars, compiled kernels (done by the other verbs too)
	@infra/setup.sh

run: setup ## the sample through Airflow: two dates, then new profiles over both; says what to look at, stops everything
	@.venv-airflow/bin/python infra/airflow/sample_run.py --lake $(SAMPLE)

up: setup ## the live Airflow on loopback
	@WINNOW_LAKE=$(abspath $(LAKE)) .venv-airflow/bin/python infra/airflow/supervisor.py up

down: ## stop it, with everything it started
	@.venv-airflow/bin/python infra/airflow/supervisor.py down

query: setup ## ask the published matches, e.g. make query ARGS="--subscriber desk-07 --limit 5"
	@.venv/bin/winnow query --lake $(LAKE) $(ARGS)

test: setup check ## lint, types and all tests, quick setting
	@infra/test.sh

s3: setup ## the pipeline on an S3 server on loopback; gets 640 MB of jars once
	@WINNOW_JARS=$(CURDIR)/.winnow/jars .venv/bin/winnow setup-jars --s3
	@WINNOW_S3=1 .venv/bin/python -m pytest tests/jobs/test_object_store.py

nightly: setup ## the tests in their long setting
	@WINNOW_NIGHTLY=1 infra/test.sh

check: setup ## lint, format, types and layers; changes nothing
	@.venv/bin/ruff check $(PATHS)
	@.venv/bin/ruff format --check $(PATHS)
	@.venv/bin/mypy lib jobs
	@.venv/bin/lint-imports --no-cache >.winnow/lint-imports.log || { cat .winnow/lint-imports.log; exit 1; }
	@MYPYPATH=lib:dags:infra/airflow .venv-airflow/bin/mypy --config-file infra/airflow/mypy.ini lib/winnow/airflow dags infra/airflow

format: setup ## format the code
	@.venv/bin/ruff check --fix $(PATHS)
	@.venv/bin/ruff format $(PATHS)

bench: setup ## measure everything, as ratios to lxml in the same run
	@.venv/bin/winnow bench profiles
	@.venv/bin/winnow bench match
	@.venv/bin/winnow bench engines
	@.venv/bin/winnow bench changes
	@.venv/bin/winnow bench ingest
	@.venv/bin/winnow bench pipeline

docs: setup ## write the table reference anew from the contracts, and the pictures of the primer from a run
	@.venv/bin/python -m winnow.tables.reference > infra/docs/tables.md
	@.venv/bin/python -m winnow.primer infra/docs/primer

lock: setup ## resolve the environments anew into infra/requirements/*.txt
	@for name in bootstrap job airflow cluster; do echo "locking $$name"; $(COMPILE) infra/requirements/$$name.in -o infra/requirements/$$name.txt; done
	@$(COMPILE) --no-deps infra/requirements/schemas.in -o infra/requirements/schemas.txt

clean: ## remove the environments and what was made for them; lakes and landing folders stay
	@[ ! -x .venv-airflow/bin/python ] || .venv-airflow/bin/python infra/airflow/supervisor.py down >/dev/null
	@[ ! -d .winnow ] || find .winnow -mindepth 1 -maxdepth 1 $(foreach name,$(KEPT),! -name $(name)) -exec rm -rf {} +
	@rm -rf .venv .venv-airflow
	@for name in $(KEPT); do [ ! -d .winnow/$$name ] || echo "kept .winnow/$$name; make clean-lakes removes it"; done

clean-lakes: ## remove .winnow/lake, .winnow/landing and the sample's, with all that is in them
	@rm -rf $(addprefix .winnow/,$(KEPT))
