# Two commands from a fresh clone: `make app` and `make test`. Each makes its own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: app test lint bench examples hooks clean
.DEFAULT_GOAL := app

$(VENV)/app.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/test.stamp: $(VENV)/app.stamp
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

app: $(VENV)/app.stamp  ## the demonstration
	$(BIN)/austerity demo

test: $(VENV)/test.stamp lint  ## everything: style, types, tests
	$(BIN)/python -m pytest -n auto

hooks: $(VENV)/test.stamp  ## check style and types before each commit
	$(BIN)/python -m pip install --quiet pre-commit && $(BIN)/pre-commit install

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/test.stamp  ## measure, and write benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

examples: $(VENV)/app.stamp  ## make the bundled example files anew
	$(BIN)/python examples/make_trials.py

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
