"""Quantiles, L_p and Poisson: derivatives, other solvers, the error of the test, and awkward data."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.special import ndtri

from designer.core.errors import BadInput
from samplers.fit import LAD, Logistic, Lp, Poisson, Quantile, irls, precision
from samplers.fit.baselines import Steps, batch_irls, mean_loss, sgd
from samplers.fit.equations import NormalEquations
from samplers.fit.update import direction

EVERY = [LAD(), Quantile(0.2), Quantile(0.9), Lp(1.3), Lp(2.0), Lp(3.0), Logistic(), Poisson()]
SMOOTH = [Lp(2.0), Lp(3.0), Logistic(), Poisson()]


def named(losses):
    return pytest.mark.parametrize("loss", losses, ids=repr)


def made(loss, n, seed=1):
    """Rows with an intercept, and responses that suit the loss."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=(n, 2)) * [0.5, 3.0]])
    eta = x @ [0.4, -0.8, 0.1]
    if isinstance(loss, Poisson):
        return x, rng.poisson(np.exp(eta)).astype(float)
    if isinstance(loss, Logistic):
        return x, (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
    return x, eta + (1.0 + 0.5 * np.abs(x[:, 1])) * rng.standard_t(5, n)


@named(EVERY)
def test_scores_and_curvatures_are_derivatives_of_the_loss(loss):
    rng = np.random.default_rng(2)
    eta, y = rng.normal(size=40), rng.poisson(2.0, 40).astype(float)
    y = np.minimum(y, 1.0) if isinstance(loss, Logistic) else y
    h, unit = 1e-5, 1e-9  # a floor that no residual reaches

    def value(at):
        return loss.working(at, y, unit).value

    np.testing.assert_allclose(
        loss.working(eta, y, unit).score, -(value(eta + h) - value(eta - h)) / (2 * h), atol=1e-6, rtol=1e-6
    )
    if loss in SMOOTH:
        slope = -(loss.working(eta + h, y, unit).score - loss.working(eta - h, y, unit).score) / (2 * h)
        np.testing.assert_allclose(loss.curvature(eta, y), slope, atol=1e-6, rtol=1e-5)
    else:
        assert getattr(loss, "curvature", lambda *_: None)(eta, y) is None


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_quantiles_are_those_of_statsmodels(tau):
    x, y = made(Quantile(tau), 4000)
    theirs = sm.QuantReg(y, x).fit(q=tau)
    ours = irls(
        np.random.default_rng(1), x, y, Quantile(tau, 0.003), tolerance=1e-8, max_iterations=1000, increment=100
    )
    assert ours.reason == "converged"
    assert np.all(np.abs(ours.theta - theirs.params) < 0.25 * theirs.bse)  # LAD's floor moves it a little
    least = mean_loss(x, y, Quantile(tau), np.asarray(theirs.params))
    assert mean_loss(x, y, Quantile(tau), ours.theta) <= least * (1.0 + 1e-5)


def test_poisson_and_its_standard_errors_are_those_of_statsmodels():
    rng = np.random.default_rng(3)
    x, _ = made(Poisson(), 5000)
    offset = np.log(rng.uniform(0.1, 3.0, 5000))
    y = rng.poisson(np.exp(x @ [0.4, -0.8, 0.1] + offset)).astype(float)
    theirs = sm.GLM(y, x, family=sm.families.Poisson(), offset=offset).fit(cov_type="HC0")
    ours = irls(rng, x, y, Poisson(), offset=offset, tolerance=1e-12, increment=100)
    np.testing.assert_allclose(ours.theta, theirs.params, atol=1e-6)
    np.testing.assert_allclose(batch_irls(x, y, Poisson(), offset=offset).theta, theirs.params, atol=1e-6)
    found = precision(rng, x, y, Poisson(), ours.theta, offset=offset)
    np.testing.assert_allclose(found.se, theirs.bse, rtol=0.01)  # ours also divides by 1 - leverage
    assert np.all(found.off < 1e-5)
    part = precision(rng, x, y, Poisson(), ours.theta, offset=offset, n=2500)
    np.testing.assert_allclose(part.se, theirs.bse, rtol=0.1)


@pytest.mark.parametrize("p", [1.4, 2.0, 3.0])
def test_powers_are_those_of_a_general_minimiser(p):
    x, y = made(Lp(p), 2000)
    theirs = minimize(lambda theta: mean_loss(x, y, Lp(p), theta), np.zeros(3), tol=1e-12).x
    ours = irls(np.random.default_rng(1), x, y, Lp(p, 1e-3), tolerance=1e-12, increment=100)
    np.testing.assert_allclose(ours.theta, theirs, atol=3e-4)
    if p == 2.0:
        se = sm.OLS(y, x).fit(cov_type="HC3").bse
        np.testing.assert_allclose(precision(np.random.default_rng(1), x, y, Lp(p), ours.theta).se, se, rtol=1e-8)


def test_the_limit_of_how_far_off_a_coefficient_is_holds():
    """Of estimates that stopped on part of the rows, few are further from that of all rows than they say."""
    x, y = made(Logistic(), 20_000)
    whole, outside = batch_irls(x, y, Logistic()).theta, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        fit = irls(rng, x, y, Logistic(), tolerance=1e-2, increment=200, growth=1.2)
        assert fit.trace.n[-1] < 20_000
        found = precision(rng, x, y, Logistic(), fit.theta, n=int(fit.trace.n[-1]), confidence=0.9)
        outside += np.count_nonzero(np.abs(fit.theta - whole) > found.off)
    assert outside <= 0.1 * 120 + 4 * math.sqrt(0.1 * 0.9 * 120)


def test_a_row_that_alone_decides_a_coefficient_says_nothing_of_its_error():
    x, y = made(Poisson(), 2000)
    x = np.column_stack([x, np.arange(2000) == 7])
    theta = batch_irls(x, np.maximum(y, 1.0), Poisson()).theta
    se = precision(np.random.default_rng(1), x, np.maximum(y, 1.0), Poisson(), theta).se
    assert np.isinf(se[3]) and np.all(se[:3] < 0.1)


@named([LAD(), Quantile(0.9), Lp(1.3)])
def test_where_there_is_no_curvature_there_are_no_standard_errors(loss):
    x, y = made(loss, 200)
    assert precision(np.random.default_rng(1), x, y, loss, np.zeros(3)) is None


@named([Quantile(0.9), Lp(1.5), Poisson()])
def test_a_confident_direction_is_rarely_wrong(loss):
    """Near the solution, where there is hardly anything to be confident of."""
    n_data, n = 4000, 300
    x, y = made(loss, n_data)
    theta = batch_irls(x, y, loss, max_iterations=1000).theta + np.array([0.03, -0.02, 0.004])
    truth, rng, confident, wrong = NormalEquations(loss, theta), np.random.default_rng(4), 0, 0
    truth.add(x, y)
    for _ in range(400):
        rows = rng.choice(n_data, n, replace=False)
        equations = NormalEquations(loss, theta, span=(y.min(), y.max()))
        equations.add(x[rows], y[rows])
        found = direction(equations, n_data)
        passes = found.statistic > -ndtri(0.05)
        confident, wrong = confident + passes, wrong + (passes and found.update @ truth.score < 0.0)
    assert 0 < confident < 200
    assert wrong / 400 <= 0.05


def test_rare_counts_are_not_overlooked():
    """A hundred rows in ten thousand have a claim: most first batches hold none, and say minus infinity."""
    y = 2.0 * (np.arange(10_000) % 100 == 0)
    for seed in range(5):
        fit = irls(np.random.default_rng(seed), np.ones((10_000, 1)), y, Poisson(), increment=200, tolerance=1e-8)
        assert fit.reason == "converged"
        assert fit.theta[0] == pytest.approx(math.log(0.02), abs=1e-3)
        assert fit.trace.theta.min() > math.log(0.02) - 1.5  # nor was it ever far below


def test_what_was_not_read_counts_by_the_responses_of_all_rows():
    equations = NormalEquations(Poisson(), np.zeros(1), span=(0.0, 30.0))
    equations.add(np.ones((5, 1)), np.zeros(5))
    assert equations.steepest == 29.0  # y = 30 where μ = 1
    equations = NormalEquations(Quantile(0.9), np.zeros(1))
    assert equations.steepest == 0.9


@pytest.mark.parametrize("start", [-12.0, 12.0])
def test_poisson_arrives_from_afar(start):
    x, y = made(Poisson(), 2000)
    best = batch_irls(x, y, Poisson()).theta
    far = batch_irls(x, y, Poisson(), start=[start, 0.0, 0.0])
    assert far.reason == "converged"
    np.testing.assert_allclose(far.theta, best, atol=1e-5)


@named([Quantile(0.8), Lp(1.5), Poisson()])
def test_stochastic_gradients_get_near(loss):
    x, y = made(loss, 20_000)
    best = mean_loss(x, y, loss, batch_irls(x, y, loss, max_iterations=500).theta)
    fit = sgd(np.random.default_rng(1), x, y, loss, Steps(0.1, 10.0, 0.7), read=60_000)
    assert mean_loss(x, y, loss, fit.theta) < 1.04 * best
    late = fit.trace.objective[-1]  # of the last rows, each before its own step
    assert late == pytest.approx(best, rel=0.2)


def test_an_offset_is_part_of_the_predictor():
    x, y = made(LAD(), 3000)
    offset = np.linspace(-5.0, 5.0, 3000)
    plain = irls(np.random.default_rng(1), x, y, LAD(), tolerance=1e-4, increment=100)
    moved = irls(np.random.default_rng(1), x, y + offset, LAD(), offset=offset, tolerance=1e-4, increment=100)
    np.testing.assert_allclose(moved.theta, plain.theta, atol=1e-9)
    one = sgd(np.random.default_rng(1), x, y, LAD(), Steps(0.1, 10.0, 0.7))
    other = sgd(np.random.default_rng(1), x, y + offset, LAD(), Steps(0.1, 10.0, 0.7), offset=offset)
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-9)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda: Quantile(1.0), "tau = 1.0"),
        (lambda: Lp(5.0), "p = 5.0"),
        (lambda: irls(np.random.default_rng(1), np.ones((9, 1)), -np.ones(9), Poisson()), "0 or more"),
        (lambda: irls(np.random.default_rng(1), np.ones((9, 1)), np.ones(9), LAD(), offset=[1.0]), "one per row"),
        (
            lambda: sgd(np.random.default_rng(1), np.ones((9, 1)), np.ones(9), None, Steps(1, 1, 1)),
            "losses of samplers",
        ),
    ],
)
def test_bad_input_is_refused(bad, message):
    with pytest.raises(BadInput, match=message):
        bad()
