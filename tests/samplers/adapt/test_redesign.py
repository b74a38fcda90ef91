"""Design from the running chain: what it does, what it costs, and that a stop leaves no trace."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from designer import BadInput, Design, Space, TrialRun, acceptance
from samplers.adapt import redesign as redesign_module
from samplers.adapt.redesign import Change, Redesign, follow, follow_from, logs_in
from samplers.config.config import SamplerConfig
from samplers.config.schema import BarkerTable, RedesignTable, SliceTable
from samplers.decide import SequentialTest
from samplers.runs.results import from_netcdf, to_netcdf
from samplers.runs.run import audit_config, build, run_config
from samplers.study.observe import observe
from tests.commands import killed_after_a_checkpoint
from tests.samplers.logistic_run import write_logistic_run

N = 2000
CONFIG = f"""
[test]
kind = "sequential"
n_data = {N}
m = 1000
epsilon = 1e-6

[model]
prior_precision = 1.0
control = 0

[data]
path = "data.npz"

[proposal]
kind = "random-walk"

[run]
draws = 500
warmup = 1100
chains = 2
seed = 5
checkpoint_seconds = 0.0

[redesign]
tolerance = 0.05
every = 400
pairs = 40
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_logistic_run(tmp_path_factory.mktemp("redesign"), CONFIG, N, [0.5, -0.5, 0.2])


@pytest.fixture(scope="module")
def config(folder):
    return SamplerConfig.load(folder / "config.toml")


@pytest.fixture(scope="module")
def whole(folder, config):
    """An uninterrupted run."""
    results = run_config(config, folder / "whole")
    to_netcdf(results, folder / "whole.nc")
    return results


def table_of(directory):
    return (directory / "redesign.csv").read_text()


def test_a_bad_start_is_left_for_a_design_within_the_tolerance(whole):
    for log in logs_in(whole.attrs):
        first = log[0]
        assert (first.step, first.changed, first.reason) == (400, True, "fewer data")
        assert first.usage < 0.8 * first.old_usage
        assert all(change.error <= 0.05 + 1e-6 for change in log)
        assert log[-1].step == 800  # the last multiple before the warmup's end
    assert whole["sample_stats/n_used"].mean() < 0.75 * N


def test_the_log_is_in_the_folder_and_in_the_results(folder, whole):
    rows = list(csv.DictReader(table_of(folder / "whole").splitlines()))
    logs = logs_in(from_netcdf(folder / "whole.nc").attrs)
    flat = [(number, change) for number, log in enumerate(logs) for change in log]
    assert len(rows) == len(flat)
    for row, (number, change) in zip(rows, flat, strict=True):
        assert int(row["chain"]) == number
        assert [float(row[name]) for name in ("step", "m", "epsilon", "usage")] == [
            change.step, change.m, change.epsilon, change.usage,
        ]  # fmt: skip


@pytest.mark.parametrize("stops", [2, 5, 7])
def test_a_stopped_run_goes_on_as_if_nothing_had_been(folder, config, whole, stops):
    where, calls = folder / f"stopped-{stops}", iter([False] * stops + [True] * 10_000)
    with pytest.raises(BadInput, match="no draws after warm-up"):
        run_config(config, where, cancelled=lambda: next(calls))
    again = run_config(config, where, resume=True)
    assert np.array_equal(whole["posterior/theta"], again["posterior/theta"])
    assert again.attrs["redesign"] == whole.attrs["redesign"]
    assert table_of(where) == table_of(folder / "whole")


def test_a_killed_run_goes_on_as_if_nothing_had_been(folder, config, whole):
    where = folder / "killed"
    killed_after_a_checkpoint(where, folder / "config.toml")
    again = run_config(config, where, resume=True)
    assert np.array_equal(whole["posterior/theta"], again["posterior/theta"])
    assert table_of(where) == table_of(folder / "whole")


def test_a_longer_run_keeps_its_designs(folder, config, whole):
    """Resumed with more draws from a step that is no multiple of anything."""
    longer = SamplerConfig.load(folder / "config.toml", draws=700)
    once = run_config(longer, folder / "once")
    run_config(config, folder / "twice")
    twice = run_config(longer, folder / "twice", resume=True)
    assert np.array_equal(once["posterior/theta"], twice["posterior/theta"])
    assert twice.attrs["redesign"] == whole.attrs["redesign"]


def test_pairs_never_take_more_than_their_share(config, whole):
    for log in logs_in(whole.attrs):
        for change in log:
            assert change.passes * N <= max(20 * N, 0.1 * (change.passes * N + change.read))
    found = follow(config, 1100)
    assert 0.05 < found.share <= 0.1
    assert found.log == logs_in(whole.attrs)[0]  # in memory or on disk, the same chain


def redesign_of(config):
    return Redesign.of(config.redesign, build(config), config.run.warmup)


def test_after_the_end_the_test_is_fixed(config):
    parts, redesign = build(config), redesign_of(config)
    chain = parts.chain(np.random.default_rng(2))
    redesign.advance(chain, 1100)
    known, passes = redesign.design, redesign.passes
    chain_test, log = chain.test, list(redesign.log)
    redesign.advance(chain, 1000)
    assert (redesign.design, redesign.passes, redesign.log) == (known, passes, log)
    assert chain.test is chain_test
    assert chain.steps == 2100


def test_what_the_log_predicts_is_what_the_calculator_says(config):
    redesign = redesign_of(config)
    chain = build(config).chain(np.random.default_rng(2))
    redesign.advance(chain, 400)
    (change,) = redesign.log
    assert isinstance(redesign.trial, TrialRun)
    assert change.pairs == len(redesign.trial)
    step = acceptance(Design(N, change.m, change.epsilon, change.alpha), redesign.trial)
    assert change.error == pytest.approx(step.mean_abs_delta, abs=1e-6)
    assert change.usage == pytest.approx(step.mean_usage, abs=1e-6)


def test_recording_pairs_changes_no_draw_until_the_design_changes(config):
    """The same random numbers with and without full passes beside the steps."""
    plain = build(config).chain(np.random.default_rng(2)).advance(399)
    seen = redesign_of(config).advance(build(config).chain(np.random.default_rng(2)), 399)
    assert np.array_equal(plain.theta, seen.theta)
    assert np.array_equal(plain.n_used, seen.n_used)


def test_a_design_that_is_good_is_kept(config):
    bad = redesign_of(config)
    chain = build(config).chain(np.random.default_rng(2))
    bad.advance(chain, 400)
    generous = config.redesign.model_copy(update={"gain": 0.5})
    kept = Redesign(generous, 10_000, bad.design)
    kept.restore(chain, bad.state() | {"log": "[]"})
    kept.table = generous.model_copy(update={"tolerance": 0.06})
    chain.steps = 784  # the next multiple is near
    kept.advance(chain, 16)
    (change,) = kept.log
    assert (change.changed, change.reason) == (False, "none saves enough")
    assert kept.design == bad.design


def test_a_careless_start_is_found_out(config):
    """A test that reads next to nothing pays for no pairs; the first ones come all the same."""
    careless = Design(N, 20, 0.4)
    redesign = Redesign(config.redesign, 1100, careless)
    parts = build(config)._replace(test=SequentialTest.from_design(careless))
    redesign.advance(parts.chain(np.random.default_rng(2)), 400)
    (change,) = redesign.log
    assert change.read < 100 * N
    assert (change.passes, change.changed, change.reason) == (20, True, "tolerance broken")
    assert change.old_error > 0.05 >= change.error


def test_an_infeasible_tolerance_keeps_the_design(config):
    class Narrow(RedesignTable):
        """Where no design is good."""

        @property
        def space(self):
            return Space(20, 30, (0.5, 0.5), epsilon=(0.3, 0.5))

    redesign = Redesign(Narrow(tolerance=1e-3, every=400, pairs=40), 1100, Design(N, 100, 0.05))
    chain = build(config).chain(np.random.default_rng(2))
    redesign.advance(chain, 400)
    (change,) = redesign.log
    assert (change.changed, change.reason, change.m) == (False, "no design meets the tolerance", 100)


@pytest.mark.parametrize("words", ["23 pairs are too few", "pair 3 has κ = 1e+09"])
def test_a_refused_search_is_logged_with_its_reason(config, monkeypatch, words):
    def refused(*given, **options):
        raise BadInput(f"{words}: take others")

    monkeypatch.setattr(redesign_module, "search", refused)
    redesign = redesign_of(config)
    redesign.advance(build(config).chain(np.random.default_rng(2)), 400)
    (change,) = redesign.log
    assert (change.changed, change.reason) == (False, words)


def test_jump_chains_are_redesigned_too(folder):
    text = CONFIG.replace(
        "[model]\nprior_precision = 1.0\ncontrol = 0\n", '[model]\nkind = "rj-logistic"\nrate = 0.1\n'
    )
    text = text.replace('kind = "random-walk"', "sd_update = 0.1\nsd_birth = 0.5")
    (folder / "jumps.toml").write_text(text.replace("warmup = 1100", "warmup = 500"))
    found = follow(SamplerConfig.load(folder / "jumps.toml"), 500)
    assert len(found.log) == 1
    assert found.log[0].usage <= found.log[0].old_usage


def test_any_config_can_be_followed_from_a_guess(folder):
    exact = SamplerConfig.load(folder / "config.toml", exact=True)
    assert exact.redesign is None
    table = RedesignTable(tolerance=0.05, every=400, until=400, pairs=40)
    told = []
    found = follow_from(exact, 10**6, 1e-6, table, 400, progress=lambda *step: told.append(step))
    assert (found.log[0].changed, found.n_data, told[-1]) == (True, N, (400, 400))
    assert len(found.windows) == 2
    with pytest.raises(BadInput, match="redesign: missing"):
        follow(exact, 400)


def test_a_followed_chain_keeps_its_rule(folder):
    """That of a Barker test is Barker's: the searches must know it, and the exact chain beside has the same."""
    exact = SamplerConfig.load(folder / "config.toml", exact=True)
    barker = exact.model_copy(update={"test": BarkerTable()})
    table = RedesignTable(tolerance=0.05, every=400, until=400, pairs=40)
    found = follow_from(barker, 1000, 1e-6, table, 400)
    ruled = exact.model_copy(update={"run": exact.run.model_copy(update={"rule": "barker"})})
    assert found.log == follow_from(ruled, 1000, 1e-6, table, 400).log
    change = found.log[0]
    predicted = acceptance(Design(N, change.m, change.epsilon, change.alpha), found.trial, "barker")
    assert change.error == pytest.approx(predicted.mean_abs_delta, abs=1e-6)


def test_what_has_no_pairs_cannot_be_followed(folder):
    exact = SamplerConfig.load(folder / "config.toml", exact=True)
    slices = exact.model_copy(update={"proposal": SliceTable()})
    with pytest.raises(BadInput, match="slice"):
        follow_from(slices, 1000, 0.01, RedesignTable(tolerance=0.05, every=400, until=400), 400)


WRONG = [
    ("tolerance = 0.05", "tolerance = 0", "redesign.tolerance = 0"),
    ("tolerance = 0.05\n", "", "redesign.tolerance: missing"),
    ("pairs = 40", "pears = 40", "redesign.pears: unknown"),
    ("every = 400", "every = 4000", "redesign.every = 4,000: the redesign has only 1,100 steps"),
    ("warmup = 1100", "warmup = 0", "redesign.until: missing"),
    ('kind = "sequential"', 'kind = "exact"', "test."),
    ('kind = "random-walk"', 'kind = "slice"', "redesign: cannot be used with proposal.kind = 'slice'"),
]


@pytest.mark.parametrize(("old", "new", "problem"), WRONG)
def test_what_cannot_be_is_refused(old, new, problem):
    with pytest.raises(BadInput, match=problem):
        SamplerConfig.from_toml(CONFIG.replace(old, new))


def test_only_sequential_tests_are_redesigned():
    text = CONFIG.replace(f'kind = "sequential"\nn_data = {N}\nm = 1000\nepsilon = 1e-6', 'kind = "barker"')
    with pytest.raises(BadInput, match="redesign: needs"):
        SamplerConfig.from_toml(text)


def test_batches_that_the_data_do_not_have_are_refused_before_the_run(folder):
    (folder / "large.toml").write_text(CONFIG + "m_low = 3000\n")
    with pytest.raises(BadInput, match=r"redesign.m_low = 3000"):
        run_config(SamplerConfig.load(folder / "large.toml"), folder / "large")


def test_the_config_knows_its_redesign(config):
    assert SamplerConfig.from_toml(config.to_toml()).redesign == config.redesign
    other = SamplerConfig.from_toml(CONFIG.replace("pairs = 40", "pairs = 50"))
    assert other.digest != SamplerConfig.from_toml(CONFIG).digest
    with pytest.raises(BadInput, match="an audit is of one design"):
        audit_config(config, 10, 1)


def test_a_line_of_the_log_in_words():
    change = Change(1000, 40, True, 500, 0.05, 0.5, 1.0, 0.01, 0.4, 0.2, 0.3, 12, 10**6, "tolerance broken")
    expected = "step 1,000: changed to m = 500, ε = 0.05, α = 0.5 (tolerance broken; "
    assert change.line == expected + "on 40 pairs error 0.2 -> 0.01, data 30.00% -> 40.00%)"


def test_pairs_are_recorded_when_they_are_paid_for(config):
    """All data in every step at first: the first pair at once, the next after 18 N data, and so on."""
    redesign, chain = redesign_of(config), build(config).chain(np.random.default_rng(2))
    redesign.advance(chain, 64)
    beside, seen = build(config).chain(np.random.default_rng(2)), []
    for plain in (31, 15, 15):
        seen += observe(beside, 1, 1).pairs
        beside.advance(plain)
    assert redesign.passes == 3
    assert np.array_equal(redesign.pairs, [[p.mu, p.sigma, p.skew, p.log_ratio] for p in seen])
