# Two commands from a fresh clone: `make app` and `make test`. Each makes the virtual environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help app test test-lowest coverage browser servers lint review site pictures bench league peers examples hooks fuzz audit docker-check container-check clean
.DEFAULT_GOAL := app

$(VENV)/app.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/test.stamp: $(VENV)/app.stamp
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

app: $(VENV)/app.stamp  ## open the dashboard in the browser
	$(BIN)/austerity app

test: $(VENV)/test.stamp browser servers lint  ## check style and types, run all tests
	$(BIN)/python -m pytest -n auto --dist loadgroup

test-lowest:  ## test with the oldest dependencies that pyproject.toml allows, in their own environment
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade uv
	.venv-lowest/bin/uv pip compile --quiet --python .venv-lowest/bin/python --resolution lowest-direct --only-binary :all: \
	--extra test --output-file .venv-lowest/requirements.txt pyproject.toml
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --requirement .venv-lowest/requirements.txt
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --no-deps --editable .
	.venv-lowest/bin/python -m pytest -n auto --dist loadgroup $(or $(TESTS),tests/designer tests/samplers tests/app)

# kernels are counted where they run as Python, for a few seconds in each of these tests
KERNEL_TESTS ?= tests/designer/rule tests/designer/engine tests/designer/check tests/designer/further tests/samplers/compiled tests/samplers/decide \
	tests/samplers/fit tests/samplers/models tests/samplers/proposals tests/samplers/chains
coverage: $(VENV)/test.stamp  ## measure which lines the tests reach, into coverage.md: half an hour; TESTS="tests/designer" for some tests
	$(BIN)/python -m pip install --quiet --editable '.[coverage]'
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest -n auto --dist loadgroup $(TESTS)
	-$(BIN)/coverage run -m pytest -n auto --dist loadgroup -p tests.kernels_as_python -W ignore $(KERNEL_TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage json --quiet -o coverage.json
	$(BIN)/python -m tests.coverage_summary coverage.json coverage.md

browser:  ## install Chromium for the browser tests, if possible; without it they are skipped
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
	{ test "$$(id -u)" = 0 && command -v apt-get && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends chromium; } || \
	echo "Chromium is missing and could not be installed: the browser tests will be skipped."

servers:  ## install nginx for the test behind a reverse proxy, if possible; without it that test is skipped
	@command -v nginx || test -x /usr/sbin/nginx || \
	{ test "$$(id -u)" = 0 && command -v apt-get && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends nginx-light; } || \
	echo "nginx is missing and could not be installed: the test behind a reverse proxy will be skipped."

hooks: $(VENV)/test.stamp  ## check style and types before each commit
	$(BIN)/python -m pip install --quiet pre-commit && $(BIN)/pre-commit install

lint: $(VENV)/test.stamp  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

review: $(VENV)/test.stamp  ## ask sp-repo-review what is missing
	$(BIN)/python -m pip install --quiet 'sp-repo-review[cli]'
	$(BIN)/repo-review .

site: $(VENV)/app.stamp  ## build the documentation as a site, into site/
	$(BIN)/python -m pip install --quiet --editable '.[site]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

pictures: $(VENV)/test.stamp browser  ## take screenshots of the dashboard for docs/pictures
	$(BIN)/python -m docs.pictures.make

bench: $(VENV)/test.stamp  ## measure, and write benchmarks/RESULTS.md; SECTIONS="engine samplers" for some sections
	$(BIN)/python -m benchmarks $(SECTIONS)

league: $(VENV)/test.stamp peers  ## every method on the same posteriors, bias beside speed: about an hour, resumable, on an idle machine
	$(BIN)/python -m benchmarks.league
	$(BIN)/python -m benchmarks league

peers: benchmarks/peers/requirements.txt  ## install other samplers and engines for `make bench`, in their own environment
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --upgrade pip
	.venv-peers/bin/python -m pip install --quiet --requirement benchmarks/peers/requirements.txt
	-.venv-peers/bin/python -m pip install --quiet --requirement benchmarks/peers/optional.txt
	@Rscript -e 'library(rpact)' >/dev/null 2>&1 || \
	{ test "$$(id -u)" = 0 && command -v apt-get && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends r-base-core r-cran-rpact; } || \
	echo "R with rpact is missing and could not be installed: \`make bench\` will say so."

SECONDS ?= 60
fuzz: $(VENV)/test.stamp  ## look for inputs that break a parser or the calculator; SECONDS=60 per target, TARGETS="trial_csv" for some targets
	-$(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(TARGETS)

audit: $(VENV)/test.stamp  ## look for known vulnerabilities in our code (bandit) and in dependencies (pip-audit, needs a network)
	$(BIN)/python -m pip install --quiet --editable '.[audit]'
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml austerity designer samplers app
	$(BIN)/pip-audit --skip-editable

docker-check:  ## run the steps of the Dockerfile in a clean virtual environment
	PYTHON=$(PYTHON) tests/docker_steps.sh

container-check:  ## build the image and check the running container; with podman: ENGINE=podman BUILD="--format docker"
	tests/container.sh

examples: $(VENV)/app.stamp  ## recompute the bundled example files
	$(BIN)/python examples/make_trials.py

clean:  ## remove environments, builds and caches
	rm -rf $(VENV) .venv-peers .venv-lowest dist build site coverage.json coverage.md .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
