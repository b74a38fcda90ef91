"""Bands and folds: what fresh pairs would say."""

from __future__ import annotations

import numpy as np
import pytest

from designer import BadInput, Design, acceptance, bootstrap, cross_validate, worst_case
from tests.designer.search.test_search import N_DATA, pairs

DESIGN = Design(N_DATA, 500, 0.05)


def test_the_bands_are_those_of_the_normal_approximation_for_many_pairs():
    trial = pairs(2000)
    step, found = acceptance(DESIGN, trial), bootstrap(np.random.default_rng(1), DESIGN, trial, repeats=2000)
    for band, values in ((found.error, np.abs(step.delta)), (found.usage, step.usage)):
        half_width = 1.96 * values.std() / np.sqrt(len(trial))
        assert band.value == pytest.approx(values.mean())
        assert band.high - band.value == pytest.approx(half_width, rel=0.15)
        assert band.value - band.low == pytest.approx(half_width, rel=0.15)


def test_too_few_pairs_are_called_so_with_a_number_that_would_do():
    few = bootstrap(np.random.default_rng(1), DESIGN, pairs(20))
    warning = few.warning(0.5 * few.error.value)
    assert warning.startswith("20 pairs are too few")
    wanted = int(warning.split("about ")[1].split(" ")[0].replace(",", ""))
    enough = bootstrap(np.random.default_rng(1), DESIGN, pairs(2 * wanted, seed=5))
    assert enough.warning(0.5 * few.error.value) is None


def test_folds_are_designed_without_the_pairs_they_are_measured_on():
    trial = pairs(60)
    found = cross_validate(np.random.default_rng(3), trial, 0.03, folds=3, confidence=None)
    assert len(found.folds) == 3
    for fold in found.folds:
        assert fold.design.provenance.pairs == 40
        assert fold.train_error <= 0.03
        assert fold.test_error != fold.train_error
    errors = np.array([fold.test_error for fold in found.folds])
    assert found.test_error == pytest.approx(errors.mean())
    assert found.holds == (found.test_error <= 0.03 + 2 * found.test_error_se)


def test_folds_carry_the_error_of_their_criterion():
    trial = pairs(60)
    found = cross_validate(np.random.default_rng(3), trial, 0.05, "quantile", folds=3, quantile=0.8, confidence=None)
    parts = np.array_split(np.random.default_rng(3).permutation(60), 3)
    for fold, part in zip(found.folds, parts, strict=True):
        fresh = acceptance(fold.design, trial.subset(np.sort(part)))
        assert fold.test_error == pytest.approx(np.quantile(np.abs(fresh.delta), 0.8))
        assert fold.test_usage == pytest.approx(fresh.mean_usage)
        assert fold.train_error <= 0.05


def test_the_hardest_decision_is_the_same_on_any_pairs():
    trial = pairs(40)
    found = cross_validate(np.random.default_rng(3), trial, 0.05, "worst-case", folds=2)
    for fold in found.folds:
        assert fold.test_error == fold.train_error == pytest.approx(worst_case(fold.design).error[0], abs=1e-6)
        assert fold.test_error > 2 * acceptance(fold.design, trial).mean_abs_delta  # which is not what was asked
    assert found.test_error == found.folds[0].test_error and found.test_error_se == 0 and found.holds


def test_a_design_that_does_not_hold_is_found_out():
    found = cross_validate(np.random.default_rng(3), pairs(20), 0.03, folds=2, confidence=None)
    assert not found._replace(test_error=0.2, test_error_se=0.01).holds
    assert found._replace(test_error=0.031, test_error_se=0.01).holds


def test_bad_input():
    with pytest.raises(BadInput, match="3 pairs are too few for 5 folds"):
        cross_validate(np.random.default_rng(0), pairs(3), 0.1)
    with pytest.raises(BadInput, match=r"level = 1\.0"):
        bootstrap(np.random.default_rng(0), DESIGN, pairs(3), level=1.0)
