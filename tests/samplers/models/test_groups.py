"""Group effects: the algebra against dense matrices, derivatives against differences, scales against quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from designer.core.errors import BadInput, NumericalFailure
from samplers.models.control import Controlled, find_mode
from samplers.models.glm import glm_model
from samplers.models.groups import Grouped, Groups
from samplers.models.groups._scale_kernels import log_scale_density, slice_log_scale
from samplers.models.groups.arrow import Arrow
from samplers.models.logistic import Logistic
from samplers.proposals import ArrowStep, ProxyStep
from samplers.study.laplace import laplace_verdict


def grouped(n: int = 400, seed: int = 1) -> Grouped:
    """Two coefficients, slopes for 5 agents (a smaller term) and effects of 9 towns with two columns."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    agents = Groups(np.arange(n) % 5, name="agent", scale=1.0, degrees=math.inf)
    towns = Groups(
        rng.permutation(n) % 9, np.column_stack([np.ones(n), x[:, 1]]), "town", column_names=("intercept", "x")
    )
    y = rng.random(n) < expit(x[:, 0] + rng.standard_normal(5)[agents.index] + rng.standard_normal(9)[towns.index])
    return Grouped.of(Logistic.mapped(x, y, prior_precision=0.5), [towns, agents])


def test_the_algebra_is_that_of_dense_matrices():
    rng = np.random.default_rng(2)
    r, g, k, s = 3, 4, 2, 2
    base = rng.standard_normal((r + g * k, r + g * k))
    full = base @ base.T + np.eye(r + g * k)
    keep = np.ones_like(full)
    for one in range(g):
        for other in range(g):
            if one != other:
                keep[r + one * k : r + (one + 1) * k, r + other * k : r + (other + 1) * k] = 0.0
    full = full * keep + 20.0 * np.eye(r + g * k)
    side = full[r:, :r].reshape(g, k, r)
    leaves = np.stack([full[r + i * k : r + (i + 1) * k, r + i * k : r + (i + 1) * k] for i in range(g)])
    arrow = Arrow(full[:r, :r], side, leaves, s)
    n, v = r + g * k, rng.standard_normal(r + g * k + s)
    padded = np.zeros((n + s, n + s))
    padded[:n, :n] = full
    np.testing.assert_allclose(arrow.dense(), padded)
    np.testing.assert_allclose(v @ arrow @ v, v @ padded @ v)
    np.testing.assert_allclose((arrow - 0.5 * arrow).with_diagonal(v).dense()[:n, :n], 0.5 * full + np.diag(v[:n]))
    factor = arrow.factor()
    np.testing.assert_allclose(factor.solve(v)[:n], np.linalg.solve(full, v[:n]))
    np.testing.assert_allclose(factor.variances()[:n], np.diag(np.linalg.inv(full)))
    np.testing.assert_allclose(2.0 * factor.log_determinant, np.linalg.slogdet(full)[1])
    white = factor.whiten(v)
    np.testing.assert_allclose(white @ white, v[:n] @ full @ v[:n])
    np.testing.assert_allclose(factor.colour(white)[:n], v[:n])
    assert not factor.solve(v)[n:].any()
    rows, columns, groups = rng.standard_normal((6, r)), rng.standard_normal((6, k)), np.array([0, 3, 1, 1, 2, 0])
    wide = np.zeros((6, n))
    wide[:, :r] = rows
    for i in range(6):
        wide[i, r + groups[i] * k : r + (groups[i] + 1) * k] = columns[i]
    lengths = np.sqrt(np.einsum("ij,ji->i", wide, np.linalg.solve(full, wide.T)))
    np.testing.assert_allclose(factor.lengths(rows, groups, columns), lengths)
    with pytest.raises(NumericalFailure, match="add a prior"):
        (-arrow).factor()


def test_derivatives_are_those_of_differences():
    model, rng = grouped(), np.random.default_rng(3)
    theta, some, h = 0.3 * rng.standard_normal(model.dimension), np.arange(0, 400, 3), 1e-5
    gradient, hessian = model.derivatives(theta, some, 2)

    def value(at):
        return model.log_likelihood(at, some).sum()

    def slope(at):
        return model.derivatives(at, some, 1)[0]

    unit = h * np.eye(model.dimension)
    np.testing.assert_allclose(gradient, [(value(theta + e) - value(theta - e)) / (2 * h) for e in unit], atol=1e-7)
    np.testing.assert_allclose(
        hessian.dense(), [(slope(theta + e) - slope(theta - e)) / (2 * h) for e in unit], atol=1e-7
    )
    assert not model.derivatives(theta, some, 1)[1].dense().any()
    first = model.layout.first

    def prior(at):
        return model.log_prior(at)

    differences = np.array([(prior(theta + e) - prior(theta - e)) / (2 * h) for e in unit])
    np.testing.assert_allclose(model.prior_gradient(theta)[:first], differences[:first], atol=1e-7)
    curved = [(model.prior_gradient(theta + e) - model.prior_gradient(theta - e)) / (2 * h) for e in unit[:first]]
    np.testing.assert_allclose(
        model.prior_curvature(theta).dense()[:first, :first], np.array(curved)[:, :first], atol=1e-6
    )


def test_names_follow_the_order_of_theta():
    model = grouped()
    assert model.names[:4] == ("0", "1", "agent[0]", "agent[1]")
    assert model.names[7:10] == ("town[0]", "town[0].x", "town[1]")
    assert model.names[-3:] == ("log scale agent", "log scale town", "log scale town.x")
    assert len(model.names) == model.dimension == 2 + 5 + 18 + 3
    draws = np.arange(2.0 * model.dimension).reshape(2, -1)
    found = model.unpack(draws)
    assert list(found) == ["0", "1", "agent", "scale agent", "town", "scale town"]
    np.testing.assert_array_equal(found["town"][:, 1, 1], draws[:, model.names.index("town[1].x")])
    np.testing.assert_allclose(np.log(found["scale town"][:, 1]), draws[:, -1])


def test_residuals_vanish_at_the_centre_and_leave_out_the_scales():
    model = grouped()
    centre = find_mode(model)
    proxied, every = Controlled.around(model, centre), np.arange(model.n_data)
    away = centre + 0.05 * np.random.default_rng(4).standard_normal(centre.size)
    terms, plain = proxied.terms(centre, away, every), model.terms(centre, away, every)
    assert terms.std() < 0.05 * plain.std()
    scaled = np.concatenate([away[: model.layout.first], away[model.layout.first :] + 1.0])
    np.testing.assert_array_equal(proxied.terms(away, scaled, every), 0.0)

    def total(m, at):
        return m.log_prior(at) + m.log_likelihood(at, every).sum()

    np.testing.assert_allclose(total(proxied, away) - total(proxied, centre), total(model, away) - total(model, centre))


def test_the_centre_is_the_mode_given_the_scales_and_the_scales_are_marginal_ones():
    model = grouped()
    centre = find_mode(model)
    gradient, hessian = model.derivatives(centre, slice(None), 2)
    np.testing.assert_allclose((gradient + model.prior_gradient(centre))[: model.layout.first], 0.0, atol=1e-4)

    def marginal(scales):
        """Log posterior of the scales, the others integrated out with the proxies at their mode."""
        theta, first = centre.copy(), model.layout.first
        theta[first:] = scales
        at, _ = proxy_mode_given(model, theta, gradient, hessian)
        factor = (-(hessian + model.prior_curvature(theta))).factor()
        d = at - centre
        return model.log_prior(at) + gradient @ d + 0.5 * d @ hessian @ d - factor.log_determinant

    best = centre[model.layout.first :]
    for j in range(best.size):
        for move in (-0.1, 0.1):
            assert marginal(best + move * np.eye(best.size)[j]) < marginal(best)


def proxy_mode_given(model, theta, gradient, hessian):
    """Mode of the proxies at the scales of θ; the proxies are expanded at the rest of it."""
    factor = (-(hessian + model.prior_curvature(theta))).factor()
    step = factor.solve(gradient + model.prior_gradient(theta))
    return theta + step, factor


def test_a_centre_is_found_where_the_likelihood_is_not_concave():
    """Student-t errors, whose log density is convex far out: from zero, hundreds of rows are far out."""
    rng = np.random.default_rng(8)
    x, index = np.ones((600, 1)), np.arange(600) % 6
    y = 30.0 + rng.standard_normal(6)[index] + 0.3 * rng.standard_t(2.0, 600)
    model = glm_model(x, y, "student-t", sigma=0.3, degrees=2.0, prior=1e-4, groups=[Groups(index)])
    _, hessian = model.derivatives(np.zeros(model.dimension), slice(None), 2)
    with pytest.raises(NumericalFailure):
        (-(hessian + model.prior_curvature(np.zeros(model.dimension)))).factor()
    centre = find_mode(model)
    gradient, _ = model.derivatives(centre, slice(None), 2)
    np.testing.assert_allclose((gradient + model.prior_gradient(centre))[: model.layout.first], 0.0, atol=1e-2)
    assert abs(centre[0] + centre[1:7].mean() - 30.0) < 1.5


def test_no_normal_approximation_is_offered(refuses):
    model = grouped()
    proxied = Controlled.around(model, find_mode(model))
    refuses(lambda: ProxyStep.of(proxied), "scales", "no single normal approximation", "ArrowStep")
    refuses(lambda: laplace_verdict(proxied, np.random.default_rng(1)), "no single normal approximation")
    refuses(lambda: ArrowStep.of(proxied, "large"), "beta = 'large'")
    plain = Controlled.around(model.model, np.zeros(2))
    refuses(lambda: ArrowStep.of(plain), "no group effects", "ProxyStep")


@pytest.mark.parametrize(("groups", "squares", "degrees"), [(2, 0.3, 3.0), (50, 0.01, math.inf), (3, 40.0, 1.0)])
def test_scales_given_effects_have_their_distribution(groups, squares, degrees):
    rng, x, draws = np.random.default_rng(5), 0.0, np.empty(20_000)
    for k in range(draws.size):
        x = slice_log_scale(rng, x, groups, squares, 1.0, degrees)
        draws[k] = x
    grid = np.linspace(-12.0, 12.0, 20_001)
    density = np.array([log_scale_density(v, groups, squares, 1.0, degrees) for v in grid])
    density = np.exp(density - density.max())
    density /= density.sum()
    draws = draws[100:]
    for power in (1, 2):
        batches = (draws[: draws.size // 50 * 50] ** power).reshape(50, -1).mean(axis=1)
        error = batches.std(ddof=1) / math.sqrt(50)
        assert abs(batches.mean() - density @ grid**power) < 4.0 * error < 0.2


@pytest.mark.parametrize("order", [1, 2])
def test_residuals_are_within_their_bounds(order):
    """Also far from the centre; outside the ball there is no bound."""
    model, rng = grouped(), np.random.default_rng(7)
    proxied, every, tightest = Controlled.around(model, find_mode(model), order), np.arange(model.n_data), 0.0
    bounds = proxied.residual_bounds
    weights = bounds.weights.weights
    for _ in range(300):
        states = []
        for _ in range(2):
            white = rng.standard_normal(model.layout.first)
            white[: rng.integers(1, white.size)] *= rng.choice([0.0, 1.0, 2.0])
            states.append(proxied.centre + bounds.factor.colour(white * rng.choice([0.3, 1.0, 1.5])))
        reach = proxied.bounds(*states).reach
        assert reach == proxied.bounds(*states[::-1]).reach
        ratio = np.abs(proxied.terms(*states, every)) / (weights * reach)
        assert np.all(ratio <= 1.0 + 1e-9)
        tightest = max(tightest, ratio.max() if math.isfinite(reach) else 0.0)
    assert tightest > 0.1
    assert proxied.bounds(proxied.centre, proxied.centre + 99.0).reach == math.inf
    assert proxied.bounds(proxied.centre, proxied.centre).reach == 0.0


def test_thousands_of_groups_need_no_dense_matrix():
    """2,000 groups and 10^5 rows: a dense Hessian alone would take 32 MB, this way it is below 1 MB."""
    rng = np.random.default_rng(6)
    n, g = 100_000, 2000
    x, index = rng.standard_normal((n, 3)), rng.permutation(n) % g
    y = rng.random(n) < expit(x @ [0.5, -0.5, 0.2] + 0.5 * rng.standard_normal(g)[index])
    model = Grouped.of(Logistic.mapped(x, y, prior_precision=1.0), [Groups(index)])
    proxied = Controlled.around(model, find_mode(model))
    arrow = proxied.posterior_precision()
    assert sum(part.nbytes for part in (arrow.root, arrow.side, arrow.leaves)) < 2**20
    assert abs(math.exp(proxied.centre[-1]) - 0.5) < 0.1
    assert np.abs(proxied.centre[:3] - [0.5, -0.5, 0.2]).max() < 0.05


def test_bad_groups_are_refused(refuses):
    index = [0, 1, 1, 0]
    refuses(lambda: Groups([0.5, 1.0]), "index", "whole numbers")
    refuses(lambda: Groups([0, -1]), "row 1 has group -1")
    refuses(lambda: Groups([0, 0]), "one group")
    refuses(lambda: Groups([0, 2]), "1 of 3 groups have no rows", "'1'")
    refuses(lambda: Groups(index, labels=["a"]), "row 1 has group 1", "1 labels")
    refuses(lambda: Groups(index, labels=["a", "a"]), "'a'", "two groups")
    refuses(lambda: Groups(index, columns=np.ones((3, 1))), "shape (3, 1)")
    refuses(lambda: Groups(index, columns=np.full((4, 1), np.nan)), "finite")
    refuses(lambda: Groups(index, column_names=("a", "b")), "1 different names")
    refuses(lambda: Groups(index, scale=0.0), "scale")
    refuses(lambda: Groups(index, degrees=0.5), "degrees")
    plain = Logistic.mapped(np.eye(4), [0, 1, 0, 1])
    refuses(lambda: Grouped.of(plain, []), "list of Groups")
    refuses(lambda: Grouped.of(plain, [Groups(index), Groups(index)]), "two terms", "'group'")
    refuses(lambda: Grouped.of(plain, [Groups([0, 1, 0])]), "3 rows", "model 4")
    refuses(lambda: Grouped.of(Logistic.from_data(np.eye(4), [0, 1, 0, 1]), [Groups(index)]), "Logistic.mapped")
    many = Logistic.mapped(np.ones((2400, 1)), np.arange(2400) % 2)
    each, half = Groups(np.arange(2400), name="a"), Groups(np.arange(2400) // 2, name="b")
    refuses(lambda: Grouped.of(many, [each, half]), "1,201", "1,000")
    with pytest.raises(BadInput):
        Grouped.of(grouped(), [Groups(np.arange(400) % 2)])


def test_steps_where_some_log_p_are_convex():
    """A row in the tail of a Student-t: the Hessian is positive definite only for small scales, steps for all."""
    index = np.r_[np.repeat(np.arange(4), 30), 4]
    y = np.random.default_rng(0).normal(0.0, 0.1, index.size)
    y[-1] = 1.0
    options = {"sigma": 0.1, "degrees": 4.0, "prior": 1.0, "groups": [Groups(index, name="g")]}
    model = glm_model(np.ones((index.size, 1)), y, "student-t", **options)
    proxied = Controlled.around(model, find_mode(model))
    step = ArrowStep(proxied, 1.0, np.zeros(1))
    wide = proxied.centre.copy()
    wide[-1] = np.log(2.0)
    assert np.all(np.isfinite(step.propose(np.random.default_rng(1), wide).theta))
