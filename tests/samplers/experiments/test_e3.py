"""E3 at a tiny size: what the tests read and get wrong, and what proxies do about it."""

import numpy as np
import pytest

from samplers.chains.chain import Chain
from samplers.data.sources import load
from samplers.decide.exact import ExactTest
from samplers.experiments.framework.running import Work
from samplers.experiments.problems.burn_in import kept_steps, seconds_of_kept
from samplers.experiments.problems.exact_vs_sequential import estimate, judged
from samplers.experiments.problems.replicated import replicated, risk_of
from samplers.experiments.problems.timed_chain import timed_chain
from samplers.experiments.studies import e3
from samplers.models.control import find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import RandomWalk

NAMES = ("exact", "ε = 0.01", "ε = 0.1", "control variates", "proxy proposals")


def test_finding(done):
    own = {what: check for what, check in done.report.checks.items() if "K14" not in what and "K16" not in what}
    assert all(own.values()) and len(done.report.checks) == len(own) + 7
    rows = {row[0]: row for row in done.report.tables[0].rows}
    assert rows["exact"][5] == 1.0
    assert rows["ε = 0.2"][5] < 0.5 < rows["ε = 0.01"][5]
    assert rows["proxy proposals"][7] < 0.2 * rows["exact"][7]
    assert rows["exact"][10] == 1.0 and rows["exact"][9] == rows["exact"][7]
    assert all(0.0 < row[10] <= 1.0 for row in rows.values())
    assert all(row[9] == row[7] for row in rows.values() if row[10] < 1.0)  # a chain that spent less is at its end
    assert any("SYNTHETIC" in line for line in done.report.notices)


def test_taller_data(done):
    """Without proxies a step reads a share of the data; with them it hardly notices that there are fifty times more."""
    table = done.report.tables[1]
    rows = {(row[0], row[1]): dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert rows.keys() == {(n, name) for n in (2000, 100_000) for name in NAMES}
    for (n, name), row in rows.items():
        factor = 1.0 if name == "exact" else 2.0
        assert row["data per step"] == pytest.approx(n * row["data use"])
        assert row["likelihood evaluations/step"] == pytest.approx(factor * row["data per step"])
        own = row["the truth's own risk"]
        if row["final risk"] > 2.0 * own:
            assert row["effective draws"] == pytest.approx(1.0 / (row["final risk"] - own))
        else:  # by its blocks: more than the risk can tell
            assert row["effective draws"] > 0.5 / own
    read = {key: row["data per step"] for key, row in rows.items()}
    assert read[100_000, "exact"] == 100_000
    assert read[100_000, "ε = 0.01"] > 15 * read[2000, "ε = 0.01"]
    assert read[100_000, "proxy proposals"] < 10 * read[2000, "proxy proposals"]
    assert all(rows[n, "proxy proposals"]["the truth's own risk"] < 0.05 for n in (2000, 100_000))
    assert len(done.report.panels) == 14


def test_replicated_rows_are_those_of_the_data():
    source = load("mnist79", None, 300)
    own, more = (replicated(source, n, 10.0, 1) for n in (300, 1000))
    assert np.array_equal(own.model.rows, source.x.astype(np.float32))
    assert own.proxies.centre == pytest.approx(find_mode(Logistic.from_data(source.x, source.y, 10.0)), abs=1e-4)
    known = {row.tobytes(): label for row, label in zip(own.model.rows, own.model.labels, strict=True)}
    assert all(known[row.tobytes()] == label for row, label in zip(more.model.rows, more.model.labels, strict=True))
    assert more.model.n_data == 1000 and len({row.tobytes() for row in more.model.rows}) > 200


def test_risk_is_that_of_the_means():
    """In posterior variances, averaged over coordinates: by hand."""
    known = {"mean": np.array([1.0, 2.0]), "sd": np.array([0.5, 2.0])}
    values = {"N 7 moments": known, "N 7 exact": {"means": np.array([[1.5, 2.0], [1.0, 4.0]])}}
    assert risk_of(values, 7, "exact") == pytest.approx([0.5, 0.5])


def test_a_timed_chain_is_the_chain_itself():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 2))
    model = Logistic.from_data(x, x[:, 0] > 0, 1.0)

    def chain(own):
        return Chain(model, RandomWalk.isotropic(0.3, 2), ExactTest(), np.zeros(2), own)

    timed = timed_chain(chain, np.random.default_rng(2), 1000, lambda draws: draws, Work(), thin=7, block=64)
    draws = chain(np.random.default_rng(2)).advance(1000)
    assert timed.at[-1] == 1000
    assert timed.means[-1] == pytest.approx(draws.theta[::7].mean(axis=0))
    assert timed.acceptance == draws.accepted.mean()
    assert timed.evaluations[-1] == 300 * 1000
    assert timed.usage == 1.0
    assert np.all(np.diff(timed.seconds) > 0)
    thinned = draws.theta[::7]
    assert timed.sd == pytest.approx(thinned.std(axis=0))
    assert timed.blocks.shape == (20, 2)
    assert timed.blocks[0] == pytest.approx(draws.theta[:50:7].mean(axis=0))
    assert timed.blocks[-1] == pytest.approx(draws.theta[952::7].mean(axis=0))


def test_far_starts_are_draws_from_the_prior():
    """Chains start at the mode unless asked otherwise; those of K16 Fig. 5 never do, and the truth always does."""
    near = e3.EXPERIMENT.sizes["tiny"]._replace(rows=300)
    given = e3.problem(near, Work())
    for settings in (near, near._replace(start="far")):
        for name in ("truth", "exact", "ε = 0.1", "control variates", "burn-in exact"):
            chain = e3._started(settings, given, name, np.random.default_rng(1))
            far = name.startswith("burn-in") or (name != "truth" and settings.start == "far")
            assert np.allclose(chain.theta, given.mode) != far
            if far:
                assert np.std(chain.theta) == pytest.approx(0.1**0.5, rel=0.3)
                assert np.any(chain.advance(50).theta[-1] != given.mode)


def test_draws_of_the_burn_in_know_when_they_were_made():
    part = {"at": np.array([20, 95]), "seconds": np.array([2.0, 17.0]), "kept": np.zeros((5, 2))}
    assert kept_steps(part).tolist() == [1, 21, 41, 61, 91]  # of 10 thinned draws
    assert seconds_of_kept(part)[:2] == pytest.approx([0.1, 2.2])


def test_the_truth_is_judged_by_blocks():
    """Effective draws of an autoregression with rho = 0.9: n / 19, however it was thinned."""
    rng, n = np.random.default_rng(5), 40_000
    noise, x = rng.standard_normal((n, 6)), np.zeros((n, 6))
    for t in range(1, n):
        x[t] = 0.9 * x[t - 1] + noise[t]
    parts = [{"blocks": x.reshape(20, -1, 6).mean(axis=1), "means": x.mean(axis=0)[None], "sd": x.std(axis=0)}]
    found = estimate(parts)
    assert np.sqrt(np.mean(found.se**2)) == pytest.approx(10.0 / np.sqrt(n), rel=0.3)
    assert 0.3 * n / 19 < found.effective < 1.5 * n / 19  # the least of six
    far = judged([{**parts[0], "means": parts[0]["means"] + 1.0}], found)
    assert far.resolved and far.bias == pytest.approx(1.0) and far.final == pytest.approx(1.0)
    assert not judged(parts, found).resolved
