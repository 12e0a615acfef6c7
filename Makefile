# Winnow's verbs. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PY := .venv/bin/python
COMPILE := .winnow/bootstrap/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url

.PHONY: help setup lock

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

lock: .winnow/bootstrap/bin/uv ## resolve the environments anew into infra/requirements/*.txt
	@for name in bootstrap job airflow; do echo "locking $$name"; $(COMPILE) infra/requirements/$$name.in -o infra/requirements/$$name.txt; done
