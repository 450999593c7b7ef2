# Every target does its own set-up: on a fresh machine, `make run` and `make test` are all there is to type.
PYTHON := .venv/bin/python
CORE := operations/core
# The checks need no server: an address where none can be, so that nobody's database is asked by accident.
OFFLINE := OPSCONSOLE_MODE=test DATABASE_URL=postgresql://nobody@127.0.0.1:1/none

.PHONY: help run test check bench clean setup

help:
	@echo "make run     start everything with demo data and print the address (Ctrl-C stops it)"
	@echo "make test    run all tests, with their own PostgreSQL, Valkey and a Chromium"
	@echo "make check   format, lint, types, floors, migrations; changes nothing"
	@echo "make bench   measure the guarded life cycle"
	@echo "make clean   remove what was installed and generated, including the demo's data"

setup:
	@sh .ci/bootstrap

run: setup
	@exec $(PYTHON) manage.py quickstart

test: setup
	@sh .ci/chromium
	$(PYTHON) -m coverage run --branch --source=$(CORE) -m pytest tests/core
	$(PYTHON) -m coverage report --fail-under=100 --show-missing
	$(PYTHON) -m pytest

check: setup
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy .
	.venv/bin/lint-imports
	$(OFFLINE) $(PYTHON) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(OFFLINE) $(PYTHON) manage.py check

bench: setup
	$(PYTHON) bench/lifecycle.py

clean:
	@sh .ci/clean
