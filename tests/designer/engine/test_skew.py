"""Skewness to first order: against the joint Edgeworth expansion, closed forms, and the real test."""

import json
import math
from itertools import product

import numpy as np
import pytest

from app.cli.main import main
from benchmarks.engine import skewness
from benchmarks.engine.skewness import Group
from designer.check.simulate import simulate, simulate_step
from designer.core import work
from designer.core.errors import BadInput
from designer.core.work import one_call
from designer.engine.skew import LARGEST, slopes
from designer.engine.step_error import acceptance, predictions
from designer.engine.walk import outcomes
from designer.pairs.diagnostics import skewed_population
from designer.pairs.limits import MAX_PAIRS
from designer.pairs.trial_run import TrialRun
from designer.rule.boundary import Boundary
from designer.rule.design import Design
from designer.rule.looks import Schedule
from designer.rule.plan import Plan, as_plan
from designer.search.search import search
from designer.search.space import Grid, Space

RULES = ["metropolis", "barker"]
THREE = Plan(Schedule.explicit(1000, [100, 300, 600]), Boundary.explicit([-1.2, -1.9, -1.5], [1.7, 1.3, 2.0]))


def pairs(n_data, log_acceptance, kappa, skew=None):
    """A trial run whose pairs have these A, κ and skewness."""
    a, k = np.broadcast_arrays(np.atleast_1d(np.asarray(log_acceptance, dtype=float)), kappa)
    skew = None if skew is None else np.broadcast_to(skew, a.shape)
    return TrialRun(n_data, a / n_data, k * math.sqrt(n_data - 1) / n_data, skew=skew)


def information(plan):
    n = plan.schedule.n[:-1]
    return n / (plan.schedule.n_data - n)


def edgeworth(t, low, high, mu, nodes=60):
    """Change of P(low < z < high) per unit of γ / sqrt(N): the joint expansion with cumulants t_a (1 - t_b)."""
    order = range(t.size)
    root = np.sqrt(t)
    inverse = np.linalg.inv(np.minimum.outer(root, root) / np.maximum.outer(root, root))
    x, w = np.polynomial.legendre.leggauss(nodes)
    axes = [0.5 * (a + b) + 0.5 * (b - a) * x for a, b in zip(low, high, strict=True)]
    weight = 1.0
    for a, b in zip(low, high, strict=True):
        weight = np.multiply.outer(weight, 0.5 * (b - a) * w)
    z = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(t.size, -1) - mu * root[:, None]
    y = inverse @ z
    density = np.exp(-0.5 * np.sum(z * y, axis=0)) * math.sqrt(np.linalg.det(inverse) / (2.0 * math.pi) ** t.size)
    change = np.zeros(z.shape[1])
    for a, b, c in product(order, repeat=3):
        first, middle, _ = sorted((a, b, c))
        cumulant = t[first] * (1.0 - t[middle]) / (root[a] * root[b] * root[c])
        hermite = y[a] * y[b] * y[c] - inverse[a, b] * y[c] - inverse[a, c] * y[b] - inverse[b, c] * y[a]
        change += cumulant / 6.0 * hermite
    return float(np.sum(weight.ravel() * density * change))


def moved(plan, mu, side):
    """Change of an exit probability when bounds move with the sample's standard deviation, by central differences."""
    root_t, lower, upper, h = np.sqrt(information(plan)), plan.boundary.lower, plan.boundary.upper, 1e-4
    found = []
    for sign in (1.0, -1.0):
        bounds = [g + sign * h * g * (g - mu * root_t) / (2.0 * root_t) for g in (lower, upper)]
        outcome, _ = outcomes(Plan(plan.schedule, Boundary.explicit(*bounds)), np.array([mu]), 1e-12)
        found.append(getattr(outcome, side)[0])
    return (found[0] - found[1]) / (2.0 * h)


@pytest.mark.parametrize("mu", [0.0, 0.8, -2.5])
def test_exits_are_those_of_the_joint_expansion(mu):
    """The recursion takes one step after the other; the expansion all three looks at once."""
    t, lower, upper = information(THREE), THREE.boundary.lower, THREE.boundary.upper
    below, above = moved(THREE, mu, "below"), moved(THREE, mu, "above")
    for j in range(3):
        before = slice(0, j + 1)
        far_low, far_high = np.append(lower[:j], lower[j] - 9.0), np.append(upper[:j], lower[j])
        below += edgeworth(t[before], far_low, far_high, mu)
        far_low, far_high = np.append(lower[:j], upper[j]), np.append(upper[:j], upper[j] + 9.0)
        above += edgeworth(t[before], far_low, far_high, mu)
    found = slopes(THREE, np.array([mu]))
    assert found.below[0] == pytest.approx(below / math.sqrt(1000), abs=2e-6)
    assert found.above[0] == pytest.approx(above / math.sqrt(1000), abs=2e-6)


@pytest.mark.parametrize("mu", [0.0, 1.5])
def test_one_interim_look_in_closed_form(mu):
    """The bound moves by (G/2) sqrt((1-f)/n) (G - μ sqrt(t)); the mean's third cumulant is (1-2f)/sqrt(n(1-f))."""
    n_data, n, g = 1000, 200, 1.645
    plan = Plan(Schedule.equal(n_data, n), Boundary.explicit([-g, -50, -50, -50], [g, 50, 50, 50]))
    f = n / n_data
    d = np.array([-g, g]) - mu * math.sqrt(f / (1 - f))
    shift = np.array([-g, g]) / 2 * math.sqrt((1 - f) / n) * d
    shift -= (1 - 2 * f) / math.sqrt(n * (1 - f)) / 6 * (d**2 - 1)
    exits = shift * np.exp(-(d**2) / 2) / math.sqrt(2 * math.pi)
    found = slopes(plan, np.array([mu]))
    assert [found.below[0], found.above[0]] == pytest.approx([exits[0], -exits[1]], abs=1e-9)
    assert found.usage[0] == pytest.approx(-(exits[0] - exits[1]) * (1 - f), abs=1e-9)


@pytest.mark.parametrize("design", [Design(20_000, 500, 0.05), Design(20_000, 100, 0.01, 0.8, 1.3)])
def test_reflection_changes_the_sign(design):
    mu, plan = np.array([0.0, 0.3, 2.0, 9.0]), as_plan(design)
    looks = plan.schedule.n[:-1]
    explicit = Boundary.explicit(*plan.boundary.at(np.arange(looks.size), looks / 20_000))
    lopsided = Plan(plan.schedule, Boundary.explicit(explicit.lower - 1e-13, explicit.upper))  # no symmetry to rely on
    there, back = slopes(lopsided, mu), slopes(lopsided, -mu)
    assert there.below == pytest.approx(-back.above, abs=1e-6)
    assert there.usage == pytest.approx(-back.usage, abs=1e-6)
    assert slopes(plan, -mu).above == pytest.approx(back.above, abs=1e-6)


def test_merging_looks_changes_little():
    plan, mu = as_plan(Design(100_000, 100, 0.05)), np.array([0.0, 0.5, 2.0, 8.0])
    fine, coarse = slopes(plan, mu), slopes(plan, mu, 4e-4)
    every = Plan(Schedule.explicit(100_000, plan.schedule.n), Boundary.explicit(*_rough(plan)))
    exact = slopes(every, mu)
    for name, allowed in (("below", 3e-5), ("above", 3e-5), ("usage", 3e-5)):
        assert getattr(fine, name) == pytest.approx(getattr(exact, name), abs=allowed)
        assert getattr(coarse, name) == pytest.approx(getattr(exact, name), abs=20 * allowed)


def _rough(plan):
    """The plan's bounds, but so rough at the start that no looks are merged."""
    lower, upper = plan.boundary.at(np.arange(plan.schedule.size - 1), plan.schedule.pi[:-1])
    upper = upper.copy()
    upper[-1] += 0.01
    return lower, upper


def test_no_skewness_changes_nothing():
    trial = pairs(20_000, [-3.0, -0.7, 0.0, 0.5, 4.0], 1.3, 0.0)
    for rule in RULES:
        plain, skewed, remark = predictions(Design(20_000, 100, 0.02, 0.7), trial, rule)
        assert remark is None
        for name in ("delta", "usage", "looks", "wrong", "mean_abs_delta", "mean_usage"):
            assert np.array_equal(getattr(plain, name), getattr(skewed, name))
    search_options = {"space": Space(500, 2000), "workers": 1, "confidence": None}
    assert search(trial, 0.02, **search_options).best == search(trial, 0.02, skew=True, **search_options).best


@pytest.mark.parametrize("rule", RULES)
def test_pairs_keep_their_own_skewness(rule):
    """Linear in each pair's skewness, whatever the others'."""
    design, a = Design(20_000, 500, 0.05), np.array([-2.0, -0.7, 0.5])
    plain = acceptance(design, pairs(20_000, a, 1.3), rule).delta
    one, mixed = (acceptance(design, pairs(20_000, a, 1.3, s), rule, skew=True).delta for s in (1.0, [-2.0, 0.5, 1.5]))
    assert mixed - plain == pytest.approx(np.array([-2.0, 0.5, 1.5]) * (one - plain), abs=1e-12)
    assert np.all(one < plain)  # a positive skewness makes wrong rejections likelier, whatever A


@pytest.mark.parametrize(
    ("kind", "m", "skew", "a", "rule"),
    [
        ("gamma", 100, 1.0, -0.7, "metropolis"),
        ("gamma", 500, -2.0, 0.5, "barker"),
        ("lognormal", 100, -1.0, -0.7, "metropolis"),
        ("lognormal", 500, 2.0, -0.7, "metropolis"),
    ],
)
def test_the_real_step_agrees(kind, m, skew, a, rule):
    """docs/skewness.md in small: N = 5000, 60,000 repetitions. The uncorrected theory is off by far more."""
    n_data, kappa, repeats = 5000, 1.3, 60_000
    population = math.copysign(1.0, skew) * skewness.population(Group(kind, abs(skew), m), n_data)
    skew = float((population**3).mean())
    l_i = a / n_data + population * kappa * math.sqrt(n_data - 1) / n_data
    design = Design(n_data, m, 0.05)
    seen = simulate_step(np.random.default_rng(5), design, l_i, rule=rule, repeats=repeats)
    plain, skewed, _ = predictions(design, pairs(n_data, a, kappa, skew), rule)
    assert abs(skewed.delta[0] - seen.delta) < 4 * seen.delta_se
    assert abs(plain.delta[0] - seen.delta) > 5 * seen.delta_se
    assert abs(skewed.usage[0] - seen.usage) < 4 * seen.usage_se
    assert abs(skewed.wrong[0] - seen.wrong) < 4 * seen.wrong_se


def test_the_real_test_agrees_at_each_drift():
    """Bounds that change from look to look and growing batches."""
    design, population = Design(5000, 200, 0.05, 0.6, 1.5), skewed_population(5000, 1.2)
    mu, skew = np.array([-2.0, -0.5, 0.5, 2.0]), float((population**3).mean())
    seen = simulate(np.random.default_rng(6), design, mu, 20_000, population)
    plan = as_plan(design)
    plain, slope = outcomes(plan, mu, 1e-9)[0], slopes(plan, mu)
    corrected = plain.error(mu) + skew * slope.error(mu)
    assert np.all(np.abs(corrected - seen.error) < 4 * seen.error_se)
    assert np.all(np.abs(plain.usage + skew * slope.usage - seen.usage) < 4 * seen.usage_se)
    assert np.any(np.abs(plain.error(mu) - seen.error) > 5 * seen.error_se)


def test_all_the_data_at_once_is_exact_however_skewed():
    found = acceptance(Design(1000, 1000, 0.05), pairs(1000, -0.7, 1.3, 30.0), skew=True)
    assert found.delta[0] == 0.0
    assert found.remark is None


def test_out_of_range_is_said_not_guessed():
    trial = pairs(20_000, [-0.7, 0.5, -1.0], 1.3, [1.0, -7.0, LARGEST * math.sqrt(500)])
    found = acceptance(Design(20_000, 500, 0.05), trial, skew=True)
    assert np.isnan(found.delta).tolist() == [False, True, False]
    assert np.isnan(found.usage).tolist() == [False, True, False]
    assert math.isnan(found.mean_abs_delta)
    assert math.isfinite(found.estimate)
    assert found.remark is not None
    assert "1 of 3 pairs" in found.remark
    assert "m >= 3,136" in found.remark
    assert acceptance(Design(20_000, 3136, 0.05), trial, skew=True).remark is None


def test_no_batch_of_more_than_all_data_is_advised():
    few = pairs(2_000, [0.5], 1.3, [7.0])  # 3,136 would be needed
    found = acceptance(Design(2_000, 100, 0.05), few, skew=True)
    assert found.remark is not None
    assert "m >=" not in found.remark
    assert found.remark.endswith("no prediction: audit the chain")


def test_clear_decisions_allow_more_skewness():
    """With a small κ the first look decides nearly always; the second order hardly counts. But there is a limit."""
    design, a, skew = Design(20_000, 500, 0.05), np.full(2, -0.5), np.array([4.0, 40.0])
    found = acceptance(design, pairs(20_000, a, 0.005, skew), skew=True)
    assert np.isnan(found.delta).tolist() == [False, True]
    assert np.isnan(acceptance(design, pairs(20_000, a, 0.5, skew), skew=True).delta).all()


def test_without_skewness_recorded():
    trial = pairs(20_000, -0.7, 1.3)
    with pytest.raises(BadInput, match="does not record"):
        acceptance(Design(20_000, 500, 0.05), trial, skew=True)
    with pytest.raises(BadInput, match="does not record"):
        search(trial, 0.02, skew=True, confidence=None)
    assert predictions(Design(20_000, 500, 0.05), trial).skewed is None


def test_search_keeps_the_tolerance_on_skewed_pairs():
    trial = pairs(20_000, np.linspace(-2.0, 1.0, 7), 1.3, -2.0)
    space = Space(500, 3000)
    plain, skewed = (search(trial, 0.03, space=space, skew=skew, confidence=None) for skew in (False, True))
    assert acceptance(plain.best, trial, skew=True).mean_abs_delta > 0.03
    found = acceptance(skewed.best, trial, skew=True)
    assert 0.029 < found.mean_abs_delta <= 0.03
    assert skewed.best.predicted.mean_abs_delta == pytest.approx(found.mean_abs_delta, abs=1e-6)
    assert skewed.usage == pytest.approx(found.mean_usage, abs=1e-5)


def test_search_looks_only_where_the_correction_holds():
    rng = np.random.default_rng(1)
    trial = pairs(20_000, rng.uniform(-2.0, 1.0, 30), 1.3, [0.0, 4.0, *[0.0] * 28])
    found = search(trial, 0.03, space=Space(500, 8000), skew=True)
    assert found.best.m >= 1024
    worst = search(trial, 0.2, "worst-case", space=Space(500, 8000), skew=True)
    assert worst.best.m >= 1024
    assert worst.error > search(trial, 0.2, "worst-case", grid=_only(worst.best), skew=False).error
    assert worst.error == search(trial, 0.2, "worst-case", grid=_only(worst.best)).error  # the default knows it too
    nothing = search(trial, 0.03, space=Space(500, 900), skew=True)
    assert nothing.best is None
    assert nothing.nearest_tolerance is None
    assert "take m >= 1,024" in nothing.reason


def _only(design):
    return Grid([design.m], [design.epsilon], [design.alpha])


def test_command_line(tmp_path, capsys):
    file = str(tmp_path / "trial.csv")
    pairs(20_000, [-0.7, 0.5], 1.3, [1.0, 9.0]).to_csv(file)
    arguments = ["delta", file, "--n-data", "20000", "--m", "500", "--epsilon", "0.05", "--skew", "--json"]
    assert main(arguments) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["delta"] == [pytest.approx(0.018, abs=1e-4), None]
    assert data["gaussian"]["delta"] == pytest.approx([0.0264, -0.1152], abs=1e-4)
    assert data["mean_abs_delta"] is None
    assert "1 of 2 pairs" in data["remark"]
    assert main(arguments[:-1]) == 0
    assert "with skewness" in capsys.readouterr().out
    arguments = ["design", file, "--n-data", "20000", "--tolerance", "0.05", "--skew", "--m-high", "1000", "--json"]
    assert main([*arguments, "--confidence", "0.5"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["feasible"] is False
    assert "take m >= 5,184" in data["reason"]


@pytest.mark.parametrize("kappa", [1e-4, 1.0])
def test_as_many_pairs_as_a_file_may_have_are_within_the_limit_on_work(kappa):
    """docs/limits.md: the work of the curves, and that of each pair."""

    @one_call
    def units(count):
        rng = np.random.default_rng(0)
        scales = np.exp(0.2 * rng.standard_normal(count))
        trial = pairs(10**6, kappa * rng.standard_normal(count), kappa * scales, skew=0.1)
        acceptance(Design(10**6, 500, 0.05), trial, skew=True)
        return work._call.get()

    few, more = units(1000), units(3000)
    assert 0.4 * work.MOST_WORK < few + (more - few) / 2000 * MAX_PAIRS < work.MOST_WORK
