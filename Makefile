# Two commands from a fresh clone: `make app` and `make test`. Each makes its own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: app test browser lint pictures bench peers examples hooks fuzz audit docker-check container-check clean
.DEFAULT_GOAL := app

$(VENV)/app.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/test.stamp: $(VENV)/app.stamp
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

app: $(VENV)/app.stamp  ## the dashboard, in the browser
	$(BIN)/austerity app

test: $(VENV)/test.stamp browser lint  ## everything: style, types, tests
	$(BIN)/python -m pytest -n auto --dist loadgroup

browser:  ## Chromium for the browser tests, where it can be installed; without it they are skipped
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
	{ test "$$(id -u)" = 0 && command -v apt-get && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends chromium; } || \
	echo "There is no Chromium, and it could not be installed: the browser tests will be skipped."

hooks: $(VENV)/test.stamp  ## check style and types before each commit
	$(BIN)/python -m pip install --quiet pre-commit && $(BIN)/pre-commit install

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

pictures: $(VENV)/test.stamp browser  ## screenshots of the dashboard, into docs/pictures
	$(BIN)/python -m docs.pictures.make

bench: $(VENV)/test.stamp  ## measure, and write benchmarks/RESULTS.md; SECTIONS="peers accuracy" for some of it
	$(BIN)/python -m benchmarks $(SECTIONS)

peers: benchmarks/peers/requirements.txt  ## other people's samplers and engines, apart from the product, for `make bench`
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --upgrade pip
	.venv-peers/bin/python -m pip install --quiet --requirement benchmarks/peers/requirements.txt
	-.venv-peers/bin/python -m pip install --quiet --requirement benchmarks/peers/optional.txt
	@Rscript -e 'library(rpact)' >/dev/null 2>&1 || \
	{ test "$$(id -u)" = 0 && command -v apt-get && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends r-base-core r-cran-rpact; } || \
	echo "There is no R with rpact, and it could not be installed: \`make bench\` will say so."

SECONDS ?= 60
fuzz: $(VENV)/test.stamp  ## look for inputs that break a parser; SECONDS=60 for each, TARGETS="trial_csv" for some
	-$(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(TARGETS)

audit: $(VENV)/test.stamp  ## known weaknesses: in our code (bandit) and in what it uses (pip-audit, which needs a network)
	$(BIN)/python -m pip install --quiet --editable '.[audit]'
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml designer samplers app
	$(BIN)/pip-audit --skip-editable

docker-check:  ## the steps of the Dockerfile in a clean virtual environment
	PYTHON=$(PYTHON) tests/docker_steps.sh

container-check:  ## build the image and check it as it runs; ENGINE="podman" for another engine than docker
	tests/container.sh

examples: $(VENV)/app.stamp  ## make the bundled example files anew
	$(BIN)/python examples/make_trials.py

clean:
	rm -rf $(VENV) .venv-peers dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
