"""The calculator at inputs from the whole allowed range: what theory says, or a refusal, in bounded work."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import austerity as au
from designer.core import work
from designer.core.work import MOST_WORK, work_done
from designer.engine.drift_groups import groups_of
from designer.engine.look_grid import Resolution
from designer.rule.plan import as_plan
from tests.fuzz import numerics
from tests.fuzz.numerics import CHECKS, TARGETS, property_of

EXAMPLES = {"numbers_characteristics": 60, "numbers_acceptance": 15, "numbers_searches": 4, "numbers_boundary": 4}
EXAMPLES |= {"numbers_fresh_pairs": 3, "numbers_both_theories": 4, "numbers_minibatches": 4}


@pytest.mark.parametrize("name", CHECKS)
def test_numbers_are_those_that_theory_allows(name):
    settings(max_examples=EXAMPLES.get(name, 8))(property_of(name))()


NOT_FUZZED = {  # names, and why
    "audit audit_chain audit_slice certify observe run run_chains sample trials_at": "run chains, or read their steps",
    "audit_config collect_pairs config_from_table laplace_config run_config time_costs": "take a config",
    "collect from_netcdf summary to_netcdf trial_from_posterior": "take results; their files are fuzzed as parsers",
    "fit_table glm model_frame": "take a table and a formula; formulas are fuzzed as parsers",
    "check_model choose_proposal find_mode from_jax from_numpyro from_pymc glm_model": "make or judge a model of data",
    "independent_pairs laplace_verdict tempered weighted_draws": "make or judge a model of data",
}


def test_every_public_function_is_fuzzed_or_left_out_for_a_reason():
    public = {name for name in au.__all__ if inspect.isfunction(getattr(au, name))}
    called = set(re.findall(r"\bau\.([a-z_]+)\(", Path(numerics.__file__).read_text(encoding="utf-8")))
    left_out = {name for names in NOT_FUZZED for name in names.split()}
    assert left_out <= public and public - called - left_out == set()


def test_the_same_checks_are_targets_of_the_fuzzer():
    assert not TARGETS["numbers_judgements"](bytes(3000))


def test_a_wrong_number_is_noticed(monkeypatch):
    """Data use that rises with the drift."""
    right = au.characteristics

    def wrong(design, mu_std, tolerance):
        found = right(design, mu_std, tolerance)
        return found._replace(usage=found.usage[::-1])

    check, _ = CHECKS["numbers_characteristics"]
    case = au.Design(1000, 100, 0.05), [1.0, 5.0], 1e-10
    check(*case)
    monkeypatch.setattr(au, "characteristics", wrong)
    with pytest.raises(AssertionError):
        check(*case)


def test_drifts_share_one_pass_where_the_bounds_keep_the_window_narrow():
    """Cutting such a window in halves saves nothing: it once made 55 passes of this."""
    plan = as_plan(au.Design(10**15, 2, 1e-15))
    mu = np.append(0.0, np.geomspace(1e-8, 3e8, 900))
    (group,) = groups_of(plan, mu, Resolution.reaching(1e-10, plan).finer(), mirror=True)
    assert group.work < 0.1 * MOST_WORK


def test_too_much_work_is_refused_before_it_begins(refuses, monkeypatch):
    n_data = 10**15
    bounds = np.array([9.0, 1.0, 9.0, 1.0])
    close = au.Plan(au.Schedule.explicit(n_data, 10**14 + np.arange(4)), au.Boundary.explicit(-bounds, bounds))
    before = work_done()
    refuses(lambda: au.characteristics(close, 0.0), "looks: two of them are so close", "take looks further apart")
    rng, design = np.random.default_rng(1), au.Design(10**6, 1000, 1e-6)
    refuses(lambda: au.simulate(rng, design, 0.0, 10**8), "repeats = 100,000,000", "take fewer repeats")
    assert work_done() - before < 0.01 * MOST_WORK  # to find out what a simulation reads
    monkeypatch.setattr(work, "MOST_WORK", 1e4)
    refuses(lambda: au.characteristics(design, [0.0, 1.0]), "1,000 looks, 2 standardised means: takes", "a larger m")
    trial = au.TrialRun.at_stationarity(1000, 0.5, 500, rng)
    refuses(lambda: au.acceptance(au.Design(1000, 1000, 0.05), trial), "500 pairs: takes", "take fewer pairs")


def test_the_limit_is_of_a_whole_call(refuses, monkeypatch):
    """Each of its computations is below the limit, all of them together are not."""
    design, before = au.Design(10_000, 100, 0.05), work_done()
    au.characteristics(design, [0.0, 1.0])
    monkeypatch.setattr(work, "MOST_WORK", 0.9 * (work_done() - before))
    refuses(lambda: au.characteristics(design, [0.0, 1.0]), "100 looks, 2 standardised means: takes", "a larger m")
