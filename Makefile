# Winnow's verbs. `make help` lists them; each sets up what it needs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
LAKE ?= .winnow/lake
DATE ?= 2026-11-16
PATHS := lib jobs dags tests infra
COMPILE := .winnow/bootstrap/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url

.PHONY: help setup run test nightly check format bench docs lock clean

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: ## both environments from their locks, and the Delta jars (done by the other verbs too)
	@infra/setup.sh

run: setup ## make the sample, ingest it into $(LAKE), match it, show the tables
	@.venv/bin/winnow generate sample .winnow/sample
	@.venv/bin/winnow ingest documents .winnow/sample/documents --date $(DATE) --lake $(LAKE)
	@.venv/bin/winnow ingest documents .winnow/sample/trades.xml.gz --record-tag trade --date $(DATE) --lake $(LAKE)
	@.venv/bin/winnow ingest profiles .winnow/sample/profiles.jsonl --lake $(LAKE)
	@.venv/bin/winnow run --date $(DATE) --lake $(LAKE)
	@.venv/bin/winnow status --lake $(LAKE)

test: setup check ## lint, types and all tests, quick setting
	@.venv/bin/python -m pytest

nightly: setup ## the tests in their long setting
	@WINNOW_NIGHTLY=1 .venv/bin/python -m pytest

check: setup ## lint, format and types; changes nothing
	@.venv/bin/ruff check $(PATHS)
	@.venv/bin/ruff format --check $(PATHS)
	@.venv/bin/mypy lib jobs
	@MYPYPATH=dags .venv-airflow/bin/mypy dags

format: setup ## format the code
	@.venv/bin/ruff check --fix $(PATHS)
	@.venv/bin/ruff format $(PATHS)

bench: setup ## measure everything, as ratios to lxml in the same run
	@.venv/bin/winnow bench profiles
	@.venv/bin/winnow bench match
	@.venv/bin/winnow bench ingest
	@.venv/bin/winnow bench pipeline

docs: setup ## write the table reference anew from the contracts
	@.venv/bin/python -m winnow.lake.reference > infra/docs/tables.md

lock: setup ## resolve the environments anew into infra/requirements/*.txt
	@for name in bootstrap job airflow; do echo "locking $$name"; $(COMPILE) infra/requirements/$$name.in -o infra/requirements/$$name.txt; done

clean: ## remove the environments and everything under .winnow
	@rm -rf .venv .venv-airflow .winnow
