"""The choice of a proxy proposal: predictions against chains, and what is chosen on which data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from samplers import SamplerConfig, run_config
from samplers.chains.chain import Chain
from samplers.config.assemble import build
from samplers.decide import ExactTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.models.tempered import tempered
from samplers.models.totals import log_posteriors
from samplers.proposals import ProxyStep, choose_proposal
from samplers.proposals.choice import independence_chain
from tests.samplers.proposals.test_shaped import rare_levels


def controlled(model: Logistic) -> Controlled:
    return Controlled.around(model, find_mode(model))


def ordinary(n: int = 3000) -> Logistic:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, 5))
    return Logistic.from_data(x, rng.random(n) < 1.0 / (1.0 + np.exp(-x[:, 0])), 1.0)


@pytest.fixture(scope="module")
def rare() -> Controlled:
    return controlled(rare_levels())


# --- what it is computed from -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_log_posteriors_are_those_of_the_model(temperature):
    x = np.random.default_rng(2).standard_normal((5000, 3))
    y = x[:, 0] > 0.3
    states = np.random.default_rng(3).standard_normal((7, 3))
    for plain in (Logistic.from_data(x, y, 0.5), Logistic.mapped(x.astype(np.float32), y, 0.5)):
        model = tempered(plain, temperature)
        wanted = [model.log_prior(s) + model.log_likelihood(s, np.arange(5000)).sum() for s in states]
        np.testing.assert_allclose(log_posteriors(model, states), wanted, rtol=1e-12)


def test_log_posteriors_of_a_model_of_ones_own():
    class Own(Logistic):
        pass

    model = ordinary(400)
    own = Own(model.rows, model.prior_precision)
    states = np.random.default_rng(4).standard_normal((3, 5))
    np.testing.assert_allclose(log_posteriors(own, states), log_posteriors(model, states), rtol=1e-12)


def test_the_independence_chain_on_few_states_is_solved_exactly():
    """Autocorrelations of the transition matrix, summed one by one."""
    rng = np.random.default_rng(5)
    log_weight, log_share, states = rng.normal(0, 1, 6), rng.normal(0, 0.5, 6), rng.normal(0, 1, (6, 1))
    share = np.exp(log_share) / np.exp(log_share).sum()
    target = share * np.exp(log_weight)
    target /= target.sum()
    moves = share * np.minimum(1.0, np.exp(log_weight - log_weight[:, None]))
    acceptance = float(target @ moves.sum(axis=1))
    np.fill_diagonal(moves, moves.diagonal() + 1.0 - moves.sum(axis=1))
    shares = []
    for power in (1, 2):
        f = (states[:, 0] - target @ states[:, 0]) ** power
        f = f - target @ f
        total, moved = 1.0, f
        for _ in range(2000):
            moved = moves @ moved
            total += 2.0 * float(target @ (f * moved)) / float(target @ (f * f))
        shares.append(1.0 / total)
    assert independence_chain(log_weight, log_share, states) == pytest.approx((acceptance, min(shares)), abs=1e-9)


# --- what is predicted ------------------------------------------------------------------------------------------------


def effective(values: np.ndarray) -> float:
    """Effective draws by the autocorrelations up to lag 12; chains here forget within a few steps."""
    away = values - values.mean()
    return values.size / (1 + 2 * sum(float(away[k:] @ away[:-k]) for k in range(1, 13)) / float(away @ away))


def test_predictions_come_true(rare):
    """Acceptance and effective draws per step of the chosen proposal and of one with Student tails."""
    found = choose_proposal(rare).candidates
    for degrees in (math.inf, 10.0):
        predicted = next(one for one in found if one.degrees == degrees and one.bent)
        proposal = ProxyStep.of(rare, 1.0, degrees, profile=True)
        draws = Chain(rare, proposal, ExactTest(), rare.centre, np.random.default_rng(6)).advance(6000)
        assert draws.accepted.mean() == pytest.approx(predicted.acceptance, abs=0.04)
        ess = min(effective(draws.theta[:, j]) for j in range(8)) / 6000
        assert ess == pytest.approx(predicted.effective, rel=0.25)


# --- what is chosen ---------------------------------------------------------------------------------------------------


def test_the_plain_proposal_is_kept_on_ordinary_data():
    model = controlled(ordinary())
    choice, plain = choose_proposal(model, 0.7), ProxyStep.of(model, 0.7)
    assert choice.proposal.plain and not choice.notable and choice.candidates == ()
    assert "nearly so (largest skewness 0.0" in choice.sentence
    for name in ("centre", "factor", "precision", "beta"):
        np.testing.assert_array_equal(getattr(choice.proposal, name), getattr(plain, name))


def test_rare_levels_get_profile_corrections(rare):
    choice = choose_proposal(rare, 0.9)
    assert choice.proposal.degrees == math.inf and choice.proposal.profile.size == 4 and choice.proposal.beta == 0.9
    plain, *others = choice.candidates
    best = next(one for one in others if one.bent and one.degrees == math.inf)
    assert best.effective > 0.8 and best.effective > 3 * plain.effective
    assert choice.kind == "normal, with profile corrections in 4 directions"
    assert choice.sentence.startswith(f"proxy proposals: {choice.kind}; predicted 0.")
    again = choose_proposal(rare, 0.9)
    assert again.candidates == choice.candidates and again.sentence == choice.sentence


def test_without_profiles_rare_levels_get_student_tails(rare):
    choice = choose_proposal(rare, profile=False)
    assert math.isfinite(choice.proposal.degrees) and choice.proposal.profile is None
    assert {one.bent for one in choice.candidates} == {0}


def test_what_is_asked_for_is_made(rare):
    one = choose_proposal(rare, tails=7, profile=True)
    assert (one.proposal.degrees, one.proposal.profile.size, one.candidates) == (7.0, 4, ())
    assert one.sentence.endswith("7 degrees of freedom, with profile corrections in 4 directions, as asked")
    assert choose_proposal(rare, tails="normal", profile=False).proposal.plain
    assert choose_proposal(rare, tails=7, profile="auto").proposal.degrees == 7.0
    assert choose_proposal(rare, tails="auto", profile=True).proposal.profile is not None


def test_bad_choices_are_refused(rare, refuses):
    refuses(lambda: choose_proposal(rare, tails="heavy"), "tails = 'heavy'", '"auto", "normal" or degrees')
    refuses(lambda: choose_proposal(rare, tails=0.5), "tails = 0.5")
    refuses(lambda: choose_proposal(rare, profile="yes"), "profile = 'yes'", "true, false")


class Counts:
    """Poisson regression: a model of one's own, whose far states are impossible (e^η overflows)."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.rows, self.y, self.n_data = x, y, y.size

    def log_prior(self, theta):
        return -0.05 * float(theta @ theta)

    def prior_gradient(self, theta):
        return -0.1 * theta

    def prior_curvature(self, theta):
        return -0.1 * np.eye(theta.size)

    def value(self, eta, indices):
        return self.y[indices] * eta - np.exp(eta)

    def slope(self, eta, indices):
        return self.y[indices] - np.exp(eta)

    def curvature(self, eta, indices):
        return -np.exp(eta)

    def terms(self, theta, theta_new, indices):
        return self.value(self.rows[indices] @ theta_new, indices) - self.value(self.rows[indices] @ theta, indices)


def test_a_model_of_ones_own_is_chosen_for_too():
    """A level whose four counts are all zero: its posterior has a long left tail."""
    rng = np.random.default_rng(7)
    x = np.hstack([np.ones((1000, 1)), rng.standard_normal((1000, 1)), np.arange(1000)[:, None] < 4])
    y = rng.poisson(1.0, 1000) * (x[:, 2] == 0)
    model = Controlled.around(Counts(x, y), find_mode(Counts(x, y)))
    choice = choose_proposal(model)
    draws = Chain(model, choice.proposal, ExactTest(), model.centre, np.random.default_rng(8)).advance(2000)
    assert choice.proposal.profile is not None
    kept = next(one for one in choice.candidates if one.degrees == choice.proposal.degrees and one.bent)
    assert draws.accepted.mean() == pytest.approx(kept.acceptance, abs=0.05) and kept.acceptance > 0.8


def test_impossible_states_have_no_weight():
    rng = np.random.default_rng(9)
    weight, states = rng.normal(0, 0.3, 50), rng.normal(0, 1, (50, 1))
    weight[:5] = -math.inf, math.nan, -math.inf, -1e9, -math.inf
    acceptance, effective = independence_chain(weight, np.zeros(50), states)
    assert 0.5 < acceptance < 0.9 and 0.3 < effective < 1.0


# --- configs ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def config_of(tmp_path):
    def make(model: Logistic, proposal: str = "", warmup: int = 0, recentre: str = "false") -> SamplerConfig:
        np.savez(tmp_path / "data.npz", x=model.rows, y=np.ones(model.n_data, dtype=np.int8))  # the rows are signed
        text = f"""
            [test]\nkind = "exact"
            [data]\npath = "{tmp_path / "data.npz"}"
            [model]\nprior_precision = {model.prior_precision}\nrecentre = {recentre}
            [proposal]\nkind = "proxy"\n{proposal}
            [run]\ndraws = 50\nchains = 1\nwarmup = {warmup}"""
        return SamplerConfig.from_toml(text)

    return make


def test_a_config_says_nothing_of_what_is_chosen_by_itself(config_of, tmp_path):
    silent, said = config_of(ordinary()), config_of(ordinary(), 'tails = "auto"\nprofile = "auto"')
    assert silent == said and silent.digest == said.digest
    assert "tails" not in silent.to_toml() and "profile" not in silent.to_toml()
    given = config_of(ordinary(), "tails = 5\nprofile = true")
    assert "tails = 5" in given.to_toml() and given.digest != silent.digest
    assert SamplerConfig.from_toml(given.to_toml()) == given
    assert build(silent).proposal.plain and "proposal" not in run_config(silent, tmp_path / "run").attrs
    assert build(given).proposal.degrees == 5.0


def test_a_run_says_which_proposal_it_made_and_is_not_resumed_with_another(config_of, tmp_path, refuses):
    config = config_of(rare_levels())
    results = run_config(config, tmp_path / "run")
    assert results.attrs["proposal"].startswith("proxy proposals: normal, with profile corrections in 4 directions;")
    plain = config_of(rare_levels(), 'tails = "normal"\nprofile = false')
    assert build(plain).proposal.plain
    refuses(lambda: run_config(plain, tmp_path / "run", resume=True), "holds another run")


def test_recentred_proposals_keep_their_kind(config_of, tmp_path):
    config = config_of(rare_levels(), "tails = 8\nprofile = true\nbeta = 0.5", 3000, "true")
    results = run_config(config, tmp_path / "run")
    assert results["posterior/theta"].shape[1] == 50


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('tails = "heavy"', ("proposal.tails = 'heavy'", '"normal" or degrees of freedom from 1 to')),
        ("tails = 0.5", ("proposal.tails = 0.5", "degrees of freedom from 1 to")),
        ("tails = true", ("proposal.tails = True", "degrees of freedom")),
        ("tails = nan", ("proposal.tails = nan", "degrees of freedom")),
        ('profile = "yes"', ("proposal.profile = 'yes'", '"auto", true or false')),
        ("profile = 1", ("proposal.profile = 1", '"auto", true or false')),
    ],
)
def test_bad_entries_are_refused(config_of, refuses, entry, words):
    refuses(lambda: config_of(ordinary(200), entry), *words)
