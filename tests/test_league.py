"""The league compares like with like, keeps what is done, and its page shows the stored figures."""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from app.league.cells import Cell, League, as_json, load
from app.league.winners import NOBODY, winner, winners
from benchmarks.league import methods, page, posteriors, run
from benchmarks.league.judge import errors, judged
from benchmarks.league.reference import Reference

FAST = Cell(setup=1.0, seconds=2.0, steps=10, rows=50.0, effective=20_000.0, memory=100.0)
ROUGH = FAST._replace(mean_error=0.4, mean_se=0.01, mean_shown=0.37)
AT_ONCE = Cell(setup=0.1, seconds=0.0, effective=math.inf, mean_error=0.03, memory=100.0)


def test_a_method_that_is_shown_to_be_off_never_gets_there():
    assert FAST.seconds_to(0.01) == 1.0 + 1e4 / 1e4
    assert ROUGH.seconds_to(0.1) == math.inf and "off by 0.4" in ROUGH.why_not(0.1)
    assert ROUGH.seconds_to(0.5) < math.inf
    assert FAST._replace(trusted=False).seconds_to(0.1) == math.inf
    few = FAST._replace(effective=99.0)
    assert few.seconds_to(0.1) == math.inf and math.isnan(few.per_second) and "unfinished" in few.why_not(0.1)


def test_a_method_without_draws_is_there_at_once_or_never():
    assert AT_ONCE.seconds_to(0.05) == 0.1
    assert AT_ONCE.seconds_to(0.02) == math.inf and AT_ONCE.why_not(0.02) == "off by 0.03"


def test_the_winner_depends_on_the_error_that_is_allowed():
    cells = {"sequential": FAST, "Laplace": AT_ONCE, "NUTS": FAST._replace(setup=1.5), "exact": Cell(problem="slow")}
    strict, loose = winner(cells, 0.02), winner(cells, 0.05)
    assert (strict.method, strict.close, strict.ours[0], strict.other[0]) == (
        "sequential",
        ("NUTS",),
        "sequential",
        "NUTS",
    )
    assert (loose.method, loose.close) == ("Laplace", ())
    assert winner({"NUTS": ROUGH}, 0.02).method == NOBODY


def test_cells_are_stored_with_four_digits_and_read_again(tmp_path):
    cells = {("a", 10, "Laplace"): AT_ONCE, ("a", 10, "NUTS"): Cell(problem="unfinished"), ("b", 10, "NUTS"): ROUGH}
    league = League(cells, {("a", 10): "known", ("b", 10): "known"}, "today")
    file = tmp_path / "results.json"
    file.write_text(as_json(league))
    assert load(file)._replace(cells=dict(load(file).cells)) == league
    assert load(file).places == [("a", 10), ("b", 10)] and set(load(file).at(("a", 10))) == {"Laplace", "NUTS"}
    assert load(tmp_path / "nothing.json") == League({}, {})
    assert len(json.loads(file.read_text())["cells"]) == 3


def test_errors_are_judged_beside_their_noise():
    rng = np.random.default_rng(1)
    truth = Reference(np.array([0.0, 2.0]), np.array([1.0, 3.0]), np.zeros(2), np.zeros(2), "known")
    right = judged(truth.mean + truth.sd * rng.standard_normal((20_000, 2)), truth)
    assert right["effective"] > 15_000 and right["mean_shown"] == right["sd_shown"] == 0.0
    assert 0.0 < right["mean_error"] < 4.0 * right["mean_se"] < 0.05
    wrong = judged(truth.mean + truth.sd * (0.2 + 1.3 * rng.standard_normal((20_000, 2))), truth)
    assert wrong["mean_error"] == pytest.approx(0.2, abs=0.04) and 0.15 < wrong["mean_shown"] < wrong["mean_error"]
    assert wrong["sd_error"] == pytest.approx(0.3, abs=0.03) and wrong["sd_shown"] > 0.25
    assert judged(np.zeros((3, 2)), truth)["effective"] == 0.0
    noisy = errors(np.array([0.1, 2.0]), truth.sd, np.full(2, 0.05), np.zeros(2), truth)
    assert noisy["mean_shown"] == 0.0 and noisy["mean_error"] == pytest.approx(0.1)


@pytest.fixture(scope="module")
def densities():
    """The peers' densities, which they import from their own folder."""
    sys.path.insert(0, str(run.PEERS))
    try:
        yield importlib.import_module("densities")
    finally:
        sys.path.remove(str(run.PEERS))


@pytest.mark.parametrize("posterior", posteriors.POSTERIORS, ids=lambda one: one.name)
def test_peers_get_the_same_posterior(densities, posterior):
    """Differences of the log posterior between two states, by our model and by JAX."""
    import jax
    import jax.numpy as jnp

    data = posterior.data(5000)
    model = posterior.model(data)
    size = getattr(model, "dimension", None) or data["x"].shape[1]
    rng = np.random.default_rng(2)
    theta, other = 0.1 * rng.standard_normal((2, size))
    ours = model.log_prior(other) - model.log_prior(theta) + model.terms(theta, other, np.arange(5000)).sum()
    with jax.enable_x64(True):
        rows = (jnp.asarray(data["x"]), jnp.asarray(data["y"]), jnp.asarray(data["group"]) if "group" in data else None)
        prior_sd = jnp.asarray(posterior.prior_sd(data["x"].shape[1]))

        def log_posterior(theta):
            likelihood = densities.log_likelihoods(jnp.asarray(theta), *rows, posterior.family).sum()
            return likelihood + densities.log_prior(jnp.asarray(theta), prior_sd, posterior.family)

        theirs = float(log_posterior(other) - log_posterior(theta))
    assert theirs == pytest.approx(ours, rel=1e-6)  # XLA computes log Γ to ten digits or so


def test_what_cannot_be_run_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PYTHON", Path("no") / "such" / "python")
    missing = run.measured(tmp_path, "logistic", 100, "NUTS", 1.0, 0)
    assert missing.problem == "not installed: `make peers` installs it"
    refused = run.measured(tmp_path, "Poisson", 100, "PyMHSS", 1.0, 0)
    assert "flat prior" in refused.problem


def test_a_process_that_takes_too_long_is_stopped_and_its_memory_known():
    sleeping = run.in_process(
        [sys.executable, "-c", "import time; time.sleep(600)"], 0.5, [min(os.sched_getaffinity(0))]
    )
    assert sleeping.code is None and sleeping.memory > 1.0
    broken = run.in_process(
        [sys.executable, "-c", "raise ValueError('no such thing')"], 60.0, [min(os.sched_getaffinity(0))]
    )
    assert broken.code == 1 and broken.last == "ValueError: no such thing"


def test_the_page_shows_the_stored_figures():
    league = load()
    assert page.PAGE.read_text(encoding="utf-8") == page.written(league), "python -m benchmarks.league --page"
    known = {posterior.name for posterior in posteriors.POSTERIORS}
    assert {name for name, _ in league.places} <= known
    assert {method for _, _, method in league.cells} <= set(methods.BY_NAME)
    for place, won in winners(league, page.WISH).items():
        if won.method == NOBODY:
            continue
        assert league.at(place)[won.method].shown <= page.WISH
