"""A run that is not as its design predicts is noticed; one that is, hardly ever."""

import warnings

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import ndtr

from designer import Design, TrialRun, search
from designer.rule.design import Predicted
from designer.search.upper_limit import _correlation_time, mean_band
from samplers import Logistic, RandomWalk, SamplerConfig, Slice, run, run_config, summary
from samplers.chains.draws import Draws
from samplers.cluster.client import _Tally
from samplers.cluster.tasks import ChainProgress
from samplers.runs.monitor import Counts, Expected, Monitor, NotAsPredicted, in_batches, judged

N = 100_000
PIECE = 100


def process(rng, steps, mixing):
    """Acceptance probability and data use of each step of a chain: both wander slowly, the latter is skewed."""
    noise = lfilter([np.sqrt(1.0 - mixing**2)], [1.0, -mixing], rng.standard_normal((2, steps + 500)))[:, 500:]
    return ndtr(noise[0] - 0.5), np.minimum(0.02 * np.exp(0.8 * noise[1]), 1.0)


def band(values):
    return mean_band(values, values.size / _correlation_time(values))


def expected_from(rng, pairs, mixing, every=10):
    accepts, usage = (values[::every] for values in process(rng, pairs * every, mixing))
    return Expected(N, 0, accepts.mean(), usage.mean(), band(accepts), band(usage))


def decisions(rng, probability, usage):
    steps = probability.size
    n_used = np.maximum((usage * N).astype(np.int64), 1)
    return Draws(np.zeros((steps, 1)), rng.random(steps) < probability, n_used, np.ones(steps, dtype=np.int64))


def follow(monitor, number, chain):
    for first in range(0, chain.accepted.size, PIECE):
        monitor.add(number, Draws(*(values[first : first + PIECE] for values in chain)))


def watched(expected, chains):
    """What a monitor says that hears of the chains in turn, and what is said at their end."""
    monitor = Monitor(expected)
    for first in range(0, chains[0].accepted.size, PIECE):
        for number, chain in enumerate(chains):
            monitor.add(number, Draws(*(values[first : first + PIECE] for values in chain)))
    return monitor.finding, judged(expected, [chain._asdict() for chain in chains])


@pytest.mark.parametrize(("mixing", "pairs"), [(0.0, 100), (0.95, 100), (0.99, 400), (0.9, 30)])
def test_right_runs_are_hardly_ever_reported(mixing, pairs):
    """Looked at after every piece, and at the end: less than 1% of the runs (1 of 150) are reported."""
    rng, reports = np.random.default_rng([pairs, int(100 * mixing)]), 0
    for _ in range(150):
        expected = expected_from(rng, pairs, mixing)
        chains = [decisions(rng, *process(rng, 2_000, mixing)) for _ in range(2)]
        reports += any(watched(expected, chains))
    assert reports <= 1


@pytest.mark.parametrize(
    ("predicted", "seen"),
    [((0.3, 0.0224), (0.3, 0.0128)), ((0.011, 0.02), (0.29, 0.02)), ((0.843, 0.02), (0.995, 0.02))],
    ids=["reads too little", "accepts too much", "accepts nearly all"],
)
def test_wrong_runs_are_noticed(predicted, seen):
    """The wrong runs that were met, each with an uncertain prediction, within 2,000 steps of each of two chains."""
    rng = np.random.default_rng(1)
    accepts, usage = rng.beta(2.0, 2.0 / predicted[0] - 2.0, 100), predicted[1] * rng.gamma(4.0, 0.25, 100)
    expected = Expected(N, 0, *predicted, band(accepts), band(usage))
    chains = [
        decisions(rng, np.full(2_000, seen[0]), np.minimum(seen[1] * rng.gamma(4.0, 0.25, 2_000), 1.0))
        for _ in range(2)
    ]
    live, at_the_end = watched(expected, chains)
    assert live and at_the_end
    what = "data use 1.2" if seen[1] != predicted[1] else "acceptance"
    assert what in live and what in at_the_end
    assert ("acceptance" in at_the_end) == (what == "acceptance")


def test_warm_up_and_steps_that_read_nothing_do_not_count():
    expected = Expected(N, 50, 0.3, 0.02, (0.29, 0.31), (0.019, 0.021))
    rng = np.random.default_rng(1)
    good = decisions(rng, np.full(3_000, 0.3), np.full(3_000, 0.02))
    good = good._replace(n_used=good.n_used + 50)
    early = good._replace(accepted=np.ones(3_000, dtype=bool))
    free = good._replace(n_used=np.full(3_000, 50), accepted=np.zeros(3_000, dtype=bool))
    monitor = Monitor(expected, warmup=3_000)
    for part in (early, good, free):
        follow(monitor, 0, part)
    assert monitor.finding == "" and sum(batch.decided for batch in monitor.batches[0]) == 3_000
    eager = Monitor(expected)
    follow(eager, 0, early)
    assert "acceptance" in eager.finding


def test_batches_stay_few_and_lose_nothing():
    batches, total = [], Counts(0, 0, 0)
    rng = np.random.default_rng(1)
    for _ in range(5_000):
        size = int(rng.integers(0, 300))
        new = Counts(size, size // 3, 7 * size)
        batches, total = in_batches(batches, new), total.plus(new)
        assert len(batches) < 64
    assert Counts(*np.sum(batches, axis=0)) == total
    assert min(batch.decided for batch in batches[:-1]) > total.decided / 200


def test_the_advice_fits_the_proposal():
    counts = [[Counts(100, 99, 2_000)] * 20]
    numbers = N, 0, 0.8, 0.0002, (0.79, 0.81), (0.0001, 0.0003)
    assert "mini-batches miss" in Expected(*numbers, proxy=True).differs(counts)
    assert "mini-batches miss" not in Expected(*numbers).differs(counts)


# --- whole runs -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2_000, 2))
    model = Logistic.from_data(x, rng.random(2_000) < 1.0 / (1.0 + np.exp(-x[:, 0])), prior_precision=1.0)
    return model, RandomWalk.isotropic(0.08, 2)


@pytest.fixture(scope="module")
def other_design():
    """A design for a chain that moves much less: it accepts nearly everything."""
    return search(TrialRun.at_stationarity(2_000, 0.95, 100, np.random.default_rng(1)), 0.05).best


def test_the_design_carries_what_a_run_is_compared_with(other_design):
    predicted = Design.from_toml(other_design.to_toml()).predicted
    assert predicted == other_design.predicted
    assert predicted.acceptance_band[0] < predicted.acceptance < predicted.acceptance_band[1]
    assert predicted.usage_band[0] < predicted.mean_usage < predicted.usage_band[1]
    assert predicted.acceptance == pytest.approx(0.95, abs=0.06)


def test_a_band_is_two_numbers_in_order(refuses):
    refuses(lambda: Predicted(usage_band=[0.1]), "two numbers")
    refuses(lambda: Predicted(usage_band=[0.5, 0.1]), "first number")
    refuses(lambda: Predicted(acceptance_band=[0.5, 1.5]), "must lie in")


def test_runs_in_memory_warn_and_draw_the_same(parts, other_design):
    options = {"start": np.array([1.0, 0.0]), "draws": 1_500, "chains": 2}
    silent = run(*parts, other_design.without_notes, **options)
    with pytest.warns(NotAsPredicted, match="acceptance 0.4.*predicted 0.9"):
        told = run(*parts, other_design, **options)
    for a, b in zip(silent, told, strict=True):
        np.testing.assert_array_equal(a.theta, b.theta)


def test_a_slice_is_not_compared(parts, other_design):
    """Its steps are many decisions; the design predicts one."""
    run(parts[0], Slice.isotropic(0.1, 2), other_design, start=np.array([1.0, 0.0]), draws=200, chains=1)


CONFIG = """
[data]
path = "data.npz"
[model]
prior_precision = 1.0
control = 0
[proposal]
kind = "random-walk"
scale = 1.5
[run]
draws = 1500
warmup = 100
chains = 2
"""


def test_saved_runs_say_it_live_in_the_results_and_after_resuming(tmp_path, other_design):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2_000, 2))
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(2_000) < 1.0 / (1.0 + np.exp(-x[:, 0])))
    (tmp_path / "config.toml").write_text(CONFIG)
    config, heard = SamplerConfig.load(tmp_path / "config.toml", other_design), []
    with pytest.warns(NotAsPredicted):
        results = run_config(config, tmp_path / "out", progress=heard.append)
    assert any(progress.warning for progress in heard) and not heard[0].warning
    assert "acceptance" in results.attrs["differs"]
    assert summary(results).remarks[0] == f"warning: {results.attrs['differs']}"
    longer = SamplerConfig.load(tmp_path / "config.toml", other_design, draws=1_600)
    with pytest.warns(NotAsPredicted):
        again = run_config(longer, tmp_path / "out", resume=True)
    assert "after 3,200 decisions" in again.attrs["differs"]


def test_a_right_run_says_nothing(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2_000, 2))
    np.savez(tmp_path / "data.npz", x=x, y=rng.random(2_000) < 1.0 / (1.0 + np.exp(-x[:, 0])))
    (tmp_path / "config.toml").write_text(CONFIG)
    from samplers import collect_pairs

    trial = collect_pairs(SamplerConfig.load(tmp_path / "config.toml", exact=True), 100)
    design = search(trial, 0.05, skew=False).best
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = run_config(SamplerConfig.load(tmp_path / "config.toml", design), tmp_path / "out")
    assert "differs" not in results.attrs


def test_a_cluster_hears_it_too():
    """Counts arrive as totals; a chain that begins again, on another worker, is counted anew."""
    heard = []
    expected = Expected(1_000, 0, 0.9, 0.1, (0.88, 0.92), (0.08, 0.12))
    tally = _Tally(10_000, heard.append, lambda: expected)
    for k in range(1, 41):
        done = 50 * k
        tally.add(ChainProgress(0, 0, done, done // 3, 100 * done, 1_000, (done, done // 3, 100 * done)))
    assert "acceptance 0.33" in heard[-1].warning
    tally = _Tally(10_000, heard.append, lambda: expected)
    for start in (0, 500):
        for k in range(1, 15):
            done = 50 * k
            tally.add(
                ChainProgress(0, start, start + done, done, 100 * done, 1_000, (done, 9 * done // 10, 100 * done))
            )
    assert sum(batch.decided for batch in tally.monitor.batches[0]) == 700
    assert heard[-1].warning == ""
