"""The regime map at a tiny size, and what it rests on: the reference, the bound on residuals, and verdicts."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from designer.core.progress import Cancelled
from samplers.chains.chain import Chain
from samplers.decide import BarkerTest, ConcentrationTest, ExactTest
from samplers.experiments.framework.running import Work, run_experiment
from samplers.experiments.peers import launch
from samplers.experiments.problems.tall import BoundedResiduals, moments, tall_problem
from samplers.experiments.studies import regime_map
from samplers.experiments.studies.regime_map import NUTS, CellResult, MapCell, row_of
from samplers.experiments.studies.regimes import EXPERIMENT, evaluations_per_datum
from samplers.models.control import Controlled


@pytest.fixture(scope="module")
def problem():
    return tall_problem(2000, 3, 1)


def rows(done):
    return {(row[0], row[1], row[2]): dict(zip(done.report.tables[0].columns, row, strict=True))
            for row in done.report.tables[0].rows}  # fmt: skip


def test_who_wins_where(done):
    assert all(done.report.checks.values()), done.report.checks
    for entry in done.report.tables[1].rows:
        if entry[1] == "by evaluations":
            assert entry[2].startswith("sequential") and "proxy proposals" in entry[2]
    found = rows(done)
    for n in (2000, 8000):
        plain, exact = found[n, "random walk", "sequential ε = 0.01"], found[n, "random walk", "exact"]
        assert plain["data per step"] < n == exact["data per step"]
        assert plain["evaluations per step"] == 2.0 * plain["data per step"]
        assert exact["evaluations per step"] == n  # log-likelihoods are kept
        assert plain["evaluations per step"] > exact["evaluations per step"]  # so the plain test loses
        proxy = found[n, "proxy proposals, control variates", "sequential ε = 0.01"]
        assert proxy["data per step"] < 200 and proxy["acceptance"] > 0.9
        assert proxy["bias (sd)"] < 4.0 * proxy["noise of the bias"]
        assert proxy["sd / reference"] == pytest.approx(1.0, abs=0.05)
    assert "N = 8,000: sequential" in done.report.finding


def test_what_is_missing_is_named(done):
    assert ("NUTS is missing: not part of this size.") in done.report.notices
    assert (2000, "random walk, control variates", "exact") not in rows(done)
    assert any("left out" in line for line in done.report.notices)


def test_barker_s_data_are_those_of_its_theory(done):
    """b / N = κ²/(1 + κ²) with κ² = 2.38² for a random walk of optimal length on a nearly normal posterior."""
    expected = 8000 * 2.38**2 / (1.0 + 2.38**2)
    assert rows(done)[8000, "random walk", "Barker"]["data per step"] == pytest.approx(expected, rel=0.05)


def test_nothing_is_computed_twice(done, folder):
    again = run_experiment(EXPERIMENT, "tiny", folder).seconds
    assert {name: again[name] for name in again if NUTS not in name} == {
        name: done.seconds[name] for name in done.seconds if NUTS not in name
    }
    assert not list((folder / "parts").glob(f"*{NUTS}*"))  # what is missing today may be there tomorrow


def test_proxies_that_are_not_stored_are_evaluated_too(problem):
    def chain(model, test):
        return Chain(model, problem.walk, test, problem.proxy.centre, np.random.default_rng(1))

    stored = Controlled.around(problem.model, problem.proxy.centre, stored=True)
    barker, exact = BarkerTest(100), ExactTest()
    cases = {(problem.model, exact): 1, (problem.model, barker): 2, (stored, exact): 1, (stored, barker): 2}
    cases |= {(problem.proxies, exact): 2, (problem.proxies, barker): 3}
    for (model, test), wanted in cases.items():
        assert evaluations_per_datum(chain(model, test)) == wanted
    bounded = BoundedResiduals(problem.proxies, problem.model)
    assert evaluations_per_datum(chain(bounded, ConcentrationTest(100, 0.01))) == 3


def test_reference_is_the_posterior_s(problem):
    """Against importance sampling as it is written in books, with other random numbers and no control variates."""
    found = moments(np.random.default_rng(1), problem, 2000, lambda share: None)
    points = problem.draw(np.random.default_rng(2), 5000)
    rows = np.where(problem.model.labels > 0, 1.0, -1.0)[:, None] * problem.model.rows
    log = -np.logaddexp(0.0, -points @ rows.T).sum(axis=1) - 5.0 * (points**2).sum(axis=1)
    d = points - problem.proxy.centre
    log += 0.5 * ((d @ np.linalg.inv(problem.covariance)) * d).sum(axis=1)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean = weight @ points
    sd = np.sqrt(weight @ (points - mean) ** 2)
    noise = 4.0 / math.sqrt(5000)
    assert np.all(np.abs(found.mean - mean) < noise * sd)
    assert found.sd == pytest.approx(sd, rel=noise)
    assert found.error < 0.5 / math.sqrt(2000)  # much better than plain averages


def test_residuals_keep_within_their_bound(problem):
    """At distances where the proxies are poor, too; and the bound is no more than 100 times the largest residual."""
    model, rng, every = BoundedResiduals(problem.proxies, problem.model), np.random.default_rng(3), np.arange(2000)
    for scale in (0.01, 0.1, 1.0, 5.0):
        theta, new = problem.proxy.centre + scale * rng.standard_normal((2, 3))
        largest = np.abs(model.terms(theta, new, every)).max()
        assert largest <= model.range_bound(theta, new)
        if scale <= 0.1:
            assert model.range_bound(theta, new) < 100.0 * largest


def values(**changed):
    known = {"steps": 1000, "data": 10.0, "evaluations": 20.0, "seconds": 2.0, "acceptance": 0.5, "effective": 400.0}
    return {**known, "mean": np.zeros(2), "sd": np.ones(2), **changed}


@pytest.mark.parametrize(
    ("changed", "biased", "verdict"),
    [
        ({}, False, "no bias seen"),
        ({"mean": np.full(2, 0.14)}, False, "no bias seen"),  # within the noise of 400 draws, beyond what is tolerated
        ({"mean": np.full(2, 0.2)}, True, "biased"),
        ({"sd": np.full(2, 1.14)}, False, "no bias seen"),
        ({"sd": np.full(2, 1.2)}, True, "biased"),
        ({"effective": 40.0}, None, "ESS < 50: bias not judged"),
        ({"effective": 40.0, "sd": np.full(2, 1.5)}, True, "biased"),
        ({"effective": 19.0}, None, "ESS < 20: not measured"),
    ],
)
def test_verdicts(changed, biased, verdict):
    reference = {"mean": np.zeros(2), "sd": np.ones(2)}
    row = row_of(MapCell(100, "walk", "exact"), values(**changed), reference)
    assert row.biased is biased and row.verdict == verdict
    if row.effective == 400.0:
        assert (row.effective_rate, row.price) == (200.0, 50.0)
    if "not measured" in verdict:
        assert row.effective_rate is None and row.price is None


def test_the_best_of_those_without_bias_wins():
    def row(move, test, rate, biased=False):
        spread = 2.0 if biased else 1.0
        return CellResult(
            MapCell(100, move, test), 1000, 1.0, 2.0, 1.0, 0.5, 400.0, rate, 400.0 / rate, 0.0, 0.05, spread
        )

    every = [row("walk", "exact", 1.0), row("walk", "sequential0.05", 9.0, biased=True), row("proxy", "exact", 5.0)]
    winners = regime_map._winners(every)
    assert winners[regime_map.ALL] == every[2]
    assert winners[regime_map.PLAIN] == every[0]
    assert winners[regime_map.PEER] is None


def script(monkeypatch, tmp_path, text):
    """Stand in for a peer's script, in this environment."""
    file = tmp_path / "script.py"
    file.write_text("import json, sys, time\nimport numpy as np\n" + text)
    monkeypatch.setattr(launch, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(launch, "NUTS_SCRIPT", file)


def test_a_peer_gets_the_problem_and_gives_draws(problem, monkeypatch, tmp_path):
    text = """
with np.load(sys.argv[1]) as job:
    total, mode = float(job["rows"].sum()), job["mode"].tolist()
options = json.loads(sys.argv[3])
open(sys.argv[2], "w").write(json.dumps({"total": total, "seconds": options["seconds"], "block": options["block"]}))
np.save(sys.argv[2].replace(".json", ".npy"), np.array([mode, mode]))
"""
    script(monkeypatch, tmp_path, text)
    found = launch.nuts(problem, 3.0, 10, 1, Work())
    signs = np.where(problem.model.labels > 0, 1.0, -1.0)
    assert found["total"] == pytest.approx((problem.model.rows * signs[:, None]).sum(), rel=1e-4)
    assert found["seconds"] == 3.0 and found["block"] == 50
    assert np.array_equal(found["draws"], [problem.proxy.centre] * 2)


def test_a_peer_that_fails_says_why(problem, monkeypatch, tmp_path):
    script(monkeypatch, tmp_path, "raise SystemExit('no luck')")
    with pytest.raises(launch.NoPeer, match="failed: no luck"):
        launch.nuts(problem, 1.0, 10, 1, Work())


def test_a_peer_is_stopped(problem, monkeypatch, tmp_path):
    script(monkeypatch, tmp_path, "time.sleep(1000)")
    with pytest.raises(Cancelled):
        launch.nuts(problem, 1.0, 10, 1, Work(cancelled=lambda: True))


def test_without_an_environment_there_is_no_peer(problem, monkeypatch, tmp_path):
    monkeypatch.setattr(launch, "PYTHON", tmp_path / "python")
    with pytest.raises(launch.NoPeer, match="make peers"):
        launch.nuts(problem, 1.0, 10, 1, Work())
