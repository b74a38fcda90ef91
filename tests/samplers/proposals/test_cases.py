"""Chosen proposals on the permanent cases, beside their exact posteriors: means, spreads and tails are right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from samplers.chains.chain import Chain
from samplers.decide import ExactTest
from samplers.models.control import Controlled, find_mode
from samplers.models.logistic import Logistic
from samplers.proposals import choose_proposal
from tests.cases import CASES

STEPS = 6000
SKEWED = ("rare-levels", "rare-levels-wide", "near-separation", "rare-dummies", "rare-positives", "census")
ORDINARY = ("plain", "student", "lognormal", "outliers")


def controlled(name: str) -> Controlled:
    data = CASES[name].data()
    model = Logistic.from_data(data.x, data.y, data.prior_precision)
    return Controlled.around(model, find_mode(model))


@pytest.mark.parametrize("name", SKEWED)
def test_the_chosen_proposal_samples_the_posterior(name):
    model, truth = controlled(name), CASES[name].reference()
    choice = choose_proposal(model)
    assert choice.proposal.profile is not None and choice.notable
    kept = next(one for one in choice.candidates if one.words == choice.kind)
    assert kept.effective > 1.8 * choice.candidates[0].effective
    draws = Chain(model, choice.proposal, ExactTest(), model.centre, np.random.default_rng(1)).advance(STEPS)
    assert draws.accepted.mean() == pytest.approx(kept.acceptance, abs=0.06)
    noise = 1.0 / math.sqrt(0.5 * kept.effective * STEPS)  # in standard deviations; half of what is predicted is safe
    assert np.all(np.abs(draws.theta.mean(axis=0) - truth.mean) < 4.5 * (noise * truth.sd + truth.mean_se))
    low, high = np.quantile(draws.theta, [0.005, 0.995], axis=0)
    for found, wanted, error in ((low, truth.low, truth.low_se), (high, truth.high, truth.high_se)):
        # a quantile of a skewed tail is known to about sqrt(p) / density, with tails no longer than exponential
        assert np.all(np.abs(found - wanted) < 4.5 * (8.0 * noise * truth.sd + error))


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_cases_keep_the_plain_proposal(name):
    choice = choose_proposal(controlled(name))
    assert choice.proposal.plain and not choice.notable
