"""Every family's functions against mpmath, its bounds against a grid, its refusals, and the priors."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from samplers.models.families.catalogue import family_of, fixed_family
from samplers.models.families.joint import JOINT, SAMPLED, JointFamily, joint_slopes, joint_values
from samplers.models.families.kernels import bounds, each, kernels, shape_of
from samplers.models.families.own import OwnFamily
from samplers.models.glm import glm_model
from samplers.models.priors import Flat, Joint, Laplace, Normal, StudentT, as_prior, compiled, compiled_log_prior

SIGMA, DEGREES, DISPERSION, SHAPE, TRIALS = 1.7, 3.5, 0.4, 2.5, 9
SHAPES = {
    "gaussian": {"sigma": SIGMA},
    "student-t": {"sigma": SIGMA, "degrees": DEGREES},
    "negative-binomial": {"dispersion": DISPERSION},
    "gamma": {"shape": SHAPE},
}
Y = {
    **dict.fromkeys(("bernoulli", "probit", "cloglog"), (0.0, 1.0)),
    "binomial": (0.0, 4.0, 9.0),
    **dict.fromkeys(("poisson", "negative-binomial"), (0.0, 1.0, 250.0, 1e9)),
    **dict.fromkeys(("gaussian", "student-t"), (-2.0, 0.3, 1e6)),
    "gamma": (1e-8, 0.7, 1e5),
}
ETA = (-40.0, -31.0, -12.0, -5.5, -1.0, -0.01, 0.0, 0.3, 2.0, 5.0, 9.0)


def log_p(name: str, eta, y: float):
    """log p up to a term without η, in 40 digits."""
    e = mpmath.exp(eta)
    return {
        "bernoulli": lambda: y * eta - mpmath.log1p(e),
        "binomial": lambda: y * eta - TRIALS * mpmath.log1p(e),
        "probit": lambda: mpmath.log(mpmath.ncdf(eta if y > 0 else -eta)),
        "cloglog": lambda: mpmath.log(-mpmath.expm1(-e)) if y > 0 else -e,
        "poisson": lambda: y * eta - e,
        "negative-binomial": lambda: y * eta - (y + 1 / mpmath.mpf(DISPERSION)) * mpmath.log1p(e * DISPERSION),
        "gaussian": lambda: -((y - eta) ** 2) / (2 * mpmath.mpf(SIGMA) ** 2),
        "student-t": lambda: (
            -mpmath.mpf(DEGREES + 1) / 2 * mpmath.log1p((y - eta) ** 2 / (DEGREES * mpmath.mpf(SIGMA) ** 2))
        ),
        "gamma": lambda: -SHAPE * (eta + y / e),
    }[name]()


def made(name: str):
    return fixed_family(family_of(name, SHAPES.get(name, {})))


def at(family, order: int, eta: np.ndarray, y: float) -> np.ndarray:
    return each(family, order, eta, np.full(eta.size, y), np.full(eta.size, float(TRIALS)), np.ones(eta.size))


@pytest.mark.parametrize("name", Y)
def test_log_p_and_its_derivatives(name):
    family = made(name)
    with mpmath.workdps(40):
        for y in Y[name]:
            for order in range(4):
                found = at(family, order, np.array(ETA), y)
                for value, eta in zip(found, ETA, strict=True):
                    exact = float(mpmath.diff(lambda t, y=y: log_p(name, t, y), mpmath.mpf(eta), order))
                    terms = abs(exact) + (1.0 + abs(y) if order == 0 else 0.0) * (1.0 + abs(eta))
                    precision = 1e-14 if order < 2 else 2e-11 if order == 2 else 1e-5
                    floor = 1e-14 if order < 3 else 1e-9
                    assert value == pytest.approx(exact, rel=precision, abs=precision * terms + floor), (y, eta, order)


@pytest.mark.parametrize("name", Y)
def test_changes_are_right_to_the_last_digits(name):
    """What decisions are made of, also for neighbouring η: no family loses digits there."""
    family, rng = made(name), np.random.default_rng(1)
    old = np.concatenate([rng.normal(0.0, s, 40) for s in (0.1, 2.0, 8.0)])
    new, out = old + rng.normal(0.0, 0.05, old.size), np.empty(old.size)
    ones, trials = np.ones(old.size), np.full(old.size, float(TRIALS))
    with mpmath.workdps(40):
        for y in Y[name]:
            shape = np.array(shape_of(family))
            kernels(family).changes(shape, old, new, np.full(old.size, y), trials, ones, 1.0, np.zeros(old.size), out)
            for k in range(old.size):
                one, other = (log_p(name, mpmath.mpf(t), y) for t in (old[k], new[k]))
                size = max(1.0, y * abs(old[k])) + (abs(float(one)) if name in ("poisson", "gamma", "cloglog") else 0.0)
                assert abs(out[k] - float(other - one)) < 2e-15 * size + 1e-14 * abs(out[k])


@pytest.mark.parametrize("name", Y)
def test_bounds_are_bounds_and_are_reached(name):
    family, rng = made(name), np.random.default_rng(2)
    for y in Y[name]:
        centre = rng.normal(min(y, 5.0) if name in ("gaussian", "student-t") else 0.0, 3.0, 300)
        half = rng.exponential(2.0, 300)
        low, high = centre - half, centre + half
        same = np.full(300, y), np.full(300, float(TRIALS)), np.ones(300)
        for order in (2, 3):
            bound = bounds(family, order, low, high, *same)
            grid = np.abs([at(family, order, low + share * (high - low), y) for share in np.linspace(0.0, 1.0, 401)])
            assert np.all(grid.max(axis=0) <= bound * (1.0 + 1e-9) + 1e-12)
            assert np.all(bound <= 1.02 * grid.max(axis=0) + 1e-9)


def test_far_out_nothing_overflows():
    """Beyond e^300 log p is cut off: a state there is refused by any test, and its square is still finite."""
    eta = np.array([-1e9, -1e4, 800.0, 1e9])
    for name in Y:
        for y in Y[name]:
            assert np.all(np.isfinite(at(made(name), 0, eta, y)))
    assert at(made("probit"), 0, np.array([-1e3]), 1.0)[0] == pytest.approx(-500007.8266948, rel=1e-12)
    assert at(made("cloglog"), 0, np.array([-1e3]), 1.0)[0] == -1000.0


def test_nan_stays_nan():
    for name in Y:
        assert np.isnan(at(made(name), 0, np.array([np.nan]), Y[name][-1])[0])


# --- several predictors -----------------------------------------------------------------------------------------------

JOINTS = {
    "gaussian": ((SAMPLED,), 2, (-2.0, 3.0)),
    "student-t": ((SAMPLED, SAMPLED), 3, (-2.0, 30.0)),
    "student-t, sigma": ((SAMPLED, 4.0), 2, (-2.0, 30.0)),
    "student-t, degrees": ((2.0, SAMPLED), 2, (-2.0, 30.0)),
    "negative-binomial": ((SAMPLED,), 2, (0.0, 1.0, 40.0, 1e6)),
    "gamma": ((SAMPLED,), 2, (1e-3, 5.0)),
    "softmax": ((), 3, (0.0, 1.0, 3.0)),
}


def exact_joint(name: str, shape: tuple, y: float, *eta):
    """log p up to a term of y, in 40 digits."""
    family = name.split(",")[0]
    shapes, rest = [], list(eta[1:])
    if family == "softmax":
        total = 1 + sum(mpmath.exp(t) for t in eta)
        return ([0, *eta][int(y)]) - mpmath.log(total)
    for given in shape:
        shapes.append(mpmath.exp(rest.pop(0)) if given == SAMPLED else mpmath.mpf(given))
    t, s = eta[0], shapes[0]
    if family == "gaussian":
        return -mpmath.log(s) - (y - t) ** 2 / (2 * s**2)
    if family == "student-t":
        nu = shapes[1]
        constant = mpmath.loggamma((nu + 1) / 2) - mpmath.loggamma(nu / 2) - mpmath.log(nu) / 2 - mpmath.log(s)
        return constant - (nu + 1) / 2 * mpmath.log1p((y - t) ** 2 / (nu * s**2))
    if family == "gamma":
        return s * mpmath.log(s) - mpmath.loggamma(s) + s * (mpmath.log(y) - t - y * mpmath.exp(-t))
    r = 1 / s
    return (
        mpmath.loggamma(y + r)
        - mpmath.loggamma(r)
        - y * mpmath.log(r)
        + y * t
        - (y + r) * mpmath.log1p(mpmath.exp(t) / r)
    )


@pytest.mark.parametrize("name", JOINTS)
def test_several_predictors_and_their_derivatives(name):
    shape, q, ys = JOINTS[name]
    family = JointFamily(name.split(",")[0], shape)
    assert family.name in JOINT
    pairs = [(j, i) for j in range(q) for i in range(j, q)]
    with mpmath.workdps(40):
        for y in ys:
            for eta in np.array([[0.3, 0.8, 1.1], [-2.0, -6.0, -1.0], [1.0, -14.0, 3.0]])[:, :q]:
                same = np.array([y]), np.array([math.log(y) if y > 0.0 else 0.0]), np.ones(1)
                column = np.ascontiguousarray(eta[:, None])
                value, (slopes, curves) = joint_values(family, column, *same), joint_slopes(family, column, *same)

                def f(*t, y=y):
                    return exact_joint(name, shape, y, *t)

                point = tuple(mpmath.mpf(t) for t in eta)
                exact = float(f(*point))
                assert value[0] == pytest.approx(exact, rel=1e-12, abs=1e-12 * (1.0 + abs(y)))
                for j in range(q):
                    order = tuple(int(k == j) for k in range(q))
                    first = float(mpmath.diff(f, point, order))
                    assert slopes[j, 0] == pytest.approx(first, rel=1e-8, abs=1e-9), (y, eta, j)
                for at_, (j, i) in enumerate(pairs):
                    order = tuple(int(k == j) + int(k == i) for k in range(q))
                    second = float(mpmath.diff(f, point, order))
                    assert curves[at_, 0] == pytest.approx(second, rel=1e-7, abs=1e-8), (y, eta, j, i)


# --- refusals ---------------------------------------------------------------------------------------------------------

REFUSED = [
    ("bernoulli", [0, 1, 2], {}, "y[2] = 2: family bernoulli: must be 0 or 1"),
    ("poisson", [0, -1, 2], {}, "y[1] = -1: family poisson: must be a whole number, 0 or more"),
    ("negative-binomial", [0, 1.5, 2], {}, "y[1] = 1.5: …whole numbe"),
    ("gamma", [1.0, 0.0, 2.0], {}, "y[1] = 0: family gamma: must be above 0"),
    ("gaussian", [1.0, np.inf, 2.0], {}, "y[1] = inf: family gaussian: must be finite"),
    ("binomial", [1, 5, 2], {"trials": [3, 4, 3]}, "y[1] = 5 of 4 trials: …0 to its trials"),
    ("binomial", [1, 1, 2], {}, "trials: family binomial needs them"),
    ("binomial", [1, 1, 2], {"trials": [1.5, 2, 3]}, "trials[0] = 1.5: must be a whole numbe"),
    ("softmax", [0, 2, 2], {}, "no row has class 1"),
    ("poisson", [0, 1, 2], {"sigma": 2.0}, "sigma = 2.0: family poisson has no shape paramete"),
    ("gaussian", [0, 1, 2], {"sigma": 0.0}, "sigma = 0.0: must lie"),
    ("poisson", [0, 1, 2], {"weights": [1, -1, 1]}, "weights[1] = -1: must be finite, 0 or more"),
    ("poisson", [0, 1, 2], {"offset": [1, np.nan, 1]}, "offset[1] = nan: must be finite"),
    ("poisson", [0, 1, 2], {"prior": Normal([1.0, 2.0])}, "prior precision has shape"),
    ("poisson", [0, 1, 2], {"prior": "wide"}, "prior = 'wide': must be Normal"),
    ("poisson", [0, 1, 2], {"names": ["a", "b"]}, "names: 2 of them, but x has 1 column"),
    ("tweedie", [0, 1, 2], {}, "family = 'tweedie': must be one of bernoulli"),
    ("poisson", ["a", "b", "c"], {}, "y: must be numbers"),
]


@pytest.mark.parametrize(("family", "y", "options", "message"), REFUSED)
def test_what_is_refused(refuses, family, y, options, message):
    refuses(lambda: glm_model(np.ones((3, 1)), y, family, **options), *message.split("…"))


# --- priors -----------------------------------------------------------------------------------------------------------

PRIORS = [
    Normal(2.0),
    Normal([1.0, 0.0, 3.0], [0.5, 0.0, -1.0]),
    StudentT([1.0, 2.0, 0.5], 3.0, 0.2),
    Laplace(0.7, [0.0, 1.0, 2.0]),
    Flat(),
]


@pytest.mark.parametrize("given", PRIORS)
def test_priors_and_their_derivatives(given):
    prior, theta = given.over(3), np.array([0.3, -1.2, 4.0])
    joint = Joint(prior, Normal(0.25, 1.0).over(1), 3)
    longer, steps = np.append(theta, 0.3), 1e-5 * np.eye(3)
    slope = [(prior.smooth(theta + h) - prior.smooth(theta - h)) / 2e-5 for h in steps]
    bend = [((prior.gradient(theta + h) - prior.gradient(theta - h)) / 2e-5)[k] for k, h in enumerate(steps)]
    np.testing.assert_allclose(prior.gradient(theta), slope, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(prior.curvature(theta), bend, rtol=1e-6, atol=1e-9)
    assert prior.log_prior(theta) == pytest.approx(prior.smooth(theta), abs=1e-3)
    assert compiled_log_prior(compiled(joint), longer) == pytest.approx(joint.log_prior(longer), rel=1e-14)
    assert joint.gradient(longer)[3] == pytest.approx(0.25 * 0.7)
    assert joint.curvature(longer)[3] == -0.25


def test_numbers_are_precisions():
    assert as_prior(2.0) == Normal(2.0)
    assert list(Normal([1.0, 0.0]).over(2).flat) == [False, True]


# --- families of one's own --------------------------------------------------------------------------------------------


def log_cosh(eta, y):
    return -math.log(math.cosh(y - eta))


def test_derivatives_by_differences():
    family, eta, y, ones = OwnFamily(log_cosh), np.linspace(-2.0, 2.0, 7), np.full(7, 0.3), np.ones(7)
    exact = {1: np.tanh(y - eta), 2: -1.0 / np.cosh(y - eta) ** 2}
    for order, wanted in exact.items():
        np.testing.assert_allclose(each(family, order, eta, y, ones, ones), wanted, rtol=1e-7)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (OwnFamily(lambda eta, y: -abs(eta - y), name="sharp"), "family sharp: its … disagree …; give slope and"),
        (OwnFamily(lambda eta, y: math.log(eta)), "its value is nan at eta = -2, y = 1: must be finite"),
        (OwnFamily(lambda eta, y: eta.foo), "family own: numba cannot compile it"),
        (OwnFamily(log_cosh, slope=lambda eta, y: eta), "its slope and differences of log p disagree"),
    ],
)
def test_families_that_cannot_be(refuses, family, message):
    refuses(lambda: glm_model(np.ones((3, 1)), [1.0, 0.0, 2.0], family), *message.split("…"))
