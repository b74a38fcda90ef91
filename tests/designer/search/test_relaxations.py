"""Advice for infeasible searches: each piece makes the same search feasible."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Space, TrialRun, search
from designer.search.relaxations import relaxations, rounded_up

TRIAL = TrialRun.at_stationarity(20_000, 0.4, 60, np.random.default_rng(3))


def test_rounding_up_never_lowers():
    values = np.exp(np.random.default_rng(0).uniform(-14, 0, 2000))
    rounded = np.array([rounded_up(float(v)) for v in values])
    assert np.all(rounded >= values)
    assert np.all(rounded <= 1.1 * values)
    assert [rounded_up(v) for v in (0.01, 0.12, 0.1201, 0.99, 0.999)] == [0.01, 0.12, 0.13, 0.99, 1.0]


def test_every_advice_is_feasible_when_followed():
    space = Space(500, 1000, (0.5, 0.5), (1.0,), (0.01, 0.5))
    found = search(TRIAL, 0.004, space=space)
    assert found.best is None
    advice = {a.knob: a for a in relaxations(TRIAL, found, space=space)}
    assert {"tolerance", "m_high", "epsilon_low"} <= set(advice)
    followed = {
        "tolerance": search(TRIAL, advice["tolerance"].value, space=space),
        "m_high": search(TRIAL, 0.004, space=Space(500, advice["m_high"].value, (0.5, 0.5), (1.0,), (0.01, 0.5))),
        "epsilon_low": search(TRIAL, 0.004, space=Space(500, 1000, (0.5, 0.5), (1.0,), (1e-6, 0.5))),
    }
    for knob, again in followed.items():
        assert again.best == advice[knob].found.best
        assert f"{again.best.m:,}" in advice[knob].effect
    assert advice["tolerance"].value == pytest.approx(found.nearest_tolerance, rel=0.1)


def test_the_whole_data_are_the_last_resort():
    space = Space(500, 10_000, (0.5, 1.0), (1.0,), (0.4, 0.5))
    found = search(TRIAL, 1e-4, space=space)
    (whole,) = [a for a in relaxations(TRIAL, found, space=space) if a.knob == "m_high"]
    assert whole.value == whole.found.best.m == 20_000


def test_other_criteria():
    found = search(TRIAL, 1e-4, "fixed-m", space=Space(epsilon=(0.01, 0.5)))
    knobs = {a.knob for a in relaxations(TRIAL, found, "fixed-m", space=Space(epsilon=(0.01, 0.5)))}
    assert knobs == {"tolerance", "epsilon_low"}
    space = Space(m_high=1000, epsilon=(1e-3, 0.5))
    found = search(None, 0.002, "worst-case", n_data=10**5, space=space)
    knobs = {a.knob for a in relaxations(None, found, "worst-case", n_data=10**5, space=space)}
    assert {"tolerance", "epsilon_low"} <= knobs
    assert relaxations(TRIAL, search(TRIAL, 0.05)) == []
