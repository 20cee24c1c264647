# Every target sets itself up: a virtual environment in .venv, by plain venv and pip.
PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.ready

.PHONY: help setup test check torture bench demo clean

help:
	@echo "make demo    see it work: jobs, workers, a kill -9, and a count that must come out right"
	@echo "make test    the whole test suite"
	@echo "make check   formatting, lint, strict types, import rules"
	@echo "make torture two hundred kills while five thousand jobs run, and a check of every promise; long programs on all stores"
	@echo "make bench   the benchmarks, on this machine"

setup: $(SETUP)

$(SETUP): pyproject.toml constraints.txt requirements-dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-dev.txt -e .
	touch $(SETUP)

test: $(SETUP)
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(SETUP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

torture: $(SETUP)
	$(BIN)/python -m tests.process.kill_loop --store sqlite --jobs 5000 --kills 200
	$(BIN)/python -m tests.process.kill_loop --store postgres --jobs 5000 --kills 200
	$(BIN)/python -m tests.process.kill_loop --store valkey --jobs 5000 --kills 200
	$(BIN)/python -m tests.process.kill_loop --store cluster --jobs 5000 --kills 200
	$(BIN)/python -m tests.process.kill_loop --store postgres --jobs 10000 --kills 0 --server-kills 10
	$(BIN)/python -m tests.process.kill_loop --store valkey --jobs 10000 --kills 0 --server-kills 10
	HOLDFAST_MODEL_PROGRAMS=300 $(BIN)/python -m pytest -n 2 tests/contract -k agrees_with_the_model

bench: $(SETUP)
	$(BIN)/python -m benchmarks

demo: $(SETUP)
	$(BIN)/holdfast demo

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
