"""Improper posteriors are refused with the columns that are the reason; a prior on these columns is enough."""

from __future__ import annotations

import numpy as np
import pytest

from designer.core.errors import NumericalFailure
from samplers.chains.chain import Chain
from samplers.decide import ExactTest
from samplers.models.control import Controlled, find_mode
from samplers.models.control.mode import SUBSAMPLE
from samplers.models.glm import GLM
from samplers.models.logistic import Logistic
from samplers.models.tempered import tempered
from samplers.proposals import ProxyStep, RandomWalk
from tests.cases import CASES

NAMES = tuple("abcdefghij")


def gaussian(n=400, columns=3):
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(n), rng.standard_normal((n, columns - 1))])
    return x, rng.random(n) < 1.0 / (1.0 + np.exp(-x @ np.linspace(0.5, -1.0, columns)))


def refused(x, y, *words, precision=0.0, mapped=False, temperature=1.0):
    """find_mode refuses with one line that contains these words; and the words."""
    make = Logistic.mapped if mapped else Logistic.from_data
    with pytest.raises(NumericalFailure) as caught:
        find_mode(tempered(make(x, y, precision), temperature), names=NAMES[: x.shape[1]])
    message = str(caught.value)
    assert "\n" not in message and message.startswith("no mode: ")
    assert [word for word in words if word not in message] == [], message


def test_the_improper_cases():
    x, y, precision = CASES["separated-flat"].data()
    refused(x, y, "separable by column e", "all 40 rows", "infinity", "prior_precision", precision=precision)
    x, y, precision = CASES["collinear-flat"].data()
    refused(x, y, "collinear (columns b, c and e)", "flat prior", precision=precision)


def test_the_advice_uses_the_words_of_the_model():
    x, y = gaussian()
    level = np.column_stack([x, np.arange(400) < 7])
    for rows in (level, level + 1e-3 * level[:, [3]] * [[1, 1, 0, 1]]):
        with pytest.raises(NumericalFailure) as caught:
            find_mode(GLM.from_data(rows, np.where(np.arange(400) < 7, 1, y)))
        assert "prior=…" in str(caught.value) and "prior_precision" not in str(caught.value)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("label", [0, 1])
def test_a_level_with_one_label(mapped, label):
    x, y = gaussian()
    x, y = np.column_stack([x, np.arange(400) < 7]), np.where(np.arange(400) < 7, label, y)
    refused(x, y, "separable by column d: all 7 rows", mapped=mapped)
    refused(x, y, "separable by column d: all 7 rows", mapped=mapped, temperature=3.0)


def test_several_levels_are_counted():
    x, y = gaussian()
    level = np.arange(400)[:, None] // 5 == np.arange(7)
    refused(np.column_stack([x, level]), np.where(np.arange(400) < 35, True, y), "columns d, e, f, g, h and 2 more:")


def test_a_column_of_zeros():
    x, y = gaussian()
    refused(np.column_stack([x, np.zeros(400)]), y, "nothing but 0 in column d", "flat prior")


def test_the_level_that_was_left_out_has_one_label():
    """No column alone separates: the direction is the intercept minus the other levels."""
    rng = np.random.default_rng(5)
    level = rng.integers(0, 3, 600)
    x = np.column_stack([np.ones(600), level == 1, level == 2, rng.standard_normal(600)])
    y = np.where(level == 0, True, rng.random(600) < 0.4)
    refused(x, y, "separable by a combination", "columns a, b and c)")
    assert np.all(np.isfinite(find_mode(Logistic.from_data(x, np.where(np.arange(600) == np.argmin(level), 0, y)))))


def test_separation_in_general_position():
    x = np.random.default_rng(6).standard_normal((300, 4))
    refused(x, x @ [1.0, -1.0, 0.5, 0.2] > 0, "separable by a combination", "columns a, b, c and d)")


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_units_of_the_columns_do_not_matter(scale):
    x, y = gaussian(columns=4)
    x[:, 1] *= scale
    mode = find_mode(Logistic.from_data(x, y))
    x[:, 1] /= scale
    assert mode * [1.0, scale, 1.0, 1.0] == pytest.approx(find_mode(Logistic.from_data(x, y)), rel=1e-5)
    doubled = np.column_stack([scale * x[:, 1], x[:, 1]])
    refused(doubled, y, "collinear (columns a and b)")


def test_one_row_of_the_other_label_is_enough():
    x, y = gaussian()
    for others in (0.02, 1.0):
        level = np.where(np.arange(400) < 8, 1.0, 0.0)
        level[0] = others
        ones = np.where(np.arange(400) < 8, np.arange(400) > 0, y)
        mode = find_mode(Logistic.from_data(np.column_stack([x, level]), ones))
        gradient = Logistic.from_data(np.column_stack([x, level]), ones).gradient(mode, slice(None))
        assert np.abs(gradient).max() < 1e-6
        assert 1.0 < mode[3] < 10.0


def test_a_prior_on_the_columns_concerned_is_enough():
    x, y, _ = CASES["separated-flat"].data()
    model = Logistic.from_data(x, y, [0, 0, 0, 0, 1.0])
    mode = find_mode(model)
    assert np.abs(model.gradient(mode, slice(None)) + model.prior_gradient(mode)).max() < 1e-6
    assert 2.0 < mode[4] < 5.0
    x, y, _ = CASES["collinear-flat"].data()
    assert np.all(np.isfinite(find_mode(Logistic.from_data(x, y, [0, 0, 0, 0, 1.0]))))
    refused(x, y, "collinear", precision=[1.0, 0, 0, 1.0, 0])


def test_levels_too_rare_for_the_first_rows_have_a_mode():
    """The Newton steps on some rows see 1 row of 4: they must not fail where the level has no row there."""
    rng = np.random.default_rng(7)
    n = 2 * SUBSAMPLE + 2
    x = np.column_stack([np.ones(n), rng.standard_normal(n), np.arange(n) % 4 == 1, np.arange(n) == 5])
    x[:, 2] *= np.arange(n) < 300
    y = rng.random(n) < 0.3
    model = Logistic.from_data(x, y, [0, 0, 0, 1.0])
    mode = find_mode(model)
    assert np.abs(model.gradient(mode, slice(None)) + model.prior_gradient(mode)).max() < 1e-4


# --- a prior for each coefficient -------------------------------------------------------------------------------------


def test_each_coefficient_has_its_precision(refuses):
    x, y = gaussian()
    model, theta = Logistic.from_data(x, y, [0.0, 1.0, 4.0]), np.array([1.0, 2.0, 3.0])
    assert model.log_prior(theta) == -0.5 * (4.0 + 36.0)
    assert model.prior_gradient(theta).tolist() == [0.0, -2.0, -12.0]
    assert model.prior_curvature(theta).tolist() == np.diag([-0.0, -1.0, -4.0]).tolist()
    same = Logistic.from_data(x, y, 2.0), Logistic.from_data(x, y, [2.0] * 3)
    assert find_mode(same[0]) == pytest.approx(find_mode(same[1]), abs=1e-12)
    refuses(lambda: Logistic.from_data(x, y, [1.0, 2.0]), "shape (2,)", "3")
    refuses(lambda: Logistic.from_data(x, y, [1.0, -2.0, 0.0]), "prior_precision[1] = -2")


@pytest.mark.parametrize("control", [False, True])
def test_compiled_chains_know_each_precision(control):
    model = Logistic.from_data(*gaussian(), [0.0, 1.0, 40.0])
    centre = find_mode(model)
    controlled = Controlled.around(model, centre)
    parts = (controlled, ProxyStep.of(controlled, 0.9)) if control else (model, RandomWalk.isotropic(0.1, 3))
    fast, slow = (
        Chain(*parts, ExactTest(), centre, np.random.default_rng(1), fuse=fuse).advance(150) for fuse in (True, False)
    )
    np.testing.assert_array_equal(fast.accepted, slow.accepted)
    np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-9, atol=1e-12)
