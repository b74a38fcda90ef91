"""The documented flow on some permanent cases, as commands: right, refused or warned, but never silently wrong.

The whole table is `python -m benchmarks trust`, and stands in docs/trust.md.
"""

import numpy as np
import pytest

from benchmarks.samplers.trust import (
    REFUSED,
    RIGHT,
    RIGHT_USES,
    SILENT,
    WRONG_USES,
    Outcome,
    command,
    compared,
    flow,
    pairs_of_uses,
    report,
)
from samplers import collect
from tests.cases import CASES, PROPER

QUICK = {"draws": 1_200, "pairs": 60, "certify": False}
BY_NAME = {use.name: use for use in [*RIGHT_USES, *WRONG_USES]}


def draws_of(reference, rng, shift=0.0, scale=1.0, size=4_000):
    """Results of four chains that are normal with the reference's means and sds, moved and widened."""
    theta = reference.mean + reference.sd * (shift + scale * rng.standard_normal((4, size, reference.mean.size)))
    return collect([{"theta": chain} for chain in theta])


@pytest.mark.parametrize("name", ["plain", "rare-levels"])
def test_the_flow_is_never_silently_wrong(tmp_path, name):
    outcome = flow(BY_NAME[name], tmp_path / "flow", **QUICK)
    assert outcome.fine, outcome
    if name == "plain":
        assert outcome.verdict == RIGHT and outcome.usage < 0.2, outcome


@pytest.mark.parametrize(
    ("name", "words"), [("flat prior", "separable by column 4"), ("collinear", "columns 1, 2 and 4")]
)
def test_no_posterior_is_refused_before_anything_runs(tmp_path, name, words):
    outcome = flow(BY_NAME[name], tmp_path / "flow", **QUICK)
    assert outcome.verdict == REFUSED and outcome.said.startswith("trial: ") and words in outcome.said


def test_a_trial_run_in_burn_in_is_refused(tmp_path):
    outcome = flow(BY_NAME["burn-in"]._replace(n=5_000), tmp_path / "flow", **QUICK)
    assert outcome.verdict == REFUSED and outcome.said.startswith("design: ") and "burn-in" in outcome.said


def test_a_design_of_another_proposal_is_noticed_by_the_run(tmp_path):
    outcome = flow(BY_NAME["other proposal"], tmp_path / "flow", **QUICK)
    assert outcome.verdict == REFUSED or "not as the design predicts" in outcome.said, outcome


# --- the study itself -------------------------------------------------------------------------------------------------


def test_wrong_draws_are_seen_as_wrong():
    reference, rng = PROPER["plain"].reference(), np.random.default_rng(1)
    assert not compared(draws_of(reference, rng), reference)[1]
    for wrong in ({"shift": 0.15}, {"scale": 0.85}, {"scale": 1.15}):
        assert compared(draws_of(reference, rng, **wrong), reference)[1], wrong
    errors, _ = compared(draws_of(reference, rng, shift=0.15), reference)
    assert errors[0] == pytest.approx(0.15, abs=0.05)


def test_wrong_tails_are_seen_as_wrong():
    """A normal cut at two standard deviations, widened to the right sd: means and sds are right, quantiles are not."""
    reference, rng = PROPER["plain"].reference(), np.random.default_rng(2)
    z = rng.standard_normal((4, 20_000, reference.mean.size))
    cut = np.where(np.abs(z) < 1.8, z, rng.uniform(-1.0, 1.0, z.shape))
    tree = collect([{"theta": reference.mean + reference.sd * chain / cut.std()} for chain in cut])
    (mean, sd, tail), beyond = compared(tree, reference)
    assert mean < 0.05 and sd < 0.05 and tail > 0.25 and beyond


def test_every_case_is_used_at_two_sizes_and_with_both_tests():
    pairs = pairs_of_uses()
    assert {(use.case, use.n) for use, _ in pairs} == {(name, n) for name in PROPER for n in (None, 50_000)}
    assert all(use.sequential and not exact.sequential and use[1:4] == exact[1:4] for use, exact in pairs)
    assert {use.case for use in WRONG_USES} >= set(CASES) - set(PROPER)


def test_outcomes_are_kept_and_reported(tmp_path, monkeypatch):
    calls = []

    def once(use, folder):
        calls.append(use)
        folder.mkdir(parents=True)
        return Outcome(SILENT if use.name == "plain" else RIGHT, "x | y", 0.123, 0.01, 0.5, 0.02)

    monkeypatch.setattr("benchmarks.samplers.trust.WORK", tmp_path)
    monkeypatch.setattr("benchmarks.samplers.trust.flow", once)
    lines = report()
    assert lines == report() and len(calls) == 4 * len(PROPER) + len(WRONG_USES)
    assert any(line.startswith("| plain | 2,000 | **silently wrong** | .123 | .010 | .500 | 2.00% |") for line in lines)
    assert any(line.startswith("| burn-in: ") and line.endswith("| right | x \\| y |") for line in lines)
    assert f"Silently wrong: 2 of {len(calls)}." in lines


def test_commands_are_those_of_the_product():
    assert command("evaluate", "--n-data", 1000, "--m", 100, "--epsilon", 0.1, "--mu-std", 0)["looks"] == 10
