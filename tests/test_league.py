"""The league compares like with like, keeps what is done, and its page shows the stored figures."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from app.league.cells import Cell, League, as_json, load
from app.league.winners import NOBODY, winners
from benchmarks.league import methods, page, posteriors, run
from benchmarks.league.judge import errors, judged
from benchmarks.league.reference import Reference


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


def test_each_cell_keeps_its_own_stamp(monkeypatch, tmp_path):
    file = tmp_path / "results.json"
    monkeypatch.setattr(run, "RESULTS", file)
    monkeypatch.setattr(run, "load", lambda: load(file))
    monkeypatch.setattr(run.Reference, "load", lambda folder: Reference(*np.zeros((4, 1)), "known"))
    old = League({("logistic", 10**4, "NUTS"): Cell(setup=9.0)}, {("logistic", 10**4): "known"}, "2026-11-01, here.")
    file.write_text(as_json(old))
    for day, method in (("2026-11-02, here.", "exact"), ("2026-11-03, there.", "Barker")):
        monkeypatch.setattr(run, "stamp", lambda day=day: day)
        run.keep("logistic", 10**4, method, Cell(setup=1.0))
    new = load(file)
    stamps = {method: cell.measured for method, cell in new.at(("logistic", 10**4)).items()}
    assert stamps == {"Barker": "2026-11-03, there.", "exact": "2026-11-02, here.", "NUTS": ""}
    assert new.when == "Measured: 1 cell 2026-11-01, here; 1 cell 2026-11-02, here; 1 cell 2026-11-03, there."
    assert new.when in page.written(new) and new.when in page.section(new)


def test_the_page_says_what_compilation_does():
    """A peer that draws faster than our test, but compiles: ahead only if its own set-up is free."""
    ours, theirs = Cell(setup=2.0, seconds=1.0, effective=1e3), Cell(setup=20.0, seconds=1.0, effective=2e3)
    place = ("logistic", 10**4)
    league = League({(*place, "Barker"): ours, (*place, "HMCECS"): theirs}, {place: "known"}, "today.")
    (words,) = page._compiling(league)
    assert "theirs are HMCECS 20 to 20 s." in words
    assert "in 0 of 1 places; in 1 if set-up counts for neither, and in 1 if it counts for us alone." in words
    slow = theirs._replace(effective=5e2)
    (words,) = page._compiling(league._replace(cells={(*place, "Barker"): ours, (*place, "HMCECS"): slow}))
    assert "in 0 of 1 places; in 0 if set-up counts for neither, and in 0 if" in words  # 5 s against 2 + 2.5 s
    assert page._compiling(League({(*place, "Barker"): ours}, {place: "known"})) == []


def test_the_page_shows_the_stored_figures():
    league = load()
    assert page.PAGE.read_text(encoding="utf-8") == page.written(league), "python -m benchmarks.league --page"
    text = page.README.read_text(encoding="utf-8")
    assert text == page.readme(text, league), "python -m benchmarks.league --page"
    assert 1 <= text.partition(page.BEGIN)[2].partition(page.END)[0].count("\n| ") - 1 <= 8
    known = {posterior.name for posterior in posteriors.POSTERIORS}
    assert {name for name, _ in league.places} <= known
    assert {method for _, _, method in league.cells} <= set(methods.BY_NAME)
    for place, won in winners(league, page.WISH).items():
        if won.method == NOBODY:
            continue
        assert league.at(place)[won.method].shown <= page.WISH
