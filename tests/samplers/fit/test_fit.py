"""IRLS with the sequential direction test, and its rivals: literal equations, other solvers, simulation."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import expit, ndtri

from designer.core.errors import BadInput, NumericalFailure
from samplers.fit import LAD, Logistic, irls
from samplers.fit.baselines import GRID, Steps, batch_irls, mean_loss, sgd, tune_sgd
from samplers.fit.equations import NormalEquations
from samplers.fit.loop import advance
from samplers.fit.update import Direction, direction

RULES = ("descent", "euclidean")
LOSSES = pytest.mark.parametrize("loss", [LAD(), Logistic()], ids=["lad", "logistic"])


def made(loss, n, d, seed=1):
    """Data with an intercept and columns of different scales; heavy tails for LAD."""
    rng = np.random.default_rng(seed)
    scale = np.exp(0.5 * rng.normal(size=d))
    x = rng.normal(size=(n, d)) * scale
    x[:, 0] = 1.0
    eta = x @ (rng.normal(size=d) / (scale * math.sqrt(d)))
    if isinstance(loss, LAD):
        return x, eta + rng.standard_t(3, size=n)
    return x, (rng.random(n) < expit(2.0 * eta)).astype(float)


def filled(loss, theta, x, y):
    equations = NormalEquations(loss, theta)
    equations.add(x, y)
    return equations


def printed_terms(loss, theta, x, y, unit):
    """K16's a_i and b_i, §4.1.1 and §4.1.2, with floors."""
    if isinstance(loss, LAD):
        w = 1.0 / np.sqrt(np.maximum(np.abs(y - x @ theta), unit))
        return w[:, None] * x, w * y
    r = expit(x @ theta)
    w = np.sqrt(np.maximum(r * (1.0 - r), loss.floor))
    return w[:, None] * x, w * (x @ theta) + (y - r) / w


# --- the equations ----------------------------------------------------------------------------------------------------


@LOSSES
def test_blocks_add_up_to_the_least_squares_problem_of_the_paper(loss):
    x, y = made(loss, 300, 4)
    theta = np.array([0.3, -0.2, 0.1, 0.4])
    equations = NormalEquations(loss, theta, unit=loss.unit(x @ theta, y))
    for part in np.split(np.arange(300), [1, 3, 50, 51, 200]):
        equations.add(x[part], y[part])
    a, b = printed_terms(loss, theta, x, y, equations.unit)
    u = np.linalg.lstsq(a, b)[0]  # Eqn 1
    found = direction(equations, 300)
    np.testing.assert_allclose(theta + found.update, u, rtol=1e-10)
    np.testing.assert_allclose(equations.squares - found.update @ equations.score, np.sum((b - a @ u) ** 2), rtol=1e-10)
    scored = a * (b - a @ theta)[:, None]
    np.testing.assert_allclose(equations.outer, scored.T @ scored, rtol=1e-9, atol=1e-9)
    assert equations.objective == pytest.approx(mean_loss(x, y, loss, theta), rel=1e-12)


@LOSSES
def test_blocks_agree_with_the_corrected_sherman_morrison_recursion(loss):
    x, y = made(loss, 120, 3)
    theta = np.array([0.1, 0.2, -0.3])
    equations = filled(loss, theta, x, y)
    a, b = printed_terms(loss, theta, x, y, equations.unit)
    inverse = np.linalg.inv(a[:20].T @ a[:20])
    u = inverse @ a[:20].T @ b[:20]
    e = np.sum((b[:20] - a[:20] @ u) ** 2)
    for ai, bi in zip(a[20:], b[20:], strict=True):  # Eqn 8 with denominators 1 + a' A^-1 a
        gain = inverse @ ai / (1.0 + ai @ inverse @ ai)
        old, u = u, u + (bi - ai @ u) * gain
        inverse = inverse - np.outer(gain, ai @ inverse)
        e += (bi - ai @ u) * (bi - ai @ old)
    found = direction(equations, 5000, "printed")
    np.testing.assert_allclose(found.update, u - theta, rtol=1e-8)
    sigma = e / (120 - 3) * inverse * (1.0 - 119 / 4999)  # Eqn 7d, omega² over n - D
    mu = np.linalg.norm(u - theta)
    along = (u - theta) / mu
    assert found.statistic == pytest.approx(mu / math.sqrt(along @ sigma @ along), rel=1e-8)
    assert found.fraction == 1.0


@LOSSES
@pytest.mark.parametrize("rule", RULES)
def test_the_default_statistics_follow_their_derivation(loss, rule):
    x, y = made(loss, 150, 4)
    theta = np.array([0.2, 0.1, -0.1, 0.0])
    equations = filled(loss, theta, x, y)
    a, b = printed_terms(loss, theta, x, y, equations.unit)
    gram = a.T @ a
    scores = a * (b - a @ theta)[:, None]
    d = np.linalg.solve(gram, scores.sum(axis=0))
    m = (150 * np.cov(scores.T, bias=True) * 150 / (150 - 4) + 4 * x.T @ x / 150) * (1000 - 150) / 999
    s = np.linalg.inv(gram) @ m @ np.linalg.inv(gram)
    p = gram if rule == "descent" else np.eye(4)
    signal = d @ p @ d - np.trace(p @ s)
    found = direction(equations, 1000, rule)
    variance = d @ p @ s @ p @ d + np.trace(p @ s @ p @ s)
    assert found.statistic == pytest.approx(signal / math.sqrt(variance), rel=1e-8)
    assert found.fraction == pytest.approx(max(signal / (d @ p @ d), 0.0), rel=1e-8)
    half = np.linalg.cholesky(gram).T  # in the metric of A noise has the covariance half S half'
    values = np.linalg.eigvalsh(half @ s @ half.T)
    z, squared = -ndtri(0.01), max(d @ gram @ d, values.sum())
    few = (math.sqrt(squared) + z * math.sqrt(values[-1])) ** 2
    assert found.decrement <= few / 300 * (1 + 1e-8)
    limit = 300 * found.decrement
    if limit < few * (1 - 1e-8):
        low = limit - z * math.sqrt(4 * values[-1] * limit + 2 * np.sum(values**2))
        assert squared - values.sum() == pytest.approx(low, rel=1e-7, abs=1e-7 * limit)
    assert not found.exact


@pytest.mark.parametrize("rule", [*RULES, "printed"])
def test_all_data_leave_no_doubt(rule):
    x, y = made(LAD(), 100, 3)
    found = direction(filled(LAD(), np.zeros(3), x, y), 100, rule)
    assert found.statistic == math.inf
    assert found.fraction == 1.0
    assert found.exact
    assert found.decrement == pytest.approx(found.update @ filled(LAD(), np.zeros(3), x, y).score / 200, rel=1e-12)


# --- the error of the test --------------------------------------------------------------------------------------------


def near_the_solution(loss, d, n_data, n, distance):
    """Data, and a θ `distance` sampling errors of n rows away from the solution, with all the data's g there."""
    x, y = made(loss, n_data, d)
    solution = batch_irls(x, y, loss).theta
    gram = filled(loss, solution, x, y).gram
    rng = np.random.default_rng(3)
    away = np.linalg.solve(np.linalg.cholesky(gram).T, rng.normal(size=d)) * math.sqrt(n_data / n / d)
    theta = solution + distance * away
    return x, y, theta, direction(filled(loss, theta, x, y), n_data).update, filled(loss, theta, x, y).score


def rates(loss, rule, distance, repeats=1200, epsilon=0.05, d=15, n_data=6000, n=300):
    """P(confident) and P(confident and more than 90 degrees off) of one look at n rows."""
    x, y, theta, update, score = near_the_solution(loss, d, n_data, n, distance)
    rng = np.random.default_rng(4)
    truth = score if rule == "descent" else update
    confident = wrong = 0
    for _ in range(repeats):
        rows = rng.choice(n_data, n, replace=False)
        found = direction(filled(loss, theta, x[rows], y[rows]), n_data, rule)
        passes = found.statistic > -ndtri(epsilon)
        confident += passes
        wrong += passes and found.update @ truth < 0.0
    return confident / repeats, wrong / repeats


@LOSSES
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("distance", [0.1, 1.0])
def test_a_confident_direction_is_rarely_wrong(loss, rule, distance):
    confident, wrong = rates(loss, rule, distance)
    assert wrong <= 0.05
    assert confident <= 0.2  # there is hardly anything to be confident of: all noise near 0.1


@LOSSES
def test_a_clear_direction_is_recognised(loss):
    confident, wrong = rates(loss, "descent", 12.0, repeats=200)
    assert confident > 0.9
    assert wrong == 0.0


def test_the_printed_test_takes_the_noise_of_many_coordinates_for_signal():
    confident, wrong = rates(Logistic(), "printed", 0.1, repeats=300)
    assert confident > 0.5
    assert wrong > 0.2  # against ε = 0.05: why it is not the default


@LOSSES
def test_an_iteration_of_many_looks_is_rarely_wrong(loss):
    x, y, theta, _, score = near_the_solution(loss, 8, 4000, 400, 1.0)
    wrong = n = 0
    for seed in range(150):
        fit = irls(np.random.default_rng(seed), x, y, loss, start=theta, epsilon=0.05, max_iterations=1, increment=100)
        wrong += (fit.theta - theta) @ score < 0.0
        n += fit.read
    assert wrong / 150 <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 150)
    assert n / 150 < 3200  # and not because everything is read


# --- where it arrives -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_logistic_regression_converges_to_the_likelihood_maximum(rule):
    x, y = made(Logistic(), 20_000, 6)

    def negative(theta):
        eta = x @ theta
        return np.mean(np.logaddexp(0.0, eta) - y * eta), x.T @ (expit(eta) - y) / y.size

    exact = minimize(negative, np.zeros(6), jac=True, options={"gtol": 1e-9}).x
    fit = irls(np.random.default_rng(1), x, y, Logistic(), rule=rule, tolerance=1e-10)
    assert fit.reason == "converged"
    np.testing.assert_allclose(fit.theta, exact, atol=2e-5)
    np.testing.assert_allclose(batch_irls(x, y, Logistic()).theta, exact, atol=1e-6)


def test_lad_converges_to_the_linear_programme():
    x, y = made(LAD(), 2000, 4)
    n, d = x.shape
    cost = np.concatenate([np.zeros(d), np.ones(2 * n)])
    residuals = np.hstack([x, np.eye(n), -np.eye(n)])
    exact = linprog(cost, A_eq=residuals, b_eq=y, bounds=[(None, None)] * d + [(0, None)] * (2 * n))
    fit = irls(np.random.default_rng(1), x, y, LAD(0.001), tolerance=1e-8, max_iterations=500)
    assert fit.reason == "converged"
    np.testing.assert_allclose(fit.theta, batch_irls(x, y, LAD(0.001), max_iterations=500).theta, atol=2e-3)
    assert mean_loss(x, y, LAD(), fit.theta) == pytest.approx(exact.fun / n, rel=2e-5)


@LOSSES
def test_it_reads_far_less_than_batch_for_the_same_test_error(loss):
    x, y = made(loss, 110_000, 20)
    train, test = (x[:100_000], y[:100_000]), (x[100_000:], y[100_000:])
    batch = batch_irls(*train, loss, tolerance=1e-8)
    goal = 1.01 * mean_loss(*test, loss, batch.theta)

    def read_until(fit):
        good = [mean_loss(*test, loss, theta) <= goal for theta in fit.trace.theta]
        return int(fit.trace.read[good.index(True)])

    tolerance = 3e-3 if isinstance(loss, LAD) else 1e-2  # LAD's updates gain but a part of what is left
    sequential = irls(np.random.default_rng(1), *train, loss, tolerance=tolerance)
    assert sequential.reason == "converged"
    assert read_until(sequential) * 20 < read_until(batch)
    assert sequential.read < 100_000  # it stops by itself before batch IRLS ends its first iteration
    assert mean_loss(*test, loss, sequential.theta) <= goal


def test_the_printed_rule_does_not_converge_where_the_default_does():
    x, y = made(Logistic(), 50_000, 25)
    best = mean_loss(x, y, Logistic(), batch_irls(x, y, Logistic()).theta)
    ours = irls(np.random.default_rng(1), x, y, Logistic(), max_read=100_000)
    theirs = irls(np.random.default_rng(1), x, y, Logistic(), rule="printed", max_read=100_000)
    assert mean_loss(x, y, Logistic(), ours.theta) < 1.001 * best
    assert mean_loss(x, y, Logistic(), theirs.theta) > 1.02 * best
    assert theirs.trace.n.max() < 2000 < ours.trace.n.max()  # its batches never grow


@LOSSES
def test_batches_grow_from_a_thousandth_to_everything(loss):
    x, y = made(loss, 60_000, 4)
    trace = irls(np.random.default_rng(1), x, y, loss, tolerance=1e-7).trace
    assert trace.n[0] < 1000
    assert trace.n[-1] == 60_000
    assert np.median(trace.n[: trace.n.size // 2]) < np.median(trace.n[trace.n.size // 2 :])


def test_the_default_rule_does_not_depend_on_the_units_of_the_columns():
    x, y = made(Logistic(), 20_000, 4)
    mix = np.diag([1e-3, 1.0, 50.0, 1e4]) + np.triu(np.ones((4, 4)), 1)
    plain = irls(np.random.default_rng(1), x, y, Logistic(), tolerance=1e-4)
    mixed = irls(np.random.default_rng(1), x @ mix, y, Logistic(), tolerance=1e-4)
    np.testing.assert_array_equal(plain.trace.n, mixed.trace.n)
    np.testing.assert_allclose(mix @ mixed.theta, plain.theta, rtol=1e-6)


# --- floors and awkward data ------------------------------------------------------------------------------------------


def test_residuals_of_zero_do_not_blow_up():
    x, y = made(LAD(), 5000, 3)
    truth = np.array([1.0, -2.0, 0.5])
    y = x @ truth
    y[::3] += 1.0  # two thirds of the data lie on the plane
    fit = irls(np.random.default_rng(1), x, y, LAD(), start=truth, max_iterations=100)
    np.testing.assert_allclose(fit.theta, truth, atol=0.01)
    exact = irls(np.random.default_rng(1), x, x @ truth, LAD(), start=truth)
    np.testing.assert_array_equal(exact.theta, truth)
    assert exact.reason == "converged"


def test_a_perfect_fit_is_found_from_afar():
    x, _ = made(LAD(), 5000, 3)
    fit = irls(np.random.default_rng(1), x, x @ [1.0, -2.0, 0.5], LAD())
    np.testing.assert_allclose(fit.theta, [1.0, -2.0, 0.5], rtol=1e-6)


def test_separable_data_end_with_a_finite_theta():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5000, 3))
    x = x[np.abs(x.sum(axis=1)) > 0.5]
    y = (x.sum(axis=1) > 0).astype(float)
    for fit in (
        irls(rng, x, y, Logistic(), tolerance=1e-3, increment=200),
        batch_irls(x, y, Logistic(), tolerance=1e-3),
    ):
        assert np.all(np.abs(fit.theta) < 1e4)
        assert np.mean((x @ fit.theta > 0) == (y == 1)) > 0.999
    assert Logistic().working(np.array([-900.0, 900.0]), np.array([0.0, 1.0]), 1.0).weight.min() == 1e-4


def test_first_batches_that_do_not_determine_theta_are_extended():
    rng = np.random.default_rng(1)
    n = 8000
    x = np.column_stack([np.ones(n), rng.normal(size=n), np.arange(n) % 200 == 0])  # 40 rows have the last feature
    y = (rng.random(n) < expit(x @ [0.5, 1.0, -1.0])).astype(float)
    fit = irls(rng, x, y, Logistic(), first=2, increment=25, tolerance=1e-10)
    assert fit.trace.n[0] > 2
    assert fit.reason == "converged"
    np.testing.assert_allclose(fit.theta, batch_irls(x, y, Logistic()).theta, atol=1e-4)


def test_rows_that_do_not_determine_the_direction_give_none():
    x, y = made(LAD(), 60, 4)
    assert direction(filled(LAD(), np.zeros(4), x[:4], y[:4]), 60) is None  # as many rows as parameters
    assert direction(filled(LAD(), np.zeros(4), x[:5], y[:5]), 60) is not None
    x[:, 3] = x[:, 1] + 1e-6 * x[:, 3]
    assert direction(filled(LAD(), np.zeros(4), x, y), 600) is None


def test_rows_held_in_a_file_or_in_single_precision_give_the_same(tmp_path):
    x, y = made(LAD(), 4000, 3)
    x = x.astype(np.float32)
    held = np.memmap(tmp_path / "x.bin", dtype=np.float32, mode="w+", shape=x.shape)
    held[:] = x
    fits = [irls(np.random.default_rng(1), rows, y, LAD(), tolerance=1e-3) for rows in (held, x, x.astype(float))]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].theta, other.theta)
    np.testing.assert_array_equal(*(sgd(np.random.default_rng(1), r, y, LAD(), GRID[3]).theta for r in (held, x)))
    held[:] = np.nan
    with pytest.raises(BadInput, match="some rows read are not finite"):
        irls(np.random.default_rng(1), held, y, LAD())


# --- the record -------------------------------------------------------------------------------------------------------


@LOSSES
def test_the_trace_adds_up(loss):
    x, y = made(loss, 30_000, 5)
    seen = []
    fit = irls(np.random.default_rng(1), x, y, loss, tolerance=1e-4, progress=lambda *row: seen.append(row))
    trace = fit.trace
    np.testing.assert_array_equal(trace.read, np.cumsum(trace.n))
    assert trace.read[-1] == fit.read
    assert seen == list(zip(trace.read, trace.n, trace.objective, strict=True))
    np.testing.assert_array_equal(trace.theta[-1], fit.theta)
    assert np.all((trace.fraction >= 0.0) & (trace.fraction <= 1.0))
    path = np.vstack([np.zeros(5), trace.theta[:-1]])
    certain = trace.statistic > -ndtri(0.01)
    np.testing.assert_array_equal(trace.theta[~certain], path[~certain])  # without confidence there is no step
    truth = np.array([mean_loss(x, y, loss, theta) for theta in path])
    partial = trace.n < 30_000
    off = np.abs(trace.objective - truth)
    assert np.all(off[partial] <= 5 * trace.objective_se[partial])  # at θ = 0 every loss is log 2
    np.testing.assert_allclose(trace.objective[~partial], truth[~partial], rtol=1e-10)


def test_the_same_seed_gives_the_same_fit():
    x, y = made(LAD(), 10_000, 4)
    one, same, other = (irls(np.random.default_rng(s), x, y, LAD(), tolerance=1e-3) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.theta, same.theta)
    np.testing.assert_array_equal(one.trace.n, same.trace.n)
    assert not np.array_equal(one.theta, other.theta)


def test_it_stops_when_asked():
    x, y = made(Logistic(), 10_000, 4)
    calls = iter(range(100))
    fit = irls(np.random.default_rng(1), x, y, Logistic(), tolerance=0.0, cancelled=lambda: next(calls) >= 5)
    assert fit.reason == "cancelled"
    assert 0 < fit.read < 10_000
    assert fit.trace.read.size >= 1
    limited = irls(np.random.default_rng(1), x, y, Logistic(), tolerance=0.0, max_read=500)
    assert limited.reason == "budget"
    assert limited.trace.read[-2] < 500 <= limited.read
    few = irls(np.random.default_rng(1), x, y, Logistic(), tolerance=0.0, max_iterations=2)
    assert few.reason == "iterations"
    assert few.trace.n.size == 2
    assert batch_irls(x, y, Logistic(), cancelled=lambda: True).read == 0
    assert sgd(np.random.default_rng(1), x, y, Logistic(), GRID[0], cancelled=lambda: True).read == 0


# --- rivals -----------------------------------------------------------------------------------------------------------


@LOSSES
def test_batch_counts_all_data_in_every_iteration(loss):
    x, y = made(loss, 10_000, 4)
    fit = batch_irls(x, y, loss)
    assert fit.reason == "converged"
    assert fit.read == 10_000 * fit.trace.n.size
    assert set(fit.trace.n) == {10_000}
    assert np.all(np.diff(fit.trace.objective) < 1e-12)


@LOSSES
def test_stochastic_gradients_are_the_textbook_loop(loss):
    x, y = made(loss, 40, 3)
    fit = sgd(np.random.default_rng(5), x, y, loss, Steps(0.5, 10.0, 0.7), read=100)
    rng, theta, t = np.random.default_rng(5), np.zeros(3), 0
    for _ in range(3):
        for i in rng.permutation(40)[: 100 - t]:
            eta = x[i] @ theta
            score = np.sign(y[i] - eta) if isinstance(loss, LAD) else y[i] - expit(eta)
            theta = theta + 0.5 * (10.0 + t) ** -0.7 * score * x[i]
            t += 1
    np.testing.assert_allclose(fit.theta, theta, rtol=1e-12)
    assert (fit.read, fit.reason) == (100, "budget")
    assert fit.trace.n.sum() == 100


@LOSSES
def test_tuning_keeps_the_best_of_the_grid_and_says_what_it_read(loss):
    x, y = made(loss, 6000, 4)
    held_out = x[5000:], y[5000:]
    grid = [Steps(1e-6, 1.0, 0.5), Steps(1.0, 10.0, 0.7), Steps(1e200, 1.0, 0.0)]
    tuned = tune_sgd(np.random.default_rng(1), x[:5000], y[:5000], loss, held_out, grid=grid)
    assert tuned.best == grid[1]
    assert tuned.read == 15_000
    assert tuned.losses[1] < 1.1 * mean_loss(*held_out, loss, batch_irls(x, y, loss).theta)
    assert tuned.losses[2] > 1e3  # ran away, and is not chosen
    assert np.argmin(tuned.losses) == 1


# --- bad input --------------------------------------------------------------------------------------------------------

X, Y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50.0) % 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": X[0]}, ["x:", "two-dimensional"]),
        ({"x": [["a"]]}, ["x:", "real numbers"]),
        ({"x": X.astype(complex)}, ["x:", "complex"]),
        ({"x": X[:40]}, ["y:", "40 rows"]),
        ({"x": X[:3], "y": Y[:3]}, ["3 rows", "3 parameters"]),
        ({"x": np.where(X > 1.5, np.nan, X)}, ["x:", "not finite"]),
        ({"y": np.where(Y == 0, np.inf, Y)}, ["y:", "not finite"]),
        ({"y": 2 * Y - 1}, ["y:", "0 or 1"]),
        ({"x": np.column_stack([X, X[:, 0] + X[:, 1]])}, ["x:", "depends linearly"]),
        ({"x": np.column_stack([X, 0 * Y])}, ["x:", "zero"]),
        ({"epsilon": 0.0}, ["epsilon"]),
        ({"epsilon": 0.6}, ["epsilon"]),
        ({"epsilon": math.nan}, ["epsilon"]),
        ({"rule": "best"}, ["rule", "descent"]),
        ({"first": 0}, ["first"]),
        ({"first": 51}, ["first", "50"]),
        ({"increment": 1.5}, ["increment"]),
        ({"start": [0.0]}, ["start", "3 finite"]),
        ({"start": [0.0, np.nan, 0.0]}, ["start"]),
        ({"tolerance": -1.0}, ["tolerance"]),
        ({"max_iterations": 0}, ["max_iterations"]),
        ({"max_read": 0}, ["max_read"]),
    ],
)
def test_bad_input_is_one_clear_line(refuses, given, words):
    arguments = {"x": X, "y": Y, "loss": Logistic()} | given
    refuses(lambda: irls(np.random.default_rng(1), **arguments), *words)


def test_rivals_and_losses_refuse_what_they_cannot_use(refuses):
    rng = np.random.default_rng(1)
    refuses(lambda: batch_irls(X[:2], Y[:2], LAD()), "2 rows")
    refuses(lambda: batch_irls(np.column_stack([X, X[:, 0]]), Y, LAD()), "depends linearly")
    refuses(lambda: sgd(rng, X, Y, LAD(), Steps(math.nan, 1.0, 1.0)), "c1")
    refuses(lambda: sgd(rng, X, Y, LAD(), GRID[0], read=0), "read")
    refuses(lambda: sgd(rng, X, Y, "lad", GRID[0]), "loss")
    refuses(lambda: tune_sgd(rng, X, Y, LAD(), (X, Y), grid=[]), "grid")
    refuses(lambda: LAD(0.0), "floor")
    refuses(lambda: Logistic(0.3), "floor", "0.25")
    with pytest.raises(NumericalFailure, match="diverged"):
        advance(np.zeros(1), Direction(np.array([np.inf]), math.inf, 1.0, 0.0))
